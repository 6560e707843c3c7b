//! Salman 2017, section 4.3: what larger slices cost.

use super::cluster::{Case, Requests, Runs, Scale};
use super::loads::{USR, stand_in};
use super::schemes::{BASELINE, EWO};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/section-4.3",
    title: "The size of a slice: extra writes and the map",
    source: "Salman, thesis, 2017, section 4.3",
    sections: &["4.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Objects of a slice.
const SIZES: [u32; 5] = [1, 2, 4, 8, 16];
/// Objects of the cluster: whole slices of each size.
const OBJECTS: u64 = 1696;
/// Blocks of a package: drives four times as large, since of large slices the ring gives some servers many.
const BLOCKS: u32 = 148;
/// Hot objects for each cold one: with the default of 1, few slices of several objects are hot.
const EPSILON: &str = ", epsilon_c = \"5%\" }";

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, 4 * SIZES.len());
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    for (what, load) in [("writes of whole objects", Requests::Whole(USR)), ("writes of usr", Requests::Of(USR))] {
        let (mut extra, mut maps, mut copied, mut moves) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for objects_per_slice in SIZES {
            let case = |balancer: &str| Case {
                load,
                objects: OBJECTS,
                objects_per_slice,
                blocks: BLOCKS,
                ..Case::of(USR, balancer, scale)
            };
            let (base, found) = (runs.run(&case(BASELINE))?, runs.run(&case(&EWO.replace(" }", EPSILON)))?);
            extra.push(found.all_pages() / base.all_pages() - 1.0);
            maps.push(found.report.map_bytes as f64);
            moves.push(found.report.moves_done as f64);
            copied.push(found.report.objects_copied as f64 / found.moved());
        }
        let claim = format!("{what}, slices of one object: extra pages over those of the host");
        let reason = "\"if d_s = 1 [...] W_EWO = 0\"; objects that no write moves by the end of an epoch are copied, \
                      for which 1 % was allowed";
        claims.push(Claim::at_most(item.name, &claim, 0.01, extra[0], reason));
        let reason = "the rest was moved by writes of the host";
        let claim =
            format!("{what}, slices of one object: moved objects that were copied, as none was written in time");
        claims.push(Claim::beside(item.name, &claim, copied[0], reason));
        let claim = format!("{what}, slices of 16 objects over slices of one: slices moved");
        claims.push(Claim::beside(item.name, &claim, moves[4] / moves[0], "fewer slices pass the thresholds"));
        for (at, size) in SIZES.into_iter().enumerate().skip(1) {
            let claim = format!("{what}: extra pages with {size} objects a slice above those with {}", SIZES[at - 1]);
            let reason = "\"off-loading large slices of objects to other servers may cause considerable extra wear\"";
            claims.push(Claim::descending(
                item.name,
                &claim,
                &[("larger", extra[at]), ("smaller", extra[at - 1])],
                reason,
            ));
        }
        let values = [("1", maps[0]), ("4", maps[2]), ("16", maps[4])];
        let reason = "\"the size of OM decreases with d_s\"";
        claims.push(Claim::descending(
            item.name,
            &format!("{what}: map falls with the size of a slice, bytes"),
            &values,
            reason,
        ));
        curves.push(Curve::measured(what, SIZES.map(f64::from).into_iter().zip(extra)));
    }
    let figure = Figure {
        title: "Section 4.3: extra pages written by the size of a slice".into(),
        note: "A write of a whole object moves it for nothing; of a partial one, the rest is fetched.".into(),
        x: Axis::logarithmic("objects of a slice"),
        y: Axis::linear("extra pages over those of the host"),
        curves,
    };
    let stand_in = stand_in(context);
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(&stand_in)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (16, 1));
    }
}
