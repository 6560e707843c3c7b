//! Xia 2017, figure 24: reads and writes by themselves.

use super::volumes::{STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{COMPARED, LOAD, Measured, Scheme, all, bars, matrix};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-24",
    title: "Reads and writes, normal, AGCR and differentiated",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.2, figure 24",
    sections: &["5.4.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let found = matrix(item, context, scale, (&all(), &COMPARED), LOAD)?;
    let writes = |runs: &[Measured], scheme: usize| 100.0 * (1.0 - runs[scheme].write_us / runs[0].write_us);
    let reads = |runs: &[Measured], scheme: usize| 100.0 * (1.0 - runs[scheme].read_us / runs[0].read_us);
    let mut claims = Vec::new();
    for (volume, runs) in VOLUMES.iter().zip(&found) {
        let claim = format!("{}: writes shorter than normal, percent", volume.name);
        let reason = "40: \"more than 40 % reduction for most of the workloads\"";
        claims.push(Claim::at_least(item.name, &claim, 40.0, writes(runs, 2), reason));
        let claim = format!("{}: reads shorter than normal, percent", volume.name);
        let reason = "0: \"can still maintain the same performance for majority of the workloads\"";
        claims.push(Claim::at_least(item.name, &claim, 0.0, reads(runs, 2), reason));
    }
    let mean = |of: &dyn Fn(&[Measured]) -> f64| found.iter().map(|runs| of(runs)).sum::<f64>() / found.len() as f64;
    for (what, published, measured) in [
        ("writes shorter than normal", 48.0, mean(&|runs| writes(runs, 2))),
        ("reads shorter than normal", 11.0, mean(&|runs| reads(runs, 2))),
        ("writes shorter than normal, further than with AGCR", 4.0, mean(&|runs| writes(runs, 2) - writes(runs, 1))),
        ("reads shorter than normal, further than with AGCR", 11.0, mean(&|runs| reads(runs, 2) - reads(runs, 1))),
    ] {
        let claim = format!("{what}, percent, mean over the volumes");
        claims.push(Claim::compared(item.name, &claim, published, measured, "section 5.5"));
    }
    let idle = matrix(item, context, scale, (&all(), &[Scheme::Normal, Scheme::IdleNormal]), LOAD)?;
    let mean = |of: &dyn Fn(&[Measured]) -> f64| idle.iter().map(|runs| of(runs)).sum::<f64>() / idle.len() as f64;
    for (what, measured) in [("writes", mean(&|runs| writes(runs, 1))), ("reads", mean(&|runs| reads(runs, 1)))] {
        let claim = format!("{what} shorter than normal, percent, mean, with idle pages copied in the normal mode");
        claims.push(Claim::beside(item.name, &claim, measured, "section 5.3.3 leaves open how these are copied"));
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figures = vec![
        bars("Xia's figure 24a: mean response of writes", &found, |run| run.write_us),
        bars("Xia's figure 24b: mean response of reads", &found, |run| run.read_us),
    ];
    Ok(ItemOutcome { claims, figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (36, 2));
    }
}
