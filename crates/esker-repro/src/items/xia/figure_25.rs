//! Xia 2017, figure 25: operations of each cost.

use esker_results::{PageOperations, WriteModeReport};

use super::volumes::{OVERLAPPING, STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{LOAD, Measured, Scheme, State, all, matrix};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-25",
    title: "Operations by cost",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.2, figure 25",
    sections: &["5.4.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

/// Page operations for the host, without cleaning.
struct Operations {
    reads: [f64; 2],
    writes: [f64; 2],
    rewrites: f64,
}

impl Operations {
    /// Those in the normal mode come first, those at low cost second.
    fn of(run: &Measured) -> Self {
        let mode = |name: &str, of: fn(&WriteModeReport) -> PageOperations| {
            let modes = run.flash.write_modes.iter().flat_map(|modes| &modes.modes);
            modes.filter(|mode| mode.mode == name).map(|mode| of(mode).host as f64).sum::<f64>()
        };
        Self {
            reads: ["normal", "low-cost"].map(|name| mode(name, |mode| mode.reads)),
            writes: ["normal", "low-cost"].map(|name| mode(name, |mode| mode.programs)),
            rewrites: run.flash.programs.re_encoding as f64,
        }
    }
    fn all(&self) -> f64 {
        self.reads.iter().chain(&self.writes).sum::<f64>() + self.rewrites
    }
    /// Percent of all.
    fn share(&self, of: f64) -> f64 {
        100.0 * of / self.all().max(1.0)
    }
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let found = matrix(item, context, State::full(scale), (&all(), &[Scheme::CHOSEN]), LOAD)?;
    let operations: Vec<Operations> = found.iter().map(|runs| Operations::of(&runs[0])).collect();
    let mut claims = Vec::new();
    for (index, (volume, of)) in VOLUMES.iter().zip(&operations).enumerate() {
        if !OVERLAPPING.contains(&index) {
            let claim = format!("{}: low-cost writes and normal reads, percent of operations", volume.name);
            let reason = "80: \"for most of the workloads, more than 80 %\"";
            let share = of.share(of.writes[1] + of.reads[0]);
            claims.push(Claim::at_least(item.name, &claim, 80.0, share, reason));
        }
        let claim = format!("{}: rewrites, percent of operations", volume.name);
        let reason = "2: \"merely introduce negligible rewrite operations\"";
        claims.push(Claim::at_most(item.name, &claim, 2.0, of.share(of.rewrites), reason));
    }
    let low = |volume: usize| {
        let [normal, low] = operations[volume].writes;
        100.0 * low / (normal + low).max(1.0)
    };
    let values = [("hm0", low(1)), ("hm1", low(2))];
    let reason = "hm1 \"more normal-cost write\"; Financial1 and hm0 \"aggressively apply more of the low-cost write\"";
    claims.push(Claim::descending(item.name, "low-cost writes, percent of writes", &values, reason));
    let values = [("Financial1", low(0)), ("hm1", low(2))];
    claims.push(Claim::descending(item.name, "low-cost writes, percent of writes", &values, reason));
    type Kind = fn(&Operations) -> f64;
    let kinds: [(&str, Kind); 5] = [
        ("normal-cost read", |of| of.reads[0]),
        ("high-cost read", |of| of.reads[1]),
        ("normal-cost write", |of| of.writes[0]),
        ("low-cost write", |of| of.writes[1]),
        ("rewrite", |of| of.rewrites),
    ];
    let curves = kinds.map(|(name, kind)| {
        let at = |(volume, of): (usize, &Operations)| (volume as f64, of.share(kind(of)));
        Curve::measured(name, operations.iter().enumerate().map(at))
    });
    let figure = Figure {
        title: "Xia's figure 25: operations of each cost".into(),
        note: "Page operations for the host. The paper's bars are not in the text.".into(),
        x: Axis::categories("volume", VOLUMES.iter().map(|volume| volume.name)),
        y: Axis::linear("percent of operations"),
        curves: curves.into(),
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (29, 1));
    }
}
