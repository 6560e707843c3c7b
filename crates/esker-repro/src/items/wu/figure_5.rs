//! Wu 2011, figure 5: what migration carries under SPECsfs, and where requests go.
//!
//! The published rates are operations of NFS, ours requests at the storage system: only their ratios are compared.

use esker_results::Report;
use esker_sim::Simulation;

use super::volume::{DISK_ONLY, FLASH_ONLY, MIGRATION, Part, SLOW, SPECSFS, STRIPING, Volume};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-5",
    title: "Benefit from migration: flash, disk, striping, striping and migration",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.2 (2.4.2), figure 5",
    sections: &["2.4.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const SYSTEMS: [(&str, &str); 4] =
    [("flash only", FLASH_ONLY), ("disk only", DISK_ONLY), ("striping", STRIPING), ("migration", MIGRATION)];
/// Operations per second at saturation: disk only, striping, migration.
const PUBLISHED: [f64; 3] = [434.0, 426.0, 600.0];

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let runs = SYSTEMS.len() + 1;
    let mut found = Vec::new();
    for (index, (_, policy)) in SYSTEMS.into_iter().enumerate() {
        let part = Part { item, context, index, runs, scale };
        found.push(part.saturation(&Volume::hybrid(SLOW, policy))?);
    }
    let [flash, disk, striping, migration] = [0, 1, 2, 3].map(|system: usize| found[system].per_s);
    let chosen =
        "the mix of chunks was chosen after trials in which this ratio was 1.2 to 1.4; 15 % for what is left open";
    let fitted = "the skew of addresses was chosen so that this is near one";
    let ratio = |claim: &str, published, measured, reason| {
        Claim::within(item.name, claim, published, measured, 0.15, reason).on_stand_in(SPECSFS)
    };
    let mut claims = vec![
        ratio("saturation: migration over striping", PUBLISHED[2] / PUBLISHED[1], migration / striping, chosen),
        ratio("saturation: migration over disk only", PUBLISHED[2] / PUBLISHED[0], migration / disk, chosen),
        ratio("saturation: striping over disk only", PUBLISHED[1] / PUBLISHED[0], striping / disk, fitted),
        Claim::descending(
            item.name,
            "saturation: disk only, striping, flash only, requests per second",
            &[("disk", disk), ("striping", striping), ("flash", flash)],
            "\"the performance of STRIPING is between these two systems\"",
        )
        .on_stand_in(SPECSFS),
    ];
    let part = Part { item, context, index: SYSTEMS.len(), runs, scale };
    let shares = shares(&part)?;
    claims.extend(claims_of_shares(item, shares.last().expect("there is a step")));
    let curves = SYSTEMS.iter().zip(&found).map(|((name, _), found)| Curve::measured(name, found.points()));
    let of = |value: fn(&Shares) -> f64| shares.iter().map(move |shares| (shares.requests, value(shares)));
    let figures = vec![
        Figure {
            title: "Wu's figure 5(a): response against load, Transcend".into(),
            note: "Published saturation: 434 (disk), 426 (striping) and 600 (migration) operations of NFS per second; \
                   ours are requests at the storage system."
                .into(),
            x: Axis::linear("offered requests per second"),
            y: Axis::linear("mean response, ms"),
            curves: curves.filter(|curve| !curve.points.is_empty()).collect(),
        },
        Figure {
            title: "Wu's figure 5(b): where requests go while chunks migrate".into(),
            note: "Shares of the bytes that flash serves. Copies of chunks count, too.".into(),
            x: Axis::linear("requests served"),
            y: Axis::linear("share of flash"),
            curves: vec![
                Curve::measured("writes", of(|shares| shares.written)),
                Curve::measured("reads", of(|shares| shares.read)),
            ],
        },
    ];
    Ok(ItemOutcome { claims, figures })
}

/// What part of the bytes goes to flash.
struct Shares {
    /// Requests served until then.
    requests: f64,
    read: f64,
    written: f64,
}

/// Sectors at the end of the published run: written on disk and flash, read on both.
const SECTORS: [f64; 4] = [433_343.0, 79_043.0, 69_011.0, 59_390.0];

/// Shares of flash in ten steps at a rate that striping carries.
fn shares(part: &Part<'_>) -> Result<Vec<Shares>, ReproduceError> {
    const PAGE: f64 = 4096.0;
    part.with_specsfs(&Volume::hybrid(SLOW, MIGRATION), |simulation, load| {
        let pages = |simulation: &Simulation| {
            let flash = Report::of(simulation.device())
                .devices
                .into_values()
                .find_map(|device| device.flash)
                .unwrap_or_default();
            (flash.host_page_reads as f64, flash.host_page_writes as f64)
        };
        let mut shares = Vec::new();
        let mut served = 0;
        let mut before = pages(simulation);
        for step_number in 0..10 {
            let requests = part.requests(50_000);
            let mut go_on = |_| part.go_on(f64::from(step_number) / 10.0);
            let step = load.offer(simulation, 130.0, (0, requests), &mut go_on)?;
            let now = pages(simulation);
            served += requests;
            shares.push(Shares {
                requests: served as f64,
                read: (now.0 - before.0) * PAGE / step.read_bytes as f64,
                written: (now.1 - before.1) * PAGE / step.write_bytes as f64,
            });
            before = now;
        }
        Ok(shares)
    })
}

fn claims_of_shares(item: &Item, last: &Shares) -> [Claim; 2] {
    let [written_disk, written_flash, read_disk, read_flash] = SECTORS;
    let over = |flash: f64| (1.0 - flash) / flash;
    let claim = |what: &str, published: f64, measured: f64| {
        let reason = "the chunks' mix is assumed; copies count as requests to flash";
        let claim = format!("after migration, {what} on the disk over those on flash");
        Claim::compared(item.name, &claim, published, measured, reason).on_stand_in(SPECSFS)
    };
    [
        claim("bytes written", written_disk / written_flash, over(last.written)),
        claim("bytes read", read_disk / read_flash, over(last.read)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_loaded() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (6, 2));
        assert_eq!(outcome.figures[0].curves.len(), 4);
    }
}
