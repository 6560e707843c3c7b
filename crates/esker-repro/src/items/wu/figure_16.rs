//! Wu 2011, figure 16: how much of the data the policy puts on flash under dbench, with one disk and with four.

use super::pair::{Measured, POLICIES, Pair, Placed, Runs, STAND_IN, System, curve};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-16",
    title: "Share of flash under dbench",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 16",
    sections: &["3.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Counts of processes of figures 16 and 17.
pub(super) const PROCESSES: [u32; 2] = [2, 10];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, 2 * POLICIES.len() * PROCESSES.len());
    let pair = Pair::new("wu-dbench", Placed::Flash);
    let one = runs.curves(pair, &POLICIES, &PROCESSES)?;
    let four = runs.curves(Pair { disks: 4, ..pair }, &POLICIES, &PROCESSES)?;
    let mut claims = Vec::new();
    let (mut curves, share) = (Vec::new(), share as fn(&Measured) -> f64);
    for (one, four) in one.iter().zip(&four) {
        claims.push(Claim::within_absolute(
            item.name,
            &format!("{}: share of flash with one disk at 10 processes, percent", one.name),
            67.5,
            share(&one.last()),
            5.0,
            "published: 65 to 70 %; the range twice as wide, as requests are counted here, and data there",
        ));
        claims.push(Claim::descending(
            item.name,
            &format!("{}: less on flash with four disks at 10 processes", one.name),
            &[("with one disk", share(&one.last())), ("with four", share(&four.last()))],
            "percent of the requests; the text gives the order",
        ));
        claims.push(more_on_disks(item, one));
        for (disks, system) in [("one disk", one), ("four disks", four)] {
            let name = format!("{}, {disks}", system.name);
            curves.push(Curve { name, ..curve(system, &PROCESSES, share) });
        }
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure("Figure 16, dbench: share of flash", curves)] })
}

/// Percent of the requests.
pub(super) fn share(point: &Measured) -> f64 {
    point.flash_percent
}

/// With more processes, less is on flash.
pub(super) fn more_on_disks(item: &Item, system: &System) -> Claim {
    Claim::descending(
        item.name,
        &format!("{}: less on flash with more processes", system.name),
        &[("2 processes", share(&system.points[0])), ("10 processes", share(&system.last()))],
        "percent of the requests; the text: slightly more towards the disk in both workloads",
    )
}

pub(super) fn figure(title: &str, curves: Vec<Curve>) -> Figure {
    Figure {
        title: title.into(),
        note: "Share of the requests. The paper's curves, of data, are not in the text.".into(),
        x: Axis::linear("processes"),
        y: Axis::linear("on flash, percent"),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (6, 1, 4));
    }
}
