//! Kim 2009, figure 4.6: which classes of Financial are planned for which devices.

use esker_plan::{ClassSettings, Sharing};

use super::mixplan::{ASSUMED, Classified, DataClass, FINANCIAL, LOW_END, MixPlan, Planning, SSD, WORKLOADS};
use crate::traces::FINANCIAL1;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-4.6",
    title: "Where the planner puts the classes of Financial",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 4.5.3 and 4.5.4.1, figure 4.6",
    sections: &["4.5.3", "4.5.4.1"],
    run,
};

const TEXT: &str = "section 4.5.4.1: \"6 low-end HDDs and 1 SSD\"";
const NO_NUMBERS: &str = "the text has no numbers of figure 4.6";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let read = Classified::read(item, context, &FINANCIAL1, &ClassSettings::kim_33())?;
    let classified = match read {
        Ok(classified) => classified,
        Err(missing) => {
            let rows =
                [("SSDs", Some(1.0)), ("low-end disks", Some(6.0)), ("GB of each class on SSDs and disks", None)];
            let claims = rows.map(|(claim, published)| Claim::unreachable(item.name, claim, published, &missing));
            return Ok(Vec::from(claims).into());
        }
    };
    let classes = classified.scaled(&WORKLOADS[FINANCIAL], Sharing::PerClass);
    let plan = Planning::published(Sharing::PerClass).cheapest(&classes, context)?;
    Ok(ItemOutcome { claims: claims(item, &classes, &plan), figures: vec![figure(&classes, &plan)] })
}

fn claims(item: &Item, classes: &[DataClass], plan: &MixPlan) -> Vec<Claim> {
    let on = |device: usize, of: fn(&DataClass) -> f64| -> f64 {
        classes.iter().zip(&plan.shares).map(|(class, shares)| of(class) * shares[device]).sum()
    };
    let hot = |class: &DataClass| if is_cold(class) { 0.0 } else { class.gigabytes };
    let cold = |class: &DataClass| if is_cold(class) { class.gigabytes } else { 0.0 };
    let count = |claim: &str, published: f64, device: usize| {
        Claim::within_absolute(item.name, claim, published, plan.count(device), 0.0, TEXT)
    };
    let beside = |claim: &str, value: f64| Claim::beside(item.name, claim, value, NO_NUMBERS);
    let stand_in = format!("the classes of Financial1, as a whole or its first requests; {ASSUMED}");
    let all = vec![
        count("SSDs", 1.0, SSD),
        count("low-end disks", 6.0, LOW_END),
        beside("hot data on SSDs, GB", on(SSD, hot)),
        beside("hot data on low-end disks, GB", on(LOW_END, hot)),
        beside("cold data on SSDs, GB", on(SSD, cold)),
    ];
    all.into_iter().map(|claim| claim.on_stand_in(&stand_in)).collect()
}

fn is_cold(class: &DataClass) -> bool {
    class.name == "cold"
}

fn figure(classes: &[DataClass], plan: &MixPlan) -> Figure {
    let bars = |name: &str, device: usize| {
        let placed = classes.iter().zip(&plan.shares).map(|(class, shares)| class.gigabytes * shares[device]);
        Curve::measured_bars(name, placed)
    };
    Figure {
        title: "Figure 4.6: data partitioning for the Financial trace".into(),
        note: "Classes of Financial1 with the sizes of table 4.3; bins count from 0, and where they begin is ours."
            .into(),
        x: Axis::categories("class", classes.iter().map(|class| class.name.as_str())),
        y: Axis::logarithmic("GB"),
        curves: vec![bars("SSD", SSD), bars("low-end disk", LOW_END)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::super::mixplan::tests::with_a_trace;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn all_data_of_the_table_are_placed() {
        let outcome = outcome(&ITEM, |item, _| with_a_trace(|context| run(item, context)));
        let placed: f64 = outcome.figures[0].curves.iter().flat_map(|curve| &curve.points).map(|(_, gb)| gb).sum();
        assert!((placed - 2_763.0).abs() < 1e-3, "{placed}");
        assert_eq!(outcome.claims.len(), 5);
    }

    #[test]
    fn without_the_trace_nothing_is_planned() {
        let outcome = outcome(&ITEM, run);
        assert!(outcome.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Unreachable));
    }
}
