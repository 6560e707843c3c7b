//! Xia 2017, figure 10: the standard deviation of response times, with 35 % over-provisioning.

use super::caches::{LAYOUTS, POLICIES, Runs};
use super::figure_4::NOTE;
use super::figure_9::{CELLS, Means, RUNS, means};
use super::workloads::{STAND_IN, Scale};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-10",
    title: "Standard deviation of response times",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 3.4.2, figure 10",
    sections: &["3.4.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::TIMED)
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, scale, LAYOUTS.len() * RUNS);
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (layout, (name, _)) in LAYOUTS.into_iter().enumerate() {
        let cells: Vec<((u32, u64), Means)> = CELLS.into_iter().zip(means(&mut runs, layout)?).collect();
        for ((size, share), cell) in &cells {
            claims.extend(orders(item, cell, &format!("{name}: {size} GB, OP {share} %")));
        }
        figures.push(figure(&cells, name));
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

/// Both designs lower the deviation of LRU and of ARC, and together they lower it further.
fn orders(item: &Item, cell: &Means, place: &str) -> Vec<Claim> {
    let [migrate, zero] = cell;
    let orders = [0, 2].map(|plain| {
        let name = POLICIES[plain].to_uppercase();
        let of = |found: &[super::caches::Timed; 4], policy: usize| found[policy].deviation_ms;
        let (base, aware) = (of(migrate, plain), of(migrate, plain + 1));
        let (alone, both) = (of(zero, plain), of(zero, plain + 1));
        let below = |what: &str, value: f64, over: f64, reason: &str| {
            let claim = format!("{place}: standard deviation, {what}, ms");
            Claim::descending(item.name, &claim, &[("without", over), ("with", value)], reason)
        };
        let stable = "\"more stable response times in all the cases\"";
        let further = "together, \"further enhancement of the performance stability can be achieved\"";
        [
            below(&format!("flash-aware {name} below {name}"), aware, base, stable),
            below(&format!("zero migration below {name}"), alone, base, stable),
            below(&format!("both designs below the better one, {name}"), both, aware.min(alone), further),
        ]
    });
    orders.into_iter().flatten().collect()
}

fn figure(cells: &[((u32, u64), Means)], layout: &str) -> Figure {
    let names: Vec<String> = cells.iter().map(|((size, share), _)| format!("{size} GB, OP {share} %")).collect();
    let curve = |policy: usize, zero: usize| {
        let name = POLICIES[policy].to_uppercase() + ["", "-ZM"][zero];
        let points = cells.iter().enumerate();
        Curve::measured(&name, points.map(|(place, (_, cell))| (place as f64, cell[zero][policy].deviation_ms)))
    };
    Figure {
        title: format!("Xia's figure 10: standard deviation of response times, {layout}"),
        note: format!("Geometric means over the five workloads. The paper has 35 % alone. {NOTE}"),
        x: Axis::categories("cache", names.iter().map(String::as_str)),
        y: Axis::linear("standard deviation, ms"),
        curves: (0..2)
            .flat_map(|zero| (0..POLICIES.len()).map(move |policy| (policy, zero)))
            .map(|(policy, zero)| curve(policy, zero))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (36, 2));
        assert!(outcome.figures.iter().all(|figure| figure.curves.len() == 8));
    }
}
