//! Finds out whether an answer depends on how long idle volumes save up their limits. No provider publishes that: a
//! short time is assumed, and a long one is tried here.

use esker_core::Nanos;
use esker_results::study::Candidate;

use super::{Search, SimulatedOffer};
use crate::StudyError;
use crate::choose::Choice;
use crate::judge::{contender, judge};
use crate::simulate::simulate;

/// The longest time that anybody takes a limit "per second" to mean.
pub(crate) const LONG: Nanos = Nanos::from_secs(1);
/// At most this many designs are simulated with it: those that miss budgets by least with the assumed time.
const TRIED_MAX: usize = 3;

impl Search<'_> {
    /// Considers the designs that miss a budget and cost less than the recommended one (all designs if none is
    /// recommended). Returns the cheapest of them that is known to keep every budget if its volumes save up for
    /// [`LONG`].
    pub(super) fn keeps_if_saving(
        &mut self,
        tried: &[SimulatedOffer],
        choice: &Choice,
    ) -> Result<Option<usize>, StudyError> {
        let best = choice.recommended.map_or(f64::INFINITY, |n| tried[n].candidate.cost.total);
        let missed = |n: usize| contender(&tried[n].candidate, self.task.budgets).missed;
        let cheaper = (0..tried.len()).filter(|&n| tried[n].candidate.cost.total < best && tried[n].saving.is_some());
        let mut misses: Vec<usize> = cheaper.filter(|&n| !tried[n].candidate.judgement.keeps_budgets).collect();
        misses.sort_by(|&one, &other| missed(one).total_cmp(&missed(other)));
        let mut cheapest: Option<usize> = None;
        for n in misses.into_iter().take(TRIED_MAX) {
            let is_cheaper = cheapest.is_none_or(|m| tried[n].candidate.cost.total < tried[m].candidate.cost.total);
            if is_cheaper && self.keeps_with_saving(&tried[n])? {
                cheapest = Some(n);
            }
        }
        Ok(cheapest)
    }

    fn keeps_with_saving(&mut self, tried: &SimulatedOffer) -> Result<bool, StudyError> {
        let Some(design) = &tried.saving else { return Ok(false) };
        let key = design.key();
        if !self.simulated.contains_key(&key) {
            self.task.tell(&format!("simulating {} with more saved up", design.name));
            let simulated = simulate(self.task, design)?;
            self.simulated.insert(key.clone(), simulated);
        }
        let known = tried.candidate.clone();
        let Candidate { product, cost, count, capacity_on_sale_bytes, runs_dry, .. } = known;
        let simulated = self.simulated[&key].candidate.clone();
        let candidate = Candidate { product, cost, count, capacity_on_sale_bytes, runs_dry, ..simulated };
        Ok(judge(&candidate, self.task.budgets).keeps_budgets)
    }
}
