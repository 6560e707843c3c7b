//! Whether designs keep their budgets, as the page says it.

use esker_core::words::page;
use esker_results::study::{Budgets, Candidate, Endurance};

use crate::answer::life_between;

/// Whether a design keeps its budgets. Those that do come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// It keeps every one.
    Kept,
    /// It keeps those that can be judged; whether its flash lasts as long as asked cannot.
    Unsure,
    /// It misses one, or did not serve its requests.
    Missed,
}

/// Whether a design keeps its budgets. A design whose life cannot be told is never recommended before one whose life
/// can, so it must not look like one that keeps them all.
pub(crate) fn standing(candidate: &Candidate) -> Standing {
    let told = |endurance: &Endurance| endurance.kept.is_some();
    match candidate.judgement.keeps_budgets {
        true if candidate.endurance.as_ref().is_none_or(told) => Standing::Kept,
        true => Standing::Unsure,
        false => Standing::Missed,
    }
}

/// What a design misses, and what cannot be told of it.
pub(crate) fn reasons(candidate: &Candidate, budgets: &Budgets) -> Vec<String> {
    let mut reasons = candidate.judgement.reasons.clone();
    let (Standing::Unsure, Some(endurance)) = (standing(candidate), &candidate.endurance) else { return reasons };
    let warranted = endurance.drive_writes_per_day_asked.zip(endurance.drive_writes_per_day_sold);
    let exceeded = warranted.filter(|(asked, sold)| asked > sold);
    let lasts = endurance.lifetime_range_years.is_some_and(|[least, _]| least >= budgets.years);
    if !lasts || exceeded.is_none() {
        let asked = page::years(budgets.years).text();
        let life = endurance.lifetime_range_years.map(|[low, high]| format!(": {}", life_between(low, high)));
        reasons.push(format!("whether its flash lasts {asked} cannot be told{}", life.unwrap_or_default()));
    }
    if let Some((asked, sold)) = exceeded {
        let (asked, sold) = (page::plain(asked).text(), page::plain(sold).text());
        reasons.push(format!("up to {asked} drive writes a day may be asked for, {sold} warranted"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_life_that_cannot_be_told_is_neither_kept_nor_missed() {
        let of = |keeps_budgets: bool, kept: Option<bool>| {
            let endurance = Endurance { kept, lifetime_range_years: Some([4.6, 14.0]), ..samples::endurance() };
            let mut candidate = Candidate::new("a", "a", "ssd", 1);
            candidate.judgement.keeps_budgets = keeps_budgets;
            candidate.endurance = Some(endurance);
            candidate
        };
        let budgets = Budgets { years: 5.0, ..Budgets::default() };
        assert_eq!(standing(&of(true, Some(true))), Standing::Kept);
        assert_eq!(standing(&of(false, None)), Standing::Missed);
        let unsure = of(true, None);
        assert_eq!(standing(&unsure), Standing::Unsure);
        let reason = "whether its flash lasts 5\u{a0}years cannot be told: 4.6 to 14\u{a0}years";
        assert_eq!(reasons(&unsure, &budgets), [reason]);
        let mut heavy = unsure.clone();
        let endurance = heavy.endurance.as_mut().unwrap();
        (endurance.drive_writes_per_day_asked, endurance.drive_writes_per_day_sold) = (Some(1.23), Some(1.0));
        let writes = "up to 1.23 drive writes a day may be asked for, 1 warranted";
        assert_eq!(reasons(&heavy, &budgets), [reason, writes]);
        heavy.endurance.as_mut().unwrap().lifetime_range_years = Some([8.0, 24.0]);
        assert_eq!(reasons(&heavy, &budgets), [writes]);
        assert!(Standing::Kept < Standing::Unsure && Standing::Unsure < Standing::Missed);
    }
}
