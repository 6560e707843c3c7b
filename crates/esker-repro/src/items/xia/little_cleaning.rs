//! Xia 2017, figures 23, 24 and 26 on a drive that cleans little: it holds the pages that the requests touch, and
//! nothing else. The text says what share of the drive is spare, not how much of the rest holds data.

use super::volumes::{STAND_IN, VolumeScale};
use super::write_modes::{COMPARED, LOAD, Measured, Scheme, State, all, bars, matrix, mean_over_volumes};
use super::{figure_23, figure_24, figure_26};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/little-cleaning",
    title: "Figures 23, 24 and 26 on a drive that holds only what is touched",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, sections 5.4.2.2 and 5.4.2.3",
    sections: &["5.4.2.2", "5.4.2.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let mut schemes = COMPARED.to_vec();
    schemes.push(Scheme::IdleNormal);
    let found = matrix(item, context, State::touched(scale), (&all(), &schemes), LOAD)?;
    let mut claims = figure_23::claims(item, &found);
    claims.extend(figure_24::claims(item, &found));
    claims.extend(figure_26::claims(item, &found));
    let reason = "geometric mean over the volumes; how idle pages are copied, which the text leaves open";
    for (what, scheme) in [("at low cost", 2), ("in the normal mode", 3)] {
        let claim = format!("mean response over the normal drive's, idle pages copied {what}");
        let over = mean_over_volumes(&found, scheme, |run| run.all_us);
        claims.push(Claim::beside(item.name, &claim, over, reason));
    }
    let copied = |run: &Measured| run.flash.programs.cleaning as f64 / run.flash.host_page_writes.max(1) as f64;
    let most = found.iter().map(|runs| copied(&runs[0])).fold(0.0, f64::max);
    let claim = "pages that cleaning copies for a page of the host on the normal drive, the most of all volumes";
    claims.push(Claim::beside(item.name, claim, most, "the text has no value"));
    claims.extend(agcr_on_hm1(item, context, scale)?);
    claims.extend(rewrites_on_hm1(item, &found[HM1]));
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figures = vec![
        bars("Xia's figure 23 with little cleaning: mean response", &found, |run| run.all_us),
        bars("Xia's figure 24a with little cleaning: mean response of writes", &found, |run| run.write_us),
        bars("Xia's figure 24b with little cleaning: mean response of reads", &found, |run| run.read_us),
    ];
    Ok(ItemOutcome { claims, figures })
}

/// The place of hm1 in [`super::volumes::VOLUMES`].
const HM1: usize = 2;

/// Why AGCR takes so long on hm1: what its cleaning does, what the responses would be without each of its costs, and
/// what they are where little waits.
fn agcr_on_hm1(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<Vec<Claim>, ReproduceError> {
    let schemes = [Scheme::Normal, Scheme::Agcr, Scheme::CHOSEN, Scheme::AgcrMediumCopies, Scheme::AgcrNormalReads];
    let at_load = |load: f64, schemes: &[Scheme]| -> Result<Vec<Measured>, ReproduceError> {
        Ok(matrix(item, context, State::touched(scale), (&[HM1], schemes), load)?.swap_remove(0))
    };
    let beside = |claim: &str, measured: f64| {
        let reason = "why AGCR is so slow on hm1; the text has no value";
        Claim::beside(item.name, &format!("hm1: {claim}"), measured, reason)
    };
    let runs = at_load(LOAD, &schemes)?;
    let agcr = &runs[1].flash;
    let modes = agcr.write_modes.iter().flat_map(|modes| &modes.modes);
    let high_cost: u64 = modes.filter(|mode| mode.mode == "high-cost").map(|mode| mode.programs.cleaning).sum();
    let share = 100.0 * high_cost as f64 / agcr.programs.cleaning.max(1) as f64;
    let mut claims = vec![beside("pages that AGCR's cleaning copies at high cost, percent of all it copies", share)];
    for (name, run) in ["normal", "AGCR", "differentiated"].iter().zip(&runs) {
        let block = run.flash.cleaning.as_ref().map_or(0.0, |cleaning| cleaning.mean_block_us / 1e3);
        claims.push(beside(&format!("time to clean a block, ms, {name}"), block));
        claims.push(beside(&format!("time for which the dies are busy, percent, {name}"), 100.0 * run.busy));
    }
    let few = at_load(0.02, &schemes[..2])?;
    for (what, run, normal) in [
        ("AGCR", &runs[1], &runs[0]),
        ("AGCR with copies at medium cost", &runs[3], &runs[0]),
        ("AGCR with reads as fast as normal ones", &runs[4], &runs[0]),
        ("AGCR, where the normal drive is busy for 0.02 of the time", &few[1], &few[0]),
    ] {
        claims.push(beside(&format!("mean response over the normal drive's, {what}"), run.all_us / normal.all_us));
    }
    Ok(claims)
}

/// Claims that explain why hm1 has more erases, from its runs under [`COMPARED`].
fn rewrites_on_hm1(item: &Item, runs: &[Measured]) -> [Claim; 3] {
    let [normal, own] = [0, 2].map(|scheme| &runs[scheme].flash.programs);
    let all = (normal.host + normal.cleaning).max(1) as f64;
    let more = (own.host + own.cleaning + own.re_encoding) as f64 - all;
    let requests = runs[2].flash.host_page_reads + runs[2].flash.host_page_writes;
    [
        ("rewrites, percent of the pages that the host reads or writes", own.re_encoding as f64 / requests as f64),
        ("rewrites, percent of the pages that the normal drive programs", own.re_encoding as f64 / all),
        ("pages programmed more than normal, percent, differentiated", more / all),
    ]
    .map(|(what, share)| {
        let reason = "why there are more erases on hm1; the text has no value";
        Claim::beside(item.name, &format!("hm1: {what}"), 100.0 * share, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::super::write_modes::Contents;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (9 + 41 + 16 + 3 + 11 + 3, 3));
    }

    /// The same requests make cleaning copy at least five times as much on a full drive.
    #[test]
    fn a_drive_that_holds_only_what_is_touched_cleans_little() {
        let scale = VolumeScale { part: 256, fewer: 1 };
        let mut copied = [Contents::Full, Contents::Touched].into_iter().map(|contents| {
            let copied = std::cell::Cell::new(f64::NAN);
            super::super::tests::outcome(|context| {
                let runs = matrix(&ITEM, context, State { scale, contents }, (&[1], &[Scheme::Normal]), LOAD)?;
                let flash = &runs[0][0].flash;
                copied.set(flash.programs.cleaning as f64 / flash.host_page_writes as f64);
                Ok(ItemOutcome::default())
            });
            copied.get()
        });
        let (full, touched) = (copied.next().unwrap(), copied.next().unwrap());
        assert!(full > 5.0 * touched && touched.is_finite(), "{full} and {touched}");
    }
}
