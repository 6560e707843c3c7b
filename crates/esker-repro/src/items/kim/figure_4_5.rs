//! Kim 2009, figure 4.5: classes of data, and what finer ones save.

use esker_plan::{ClassSettings, Sharing};

use super::mixplan::{ASSUMED, Classified, FINANCIAL, Planning, WORKLOADS};
use crate::traces::FINANCIAL1;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-4.5",
    title: "Classes of data, and the plans of 33 and of 17",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 4.5.2, figure 4.5",
    sections: &["4.5.2"],
    run,
};

/// Times the arrival rate, as in section 4.5.5.1.
const SPEEDS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const TEXT: &str = "section 4.5.2: 33 classes find a \"more economically optimal solution than 17\"; it does not say \
                    for which workload";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let settings = [("33", ClassSettings::kim_33()), ("17", ClassSettings::kim_17())];
    let mut claims = Vec::new();
    for ((name, settings), published) in settings.iter().zip([33.0, 17.0]) {
        let claim = format!("largest number of classes, {name}");
        let most = settings.classes_max() as f64;
        let claim = Claim::within_absolute(item.name, &claim, published, most, 0.0, "section 4.5.2");
        claims.push(claim.by_construction("where bins begin is ours, how many there are is not"));
    }
    let mut read = Vec::new();
    for (name, settings) in &settings {
        match Classified::read(item, context, &FINANCIAL1, settings)? {
            Ok(classified) => read.push((*name, classified)),
            Err(missing) => {
                let claim = "Financial: 33 classes cost less than 17";
                claims.push(Claim::unreachable(item.name, claim, None, &missing));
                return Ok(claims.into());
            }
        }
    }
    let mut curves = Vec::new();
    for (sharing, form) in [(Sharing::PerClass, "per class"), (Sharing::Summed, "summed")] {
        let mut costs = Vec::new();
        for (name, classified) in &read {
            let mut points = Vec::new();
            for speed in SPEEDS {
                let classes = classified.scaled(&WORKLOADS[FINANCIAL].times(speed), sharing);
                points.push((speed, Planning::published(sharing).cheapest(&classes, context)?.cost));
            }
            curves.push(Curve::measured(&format!("{name} classes, {form}"), points.iter().copied()));
            costs.push(points);
        }
        let cheaper = costs[0].iter().zip(&costs[1]).filter(|(finer, coarser)| finer.1 < coarser.1 * (1.0 - 1e-5));
        let claim = format!("Financial, {form}: speeds of 1x, 2x, 4x and 8x with which 33 classes cost less than 17");
        let stand_in = format!("the classes of Financial1, as a whole or its first requests; {ASSUMED}");
        claims.push(Claim::at_least(item.name, &claim, 1.0, cheaper.count() as f64, TEXT).on_stand_in(&stand_in));
    }
    let plans = Figure {
        title: "What finer classes save: Financial".into(),
        note: "Classes of Financial1 with the sizes and the bandwidth of table 4.3.".into(),
        x: Axis::linear("times the arrival rate"),
        y: Axis::linear("cost of the cheapest mix over five years, dollars"),
        curves,
    };
    Ok(ItemOutcome { claims, figures: vec![figure(&read[0].1), plans] })
}

fn figure(classified: &Classified) -> Figure {
    let classes = classified.scaled(&WORKLOADS[FINANCIAL], Sharing::Summed);
    let hot: Vec<_> = classes.iter().filter(|class| class.name != "cold").collect();
    let percent = |of: fn(&super::mixplan::DataClass) -> f64| {
        let all: f64 = hot.iter().map(|class| of(class)).sum();
        hot.iter().map(move |class| 100.0 * of(class) / all).collect::<Vec<f64>>()
    };
    Figure {
        title: "Figure 4.5: hierarchical data classification".into(),
        note: "The hot classes that Financial1 has, of 32.".into(),
        x: Axis::categories("class", hot.iter().map(|class| class.name.as_str())),
        y: Axis::linear("of all hot data, percent"),
        curves: vec![
            Curve::measured_bars("size", percent(|class| class.gigabytes)),
            Curve::measured_bars("bytes asked for", percent(|class| class.bandwidth)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::super::mixplan::tests::with_a_trace;
    use super::*;

    #[test]
    fn finer_classes_that_add_up_are_never_dearer() {
        let outcome = outcome(&ITEM, |item, _| with_a_trace(|context| run(item, context)));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (4, 2));
        let [_, _, finer, coarser] = &outcome.figures[1].curves[..] else { panic!("four curves") };
        for (finer, coarser) in finer.points.iter().zip(&coarser.points) {
            assert!(finer.1 <= coarser.1 * (1.0 + 1e-5), "{finer:?} {coarser:?}");
        }
    }
}
