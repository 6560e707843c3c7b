//! Xia 2017, figure 13: mean response by over-provisioning, fixed and chosen by the cache.

use super::allocations::{Allocated, Choice, FIXED, Plan, all};
use super::write_caches::{PUBLISHED, SHIFTING, STAND_IN, WRITE_VOLUMES, WriteVolume};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-13",
    title: "Response times with a fixed over-provisioning, and with the cache's own choice",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 4.5.1, figure 13",
    sections: &["4.5.1"],
    run,
};

/// The runs of a volume: with each fixed over-provisioning, and with the cache's own choice.
pub(super) struct Row {
    pub(super) volume: &'static WriteVolume,
    pub(super) fixed: Vec<Allocated>,
    pub(super) own: Allocated,
    /// Trained on the flash, as the paper does.
    pub(super) on_flash: Allocated,
}

impl Row {
    /// The least mean response of a fixed over-provisioning, and that one, percent.
    pub(super) fn best(&self) -> (f64, u32) {
        let times = self.fixed.iter().map(|run| run.mean_us).zip(FIXED);
        times.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are some")
    }

    /// `of` the fixed runs, by over-provisioning, and of the cache's own choice as a straight line.
    pub(super) fn figure(&self, number: &str, what: &str, of: fn(&Allocated) -> f64) -> Figure {
        let level = |run: &Allocated| [(15.0, of(run)), (85.0, of(run))];
        let fixed = FIXED.into_iter().map(f64::from).zip(self.fixed.iter().map(of));
        Figure {
            title: format!("Xia's figure {number}: {what}, {}", self.volume.name),
            note: "The paper's bars are not in the text.".into(),
            x: Axis::linear("over-provisioning, percent"),
            y: Axis::linear(what),
            curves: vec![
                Curve::measured("fixed", fixed),
                Curve::measured("own choice", level(&self.own)),
                Curve::measured("own choice, trained on the flash", level(&self.on_flash)),
            ],
        }
    }
}

/// Runs everything that figures 13 to 15 compare, with caches that are `smaller` times smaller.
pub(super) fn rows(item: &Item, context: &Context<'_>, smaller: u32) -> Result<Vec<Row>, ReproduceError> {
    let choices = |volume: usize| {
        let window_gb = WRITE_VOLUMES[volume].window_gb as u32;
        let own = [false, true].map(|on_flash| Choice::Own { window_gb, on_flash });
        FIXED.map(Choice::Fixed).into_iter().chain(own)
    };
    let plan = |volume: usize, choice: Choice| Plan { smaller, ..Plan::new(volume, choice) };
    let volumes = 0..WRITE_VOLUMES.len();
    let plans: Vec<Plan> = volumes.flat_map(|volume| choices(volume).map(move |choice| plan(volume, choice))).collect();
    let found = all(item, context, &plans)?;
    let row = |(runs, volume): (&[Allocated], &'static WriteVolume)| {
        let (fixed, own) = runs.split_at(FIXED.len());
        Row { volume, fixed: fixed.to_vec(), own: own[0].clone(), on_flash: own[1].clone() }
    };
    Ok(found.chunks(FIXED.len() + 2).zip(&WRITE_VOLUMES).map(row).collect())
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, smaller: u32) -> Result<ItemOutcome, ReproduceError> {
    let rows = rows(item, context, smaller)?;
    let mut claims = Vec::new();
    for row in &rows[..PUBLISHED] {
        let (name, (best_us, best)) = (row.volume.name, row.best());
        let claim = format!("{name}: best fixed over-provisioning, percent");
        let reason = match name {
            "Exchange" => "the step of what is compared; section 4.5.2 takes 35 % for the best",
            _ => "the step of what is compared",
        };
        let claim = Claim::within_absolute(item.name, &claim, row.volume.best.into(), best.into(), 0.0, reason);
        claims.push(claim.fitted("one number of the stand-in"));
        let (limit, reason) = match name {
            "MSNFS" => (1.0, "\"even better than the static optimal allocation scheme\""),
            _ => (1.03, "3 %, ours: \"close to the static optimal allocation scheme\""),
        };
        let claim = format!("{name}: own choice over the best fixed over-provisioning");
        claims.push(Claim::at_most(item.name, &claim, limit, row.own.mean_us / best_us, reason));
        let claim = format!("{claim}, trained on the flash");
        let reason = "training runs the cache with sizes that are not the best; the paper's way";
        claims.push(Claim::beside(item.name, &claim, row.on_flash.mean_us / best_us, reason));
        let last = row.own.windows.last().map_or(0.0, |window| 100.0 * window.left_to_cleaning);
        let claim = format!("{name}: over-provisioning of the own choice in the end, percent");
        let reason = "published beside: the best fixed one, of steps of ten";
        claims.push(Claim::percent(item.name, &claim, row.volume.best.into(), last, reason));
        let turn = FIXED.iter().position(|percent| *percent == best).expect("it is one of them");
        let names = FIXED.map(|percent| format!("{percent} %"));
        let values: Vec<(&str, f64)> =
            names.iter().map(String::as_str).zip(row.fixed.iter().map(|run| run.mean_us)).collect();
        let back: Vec<(&str, f64)> = values[turn..].iter().rev().copied().collect();
        for (part, values) in [("falls up to the best", &values[..=turn]), ("rises from there", &back)] {
            if values.len() > 1 {
                let claim = format!("{name}: mean response {part} over-provisioning, us");
                claims.push(Claim::descending(item.name, &claim, values, "\"is a concave curve\""));
            }
        }
    }
    let shifting = &rows[SHIFTING];
    let claim = "writes whose locality shifts: own choice over the best fixed over-provisioning";
    let reason = "no claim of the paper; below 1, no fixed one is as good";
    claims.push(Claim::beside(item.name, claim, shifting.own.mean_us / shifting.best().0, reason));
    let figures = rows.iter().map(|row| row.figure("13", "mean response, us", |run| run.mean_us)).collect();
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = small(&ITEM, measure);
        assert!(outcome.claims.len() > 4 * 5, "{:#?}", outcome.claims);
        assert_eq!(outcome.figures.len(), 5);
    }

    /// Checks that the choice is within 3 % of the best fixed over-provisioning, and better than any where the locality
    /// shifts, as measured when the item was written: the best ones, and their neighbours, are in its figure.
    #[test]
    fn what_holds_stays_held() {
        super::super::tests::outcome(|context| {
            for (volume, best) in [(1, 35), (3, 25), (SHIFTING, 45)] {
                let own = Choice::Own { window_gb: WRITE_VOLUMES[volume].window_gb as u32, on_flash: false };
                let plans = [Choice::Fixed(best), own].map(|choice| Plan::new(volume, choice));
                let found = all(&ITEM, context, &plans)?;
                let (ratio, limit) = (found[1].mean_us / found[0].mean_us, if volume == SHIFTING { 1.0 } else { 1.03 });
                assert!(ratio < limit, "{}: {ratio}", WRITE_VOLUMES[volume].name);
            }
            // And a lifetime half-way between the wear of its own choice and that of 85 % is kept.
            let cycles = 1_520_978;
            let found = all(&ITEM, context, &[Plan::new(1, Choice::Within { cycles })])?;
            let used = found[0].cycles_per_year / f64::from(cycles);
            assert!((0.9..1.05).contains(&used), "{used}");
            Ok(ItemOutcome::default())
        });
    }
}
