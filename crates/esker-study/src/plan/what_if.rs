//! Plans for other loads, more data and other prices: solved, and not simulated.

use esker_plan::SolverSettings;
use esker_results::study::Need;
use esker_results::study::plan::{Changed, WhatIf};

use super::model::{Corrections, Model};
use super::planner::Planner;
use super::solved::{Found, Solved};
use crate::StudyError;

/// How many times as large loads and data are.
const GROWTH: [f64; 3] = [1.5, 2.0, 4.0];
/// How many times as high prices are.
const PRICES: [f64; 4] = [0.25, 0.5, 2.0, 4.0];
/// They are many problems: less is proved of each.
const SEARCH: SolverSettings = SolverSettings { gap: 1e-3, nodes_max: 500 };

impl Planner<'_> {
    /// What the plan would be with more to do, with more data, and at other prices of flash and of disks.
    pub(super) fn what_if(&self, solved: &Solved, corrections: &Corrections) -> Result<Vec<WhatIf>, StudyError> {
        let mut all = Vec::new();
        for factor in GROWTH {
            let times = |each: &[f64]| each.iter().map(|one| one * factor).collect();
            let loaded =
                Corrections { busy: times(&corrections.busy), writes: times(&corrections.writes), ..*corrections };
            all.push(self.changed((Changed::Load, factor), self.model.need, &loaded)?);
        }
        for factor in GROWTH {
            let need = Need { growth_factor: self.model.need.growth_factor * factor, ..self.model.need.clone() };
            all.push(self.changed((Changed::Data, factor), &need, corrections)?);
        }
        for changed in [Changed::PriceOfFlash, Changed::PriceOfDisks] {
            for factor in PRICES {
                all.push(self.priced((changed, factor), solved)?);
            }
        }
        Ok(all)
    }

    fn changed(
        &self,
        (changed, factor): (Changed, f64),
        need: &Need,
        corrections: &Corrections,
    ) -> Result<WhatIf, StudyError> {
        let model = Model { need, ..self.model };
        let planner = Planner { model, names: self.names.clone(), search: SEARCH, ..*self };
        Ok(match planner.solved(corrections)? {
            Found::Solved(solved) => self.answer((changed, factor), solved.solution.cost, &solved.solution.plan.counts),
            Found::NoPlan(..) => WhatIf { changed, factor, title: String::new(), cost: None },
        })
    }

    fn priced(&self, (changed, factor): (Changed, f64), solved: &Solved) -> Result<WhatIf, StudyError> {
        let mut problem = solved.problem.clone();
        let is_flash = changed == Changed::PriceOfFlash;
        let types = problem.types.iter_mut().zip(self.model.types);
        for (one, _) in types.filter(|(_, known)| known.is_flash() == is_flash) {
            // Electricity costs what it did.
            one.cost = one.installed_cost + factor * (one.cost - one.installed_cost);
        }
        let planner = Planner { names: Vec::new(), search: SEARCH, ..*self };
        Ok(match planner.solve(&problem)?.solution() {
            Some(solution) => self.answer((changed, factor), solution.cost, &solution.plan.counts),
            None => WhatIf { changed, factor, title: String::new(), cost: None },
        })
    }

    fn answer(&self, (changed, factor): (Changed, f64), cost: f64, counts: &[u32]) -> WhatIf {
        WhatIf { changed, factor, title: self.title(counts), cost: Some(cost) }
    }
}
