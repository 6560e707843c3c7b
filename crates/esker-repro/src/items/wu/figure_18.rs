//! Wu 2011, figures 18 and 19: the Transcend and the MemoRight drive, each with a disk, under dbench.

use super::pair::{Drive, MEMORIGHT, Measured, POLICIES, Pair, Placed, Runs, STAND_IN, TRANSCEND};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// Figure 18.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-18",
    title: "The Transcend drive and a disk under dbench",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 18",
    sections: &["3.3.3"],
    run: |item, context| measure(item, context, 1.0, TRANSCEND),
};

/// Figure 19.
pub(in crate::items) const FIGURE_19: Item = Item {
    name: "wu/figure-19",
    title: "The MemoRight drive and a disk under dbench",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 19",
    sections: &["3.3.3"],
    run: |item, context| measure(item, context, 1.0, MEMORIGHT),
};

/// Shares on flash of the fixed splits, percent.
const SHARES: [u32; 7] = [0, 10, 20, 40, 60, 80, 100];

/// Shares of the extents on flash, thousandths, that are drawn as `wardrop` draws them: around the one at which both
/// devices of figure 18 answer equally fast.
const DRAWN: [u32; 4] = [200, 250, 300, 350];

fn measure(item: &Item, context: &Context<'_>, part: f64, flash: Drive) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, SHARES.len() + POLICIES.len() + DRAWN.len() + 1);
    let mut run = |placed| runs.run(Pair { flash, ..Pair::new("wu-dbench", placed) });
    let fixed = SHARES.iter().map(|&percent| run(Placed::Split(percent))).collect::<Result<Vec<Measured>, _>>()?;
    let policies = POLICIES.iter().map(|&(_, placed)| run(placed)).collect::<Result<Vec<Measured>, _>>()?;
    let drawn = DRAWN.iter().map(|&share| run(Placed::Drawn(share))).collect::<Result<Vec<Measured>, _>>()?;
    let wardrop = policies[0];
    let ends_at = wardrop.target_percent.unwrap_or(wardrop.flash_percent);
    let unmoved = run(Placed::Drawn((ends_at * 10.0).round() as u32))?;
    let mut claims = claims(item, &fixed, &policies);
    claims.extend(without_moves(item, best(&fixed), &wardrop, &unmoved));
    claims.extend(of_drawn(item, &drawn));
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let curves = std::iter::once(Curve::measured(
        "fixed splits",
        SHARES.iter().zip(&fixed).map(|(share, point)| (f64::from(*share), point.mb_per_s)),
    ));
    let of_drawn = drawn.iter().map(|point| (point.flash_percent, point.mb_per_s));
    let of_drawn = Curve::measured("fixed, drawn as by wardrop", of_drawn);
    let at = |((name, _), point): (&(&str, Placed), &Measured)| {
        Curve::measured(name, [(point.flash_percent, point.mb_per_s)])
    };
    let figure = Figure {
        title: format!("{}: throughput at 10 processes", item.title),
        note:
            "Policies and drawn extents stand at their shares of the requests. The paper's curves, by processes, are \
               not in the text."
                .into(),
        x: Axis::linear("on flash, percent"),
        y: Axis::linear("throughput, MB/s"),
        curves: curves.chain([of_drawn]).chain(POLICIES.iter().zip(&policies).map(at)).collect(),
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// The most throughput of the fixed splits.
fn best(fixed: &[Measured]) -> f64 {
    fixed.iter().map(|point| point.mb_per_s).fold(0.0, f64::max)
}

/// What it costs `wardrop` where its moves have put extents: `unmoved` has the same ones on flash from the start, so
/// that those on the disk lie one after the other.
fn without_moves(item: &Item, best: f64, wardrop: &Measured, unmoved: &Measured) -> Vec<Claim> {
    let reason = "moved extents lie behind all that the disk holds from the start";
    let claim = "the extents that wardrop has on flash in the end, there from the start: throughput over that of the \
                 best fixed split at 10 processes";
    let mut claims = vec![Claim::beside(item.name, claim, unmoved.mb_per_s / best, reason)];
    for (name, run) in [("wardrop", wardrop), ("the same extents on flash from the start", unmoved)] {
        let claim = format!("{name}: mean distance of the disk's seeks at 10 processes, cylinders");
        claims.extend(run.seek_cylinders.map(|cylinders| Claim::beside(item.name, &claim, cylinders, reason)));
    }
    claims
}

/// What fixed shares do whose extents are drawn as `wardrop` draws them: where both devices answer equally fast, and
/// where most is served.
fn of_drawn(item: &Item, drawn: &[Measured]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (share, run) in DRAWN.iter().zip(drawn) {
        let share = format!("{} % of the extents on flash, drawn as by wardrop", share / 10);
        let claim = format!("{share}: throughput at 10 processes, MB/s");
        let reason = "equal response times are not the most throughput";
        claims.push(Claim::beside(item.name, &claim, run.mb_per_s, reason));
        let claim = format!("{share}: response time of flash over that of the disk at 10 processes");
        claims.extend(run.flash_over_disk.map(|ratio| Claim::beside(item.name, &claim, ratio, reason)));
    }
    claims
}

fn claims(item: &Item, fixed: &[Measured], policies: &[Measured]) -> Vec<Claim> {
    let (disk, flash) = (fixed[0].mb_per_s, fixed[SHARES.len() - 1].mb_per_s);
    let best = best(fixed);
    let mut claims = vec![Claim::descending(
        item.name,
        "the disk alone has more throughput than flash alone at 10 processes",
        &[("disk", disk), ("flash", flash)],
        "MB/s; the text: these drives perform worse than disks because they write badly",
    )];
    for ((name, _), point) in POLICIES.iter().zip(policies) {
        claims.push(Claim::at_least(
            item.name,
            &format!("{name}: throughput over that of the best fixed split at 10 processes"),
            0.95,
            point.mb_per_s / best,
            "\"matches the best static allocation\" was taken for 5 %; the best of seven splits",
        ));
        for (alone, throughput) in [("the disk", disk), ("flash", flash)] {
            claims.push(Claim::descending(
                item.name,
                &format!("{name}: more throughput than {alone} alone at 10 processes"),
                &[(name, point.mb_per_s), (alone, throughput)],
                "MB/s; the text: both together gain from concurrency",
            ));
        }
        claims.push(Claim::beside(
            item.name,
            &format!("{name}: share of flash at 10 processes, percent"),
            point.flash_percent,
            "the text has no value",
        ));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::{Measure, short};
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let drives: [(Item, Measure); 2] = [
            (ITEM, |item, context, part| measure(item, context, part, TRANSCEND)),
            (FIGURE_19, |item, context, part| measure(item, context, part, MEMORIGHT)),
        ];
        for (item, measure) in drives {
            let outcome = short(&item, measure);
            assert_eq!(
                (outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()),
                (9 + 3 + 2 * DRAWN.len(), 1, 4)
            );
        }
    }
}
