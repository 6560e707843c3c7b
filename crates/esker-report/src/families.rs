//! The families of designs beside each other, such as all-flash, tiers and caches: what the best of each costs and
//! draws, and what the data that it moves to flash cost in life.

use esker_core::words;
use esker_results::study::{Candidate, FamilyAnswer, Promotions, WorkloadStudy};

/// A family with its best design.
#[derive(Clone, Copy, Debug)]
pub struct FamilyRow<'a> {
    /// The family.
    pub answer: &'a FamilyAnswer,
    /// Its best design; `None` if none was simulated.
    pub design: Option<&'a Candidate>,
}

/// Returns the families of a study, in the order of their kinds. A single one has nothing beside it, so then there are
/// none.
pub fn families(workload: &WorkloadStudy) -> Vec<FamilyRow<'_>> {
    let row = |answer| FamilyRow { answer, design: best(workload, answer) };
    let rows: Vec<_> = workload.families.iter().map(row).collect();
    if rows.len() > 1 { rows } else { Vec::new() }
}

fn best<'a>(workload: &'a WorkloadStudy, answer: &FamilyAnswer) -> Option<&'a Candidate> {
    let name = answer.best.as_ref()?;
    workload.candidates.iter().find(|candidate| candidate.name == *name)
}

impl FamilyRow<'_> {
    /// Mean power: "9.6 W".
    pub fn power(&self) -> Option<String> {
        let watts = |watts| format!("{} W", words::digits(watts));
        Some(self.design?.cost.watts().map_or_else(|| "in the rent".into(), watts))
    }

    /// What the design itself writes to its flash: "1.2 GiB". `None` if it moves nothing.
    pub fn promoted(&self) -> Option<String> {
        self.promotions().map(|promotions| match promotions {
            Some(promotions) if promotions.bytes_per_day > 0.0 => words::bytes(promotions.bytes_per_day),
            Some(_) => "nothing".into(),
            None => "cannot be told".into(),
        })
    }

    /// Bytes a day of that, if it can be told.
    pub(crate) fn promoted_bytes(&self) -> Option<f64> {
        Some(self.promotions()??.bytes_per_day)
    }

    /// What that costs of the life of the flash: "11 months of 13 years, 7 % of its writes; 0.02 % of it a day". `None`
    /// if nothing is promoted.
    pub fn cost_in_life(&self) -> Option<String> {
        let endurance = self.design?.endurance.as_ref()?;
        let promotions = self.promotions()??;
        if promotions.bytes_per_day <= 0.0 {
            return None;
        }
        let share = words::percent(promotions.share_of_writes);
        let is_number = endurance.judged && !endurance.lifetime_is_lower_bound && !promotions.without_is_cut_off;
        let lives = endurance.lifetime_years.zip(promotions.lifetime_years_without).filter(|_| is_number);
        let cost = match lives {
            Some((with, without)) => {
                let [lost, all] = [without - with, without].map(words::years);
                format!("{lost} of {all}, {share} of its writes")
            }
            None => format!("{share} of its writes"),
        };
        let at_most = if endurance.judged { "" } else { "at most " };
        Some(format!("{cost}; {at_most}{} of it a day", words::percent(promotions.life_share_per_day)))
    }

    /// Which budgets it keeps: "keeps all", or why no design of the family does.
    pub fn budgets(&self) -> String {
        let FamilyAnswer { keeps_budgets, because, .. } = self.answer;
        match (keeps_budgets, because.is_empty()) {
            (true, _) => "keeps all".into(),
            (false, true) => "misses one".into(),
            (false, false) => because.clone(),
        }
    }

    /// What the design itself writes to its flash, where it is one that does; the inner `None` means that it cannot be
    /// told.
    fn promotions(&self) -> Option<Option<Promotions>> {
        let design = self.design?;
        let found = design.endurance.as_ref().and_then(|endurance| endurance.promotions);
        (found.is_some() || design.judged.depends_on_history()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use esker_results::study::{Cost, Electricity, Endurance, JudgedState, SettledState};

    use super::*;
    use crate::samples;

    fn answer(best: Option<&str>, because: &str) -> FamilyAnswer {
        FamilyAnswer {
            family: "tier (hybrid)".into(),
            best: best.map(Into::into),
            keeps_budgets: because.is_empty(),
            because: because.into(),
            ..FamilyAnswer::default()
        }
    }

    fn promotions() -> Promotions {
        Promotions {
            bytes_per_day: 1.5 * f64::from(1 << 30),
            share_of_writes: 0.07,
            life_share_per_day: 0.000_2,
            lifetime_years_without: Some(13.3),
            without_is_cut_off: false,
        }
    }

    fn hybrid(endurance: Endurance) -> Candidate {
        Candidate {
            judged: JudgedState::Settled(SettledState::default()),
            endurance: Some(endurance),
            ..Candidate::new("a", "A", "hybrid", 2)
        }
    }

    fn cells(design: &Candidate) -> [Option<String>; 2] {
        let row = FamilyRow { answer: &answer(Some("a"), ""), design: Some(design) };
        [row.promoted(), row.cost_in_life()]
    }

    fn said(texts: [&str; 2]) -> [Option<String>; 2] {
        texts.map(|text| (!text.is_empty()).then(|| text.to_string()))
    }

    #[test]
    fn promotions_are_told_with_what_they_cost_of_the_life() {
        let known = Endurance { lifetime_years: Some(12.4), promotions: Some(promotions()), ..samples::endurance() };
        assert_eq!(
            cells(&hybrid(known.clone())),
            said(["1.5 GiB", "11 months of 13 years, 7 % of its writes; 0.02 % of it a day"])
        );
        // A life that is a bound has no difference, but the share of the writes is known.
        let bound = Endurance { judged: false, lifetime_is_lower_bound: true, ..known.clone() };
        assert_eq!(cells(&hybrid(bound)), said(["1.5 GiB", "7 % of its writes; at most 0.02 % of it a day"]));
        let cut_off = Promotions { without_is_cut_off: true, ..promotions() };
        let long = Endurance { promotions: Some(cut_off), ..known.clone() };
        assert_eq!(cells(&hybrid(long))[1].as_deref(), Some("7 % of its writes; 0.02 % of it a day"));
        let still = Endurance { promotions: Some(Promotions::default()), ..known };
        assert_eq!(cells(&hybrid(still)), said(["nothing", ""]));
    }

    /// Neither of a policy that had not settled nor of a design without a life is anything known; flash alone moves
    /// nothing.
    #[test]
    fn what_could_not_be_judged_is_not_told() {
        let unsettled = hybrid(samples::endurance());
        assert_eq!(cells(&unsettled), said(["cannot be told", ""]));
        assert_eq!(cells(&Candidate { endurance: None, ..unsettled.clone() }), said(["cannot be told", ""]));
        assert_eq!(cells(&Candidate { judged: JudgedState::Any, ..unsettled }), said(["", ""]));
        let none = FamilyRow { answer: &answer(None, "none was simulated"), design: None };
        assert_eq!((none.power(), none.promoted(), none.cost_in_life()), (None, None, None));
        assert_eq!(none.budgets(), "none was simulated");
    }

    #[test]
    fn power_is_that_of_all_devices_and_rent_has_it() {
        let part = |devices, busy| Electricity { devices, idle_w: 5.0, active_w: 9.0, busy, ..Electricity::default() };
        let bought = Candidate {
            cost: Cost { electricity: vec![part(2, 0.5), part(1, 0.0)], ..Cost::default() },
            ..Candidate::new("a", "A", "hybrid", 3)
        };
        let power = |design| FamilyRow { answer: &answer(Some("a"), ""), design: Some(design) }.power();
        assert_eq!(power(&bought).as_deref(), Some("19 W"));
        assert_eq!(power(&Candidate::new("a", "A", "cloud-volume", 1)).as_deref(), Some("in the rent"));
    }

    #[test]
    fn a_family_alone_has_none_beside_it() {
        let mut workload = samples::workload();
        let name = workload.candidates[0].name.clone();
        workload.families = vec![answer(Some(&name), "")];
        assert!(families(&workload).is_empty());
        workload.families.push(answer(None, "none was simulated"));
        let rows = families(&workload);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].design.map(|design| &design.name), Some(&name));
        assert!(rows[1].design.is_none());
    }
}
