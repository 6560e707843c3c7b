//! The best design of each family, such as all-flash, tiers or caches, beside those of the others.

use std::collections::BTreeSet;

use esker_catalogue::Market;
use esker_results::study::{FamilyAnswer, RuledOut};

use super::on_request::Left;
use super::{Search, SimulatedOffer};
use crate::choose::{Contender, choose};
use crate::offers::{KindCapability, KindEntry, Offer};
use crate::{StudyError, kinds};

/// Of each family that was asked for and that has no design that keeps the budgets, at most this many are simulated
/// although they cost more than the answer; of a large trace one.
const BESIDE_MAX: usize = 4;

impl Search<'_> {
    /// Simulates the cheapest designs of the families that were asked for until one of each keeps the budgets, although
    /// they cost more than the answer: results show them beside it. Where there is no answer, all that may keep the
    /// budgets were searched before.
    pub(super) fn beside(&mut self, left: &mut Left<'_>, tried: &mut Vec<SimulatedOffer>) -> Result<(), StudyError> {
        if self.settled(tried).is_none() {
            return Ok(());
        }
        let most = if self.screens() { 1 } else { BESIDE_MAX };
        for family in kinds::asked_for(self.task.settings).flat_map(|kind| kind.build.families) {
            for _ in 0..most {
                let keeps = self.best_of(family.name, tried).is_some_and(|(_, keeps)| keeps);
                let cheapest = left.iter().position(|(_, offer)| offer.family() == family.name);
                let Some(place) = cheapest.filter(|_| !keeps) else { break };
                let next: Vec<&Offer<'_>> = left.remove(place).into_iter().map(|(_, offer)| offer).collect();
                tried.extend(self.try_all(&next)?);
            }
        }
        Ok(())
    }

    /// Returns the place of the best design of a family among those that were simulated, and whether it keeps every
    /// budget; of those that do the one that the rule takes, else the nearest.
    fn best_of(&self, family: &str, tried: &[SimulatedOffer]) -> Option<(usize, bool)> {
        let of_family = |place: &usize| tried[*place].family == family;
        let places: Vec<usize> = (0..tried.len()).filter(of_family).collect();
        let all = self.contenders(tried);
        let contenders: Vec<Contender> = places.iter().map(|&place| all[place].clone()).collect();
        let choice = choose(&contenders);
        let best = choice.recommended.or(choice.nearest)?;
        Some((places[best], choice.recommended.is_some()))
    }

    /// Returns the best design of each family that was offered or asked for in a market, in the order of the kinds.
    pub(super) fn families(
        &self,
        market: Market,
        offers: &[Offer<'_>],
        tried: &[SimulatedOffer],
        ruled: &[RuledOut],
    ) -> Vec<FamilyAnswer> {
        let is_asked_for = |kind: &KindEntry| {
            !kind.can(KindCapability::OnRequest)
                || kinds::asked_for(self.task.settings).any(|one| one.name == kind.name)
        };
        let kinds = kinds::KINDS.iter().filter(|kind| is_asked_for(kind));
        let families = kinds.flat_map(|kind| kind.build.families.iter().map(move |family| (kind, family.name)));
        let answers = families.map(|(kind, family)| {
            let of_family = offers.iter().filter(|offer| offer.market() == market && offer.family() == family);
            let names: BTreeSet<String> = of_family.map(Offer::name).collect();
            let shown = !names.is_empty() || kind.can(KindCapability::OnRequest);
            shown.then(|| self.family(family, &names, tried, ruled))
        });
        answers.flatten().collect()
    }

    fn family(
        &self,
        family: &str,
        offered: &BTreeSet<String>,
        tried: &[SimulatedOffer],
        ruled: &[RuledOut],
    ) -> FamilyAnswer {
        let best = self.best_of(family, tried);
        let because = match best {
            Some((_, true)) => String::new(),
            Some((place, false)) => tried[place].candidate.judgement.reasons.join("; "),
            None => why_none(ruled.iter().filter(|ruled| offered.contains(&ruled.name))),
        };
        FamilyAnswer {
            family: family.into(),
            offered: offered.len() as u64,
            simulated: tried.iter().filter(|tried| tried.family == family).count() as u64,
            best: best.map(|(place, _)| tried[place].candidate.name.clone()),
            keeps_budgets: best.is_some_and(|(_, keeps)| keeps),
            because,
        }
    }
}

/// Says why no design of a family was simulated, by the cheapest of those that are ruled out.
fn why_none<'a>(ruled: impl Iterator<Item = &'a RuledOut>) -> String {
    let total = |ruled: &RuledOut| ruled.total.unwrap_or(f64::INFINITY);
    match ruled.min_by(|one, other| total(one).total_cmp(&total(other))) {
        Some(RuledOut { title, reason, .. }) => format!("none was simulated; {title}: {reason}"),
        None => "none is offered that may be worth its price".into(),
    }
}
