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
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figures = vec![
        bars("Xia's figure 23 with little cleaning: mean response", &found, |run| run.all_us),
        bars("Xia's figure 24a with little cleaning: mean response of writes", &found, |run| run.write_us),
        bars("Xia's figure 24b with little cleaning: mean response of reads", &found, |run| run.read_us),
    ];
    Ok(ItemOutcome { claims, figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::super::write_modes::Contents;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (9 + 41 + 16 + 3, 3));
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
