//! What a simulation says is wrong with the model.

use esker_core::words;
use esker_results::study::{Budgets, Candidate, CandidateOutcome};

use super::model::Corrections;
use super::types::PlanType;

/// A limit is tightened so far that the plan exceeds it by this factor: less would give the same plan again.
const FACTOR_MIN: f64 = 1.05;
/// And by at most this factor: one miss is no reason to buy far too much.
const FACTOR_MAX: f64 = 4.0;
/// Where the 99th percentile is less than this many times its budget, a few slow requests may be the reason.
const NEAR: f64 = 2.0;

/// A plan as the model sees it.
pub(super) struct Planned<'a> {
    pub(super) types: &'a [PlanType<'a>],
    /// The types with touched data, by their place in `types`.
    pub(super) used: &'a [usize],
    /// Of each type, the largest share of its limits for the time that the plan uses.
    pub(super) filled: &'a [f64],
    /// Whether classes that may be slow are on types slower than the budget; and which types are.
    pub(super) has_slow: bool,
    pub(super) is_slow: &'a dyn Fn(usize) -> bool,
}

impl Corrections {
    /// Tightens what a simulated plan has shown to be wrong. Returns what was changed, in words; nothing if no change
    /// of the model helps.
    pub(super) fn tighten(&mut self, planned: &Planned<'_>, found: &Candidate, budgets: &Budgets) -> Vec<String> {
        let mut changed = Vec::new();
        let judgement = &found.judgement;
        if found.outcome != CandidateOutcome::Served {
            changed.extend(self.busier(planned, |_| true, FACTOR_MAX));
            return changed;
        }
        if judgement.utilisation == Some(false)
            && let (Some(limit), Some((is, _, resource))) = (budgets.utilisation, found.worst_utilisation())
        {
            let is_arm = resource == "arm";
            changed.extend(self.busier(planned, |at| planned.types[at].is_flash() != is_arm, is / limit));
        }
        let p99_ratio = match (judgement.p99, judgement.headroom) {
            (Some(false), _) => judgement.worst_p99.zip(budgets.p99_us).map(|(worst, limit)| worst.p99_us / limit),
            (_, Some(false)) => {
                let factor = found.headroom.as_ref().map_or(1.0, |headroom| headroom.factor);
                budgets.headroom.map(|asked| asked / factor.max(0.1))
            }
            _ => None,
        };
        if let Some(ratio) = p99_ratio.filter(|_| changed.is_empty()) {
            if planned.has_slow && self.slow_share > 0.0 && ratio < NEAR {
                self.slow_share = 0.0;
                changed.push("no class may be slower than the budget".to_string());
            } else {
                changed.extend(self.busier(planned, |at| !(planned.is_slow)(at), ratio));
            }
        }
        if judgement.years == Some(false)
            && let Some(endurance) = &found.endurance
        {
            let warranted = endurance.drive_writes_per_day_asked.zip(endurance.drive_writes_per_day_sold);
            let by_warranty = warranted.map_or(1.0, |(asked, sold)| asked / sold);
            let by_years = endurance.lifetime_years.map_or(1.0, |years| budgets.years / years.max(1e-3));
            let factor = by_warranty.max(by_years).max(FACTOR_MIN);
            for &at in planned.used.iter().filter(|&&at| planned.types[at].is_flash()) {
                self.writes[at] *= factor;
                changed.push(format!("{}: {} times the writes", planned.types[at].title(), words::factor(factor)));
            }
        }
        changed
    }

    /// Takes devices for busier by `ratio`, and so much that the plan exceeds a limit.
    fn busier(&mut self, planned: &Planned<'_>, which: impl Fn(usize) -> bool, ratio: f64) -> Vec<String> {
        let mut changed = Vec::new();
        for &at in planned.used.iter().filter(|&&at| which(at)) {
            let factor = ratio.clamp(FACTOR_MIN, FACTOR_MAX).max(FACTOR_MIN / planned.filled[at].max(1e-6));
            self.busy[at] *= factor;
            changed.push(format!("{}: {} times as busy", planned.types[at].title(), words::factor(factor)));
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;
    use esker_results::study::{BusyResults, Headroom, JudgedPercentile, JudgedTime, Judgement};

    use super::*;
    use crate::endurance::tests::{WearFigures, judge_worn};
    use crate::endurance::{FlashOnSale, Warranty};

    const BUDGETS: fn() -> Budgets = || Budgets {
        p99_us: Some(10_000.0),
        utilisation: Some(0.7),
        headroom: Some(1.3),
        years: 5.0,
        ..Budgets::default()
    };

    /// Two types: flash, and a slow disk.
    fn tightened(found: &Candidate, has_slow: bool) -> Corrections {
        let catalogue = crate::hybrid_tests::small();
        let types: Vec<PlanType<'_>> = catalogue
            .products
            .iter()
            .map(|product| PlanType {
                part: crate::offers::Part::bought(product, product.capacities[0], 1),
                installed: 0,
                is_on_sale: true,
                times: Default::default(),
            })
            .collect();
        let planned = Planned {
            types: &types,
            used: &[0, 1],
            filled: &[0.5, 0.1],
            has_slow,
            is_slow: &|at| !types[at].is_flash(),
        };
        let mut corrections = Corrections::none(2);
        let changed = corrections.tighten(&planned, found, &BUDGETS());
        assert_eq!(changed.is_empty(), corrections == Corrections::none(2), "{changed:?}");
        corrections
    }

    fn found(judgement: Judgement) -> Candidate {
        Candidate { judgement, ..Candidate::new("mix", "mix", "hybrid", 2) }
    }

    fn missed_p99(p99_us: f64) -> Candidate {
        let worst_p99 = Some(JudgedPercentile { p99_us, time: JudgedTime::BusiestHour });
        found(Judgement { p99: Some(false), worst_p99, ..Judgement::default() })
    }

    #[test]
    fn a_limit_is_tightened_until_the_plan_exceeds_it() {
        // Flash is half as busy as it may be, so that 2.1 times as busy is too busy.
        assert_eq!(tightened(&missed_p99(11_000.0), false).busy, [2.1, 1.0]);
        assert_eq!(tightened(&missed_p99(800_000.0), true).busy, [4.0, 1.0]);
        let near = tightened(&missed_p99(11_000.0), true);
        assert_eq!((near.busy, near.slow_share), (vec![1.0, 1.0], 0.0));
        let carries = Headroom { factor: 1.0, ..Headroom::default() };
        let judgement = Judgement { headroom: Some(false), ..Judgement::default() };
        let little = Candidate { headroom: Some(carries), ..found(judgement) };
        assert_eq!(tightened(&little, false).busy, [2.1, 1.0]);
    }

    #[test]
    fn the_type_whose_resource_is_too_busy_is_corrected() {
        let arm = BusyResults { resource: Some("arm".into()), utilisation: Some(0.9), ..BusyResults::default() };
        let judgement = Judgement { utilisation: Some(false), ..Judgement::default() };
        let busy = Candidate { busy: Some(arm), ..found(judgement) };
        let corrections = tightened(&busy, true);
        assert!(corrections.busy[0] == 1.0 && (corrections.busy[1] - 10.5).abs() < 1e-9, "{corrections:?}");
        let saturated = CandidateOutcome::Saturated {
            since_s: 0.0,
            since_clock: String::new(),
            stopped_s: 1.0,
            backlog_requests: 9,
        };
        let saturated = Candidate { outcome: saturated, ..found(Judgement::default()) };
        assert!(tightened(&saturated, false).busy.iter().all(|&busy| busy >= 4.0));
    }

    #[test]
    fn flash_that_wears_too_fast_takes_more_writes_in_the_next_plan() {
        let terabyte = Bytes(1_000_000_000_000);
        let warranty = Some(Warranty { bytes_per_day: 1e12, years: 5.0 });
        let flash = FlashOnSale { raw: terabyte, capacity: terabyte, warranty, cycles_are_stated: false };
        let endurance = judge_worn(&flash, &WearFigures { bytes_per_day: 3e12, ..WearFigures::default() });
        let judgement = Judgement { years: Some(false), ..Judgement::default() };
        let worn = Candidate { endurance: Some(endurance), ..found(judgement) };
        assert_eq!(tightened(&worn, false).writes, [3.0, 1.0]);
        let kept = found(Judgement { keeps_budgets: true, ..Judgement::default() });
        assert_eq!(tightened(&kept, true), Corrections::none(2));
    }
}
