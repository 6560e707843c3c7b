//! Wu 2011, table V: one process of the NetApp traces, and ten. There one run goes over from one to ten; here there are
//! two runs.

use super::pair::{Measured, POLICIES, Pair, Placed, Runs, STAND_IN, by_littles_law};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/table-5",
    title: "One process of the NetApp traces, then ten",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), table V",
    sections: &["3.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// A row of table V: with one process, and with ten.
struct Row {
    mb_per_s: [f64; 2],
    latency_ms: [f64; 2],
    flash_percent: [f64; 2],
}

const DISK: Row = Row { mb_per_s: [12.3106, 25.9799], latency_ms: [0.200, 0.894], flash_percent: [0.0, 0.0] };
const FLASH: Row = Row { mb_per_s: [12.413, 23.6754], latency_ms: [0.199, 0.933], flash_percent: [100.0, 100.0] };
const PAIR: Row = Row { mb_per_s: [11.5769, 36.8594], latency_ms: [0.214, 0.613], flash_percent: [65.25, 55.08] };

const PROCESSES: [u32; 2] = [1, 10];
const SYSTEMS: [(&str, Placed, Row); 4] = [
    ("disk alone", Placed::Disks, DISK),
    ("flash alone", Placed::Flash, FLASH),
    (POLICIES[0].0, POLICIES[0].1, PAIR),
    (POLICIES[1].0, POLICIES[1].1, PAIR),
];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, SYSTEMS.len() * PROCESSES.len());
    let systems = SYSTEMS.map(|(name, placed, _)| (name, placed));
    let found = runs.curves(Pair::new("wu-netapp", Placed::Flash), &systems, &PROCESSES)?;
    let mut claims = Vec::new();
    let mut curves = Vec::new();
    for ((name, placed, row), system) in SYSTEMS.iter().zip(&found) {
        let flash = &found[1].points;
        for (index, processes) in PROCESSES.iter().enumerate() {
            let named = |what: &str| format!("{name}, {processes} processes: {what}");
            let point = &system.points[index];
            if POLICIES.iter().any(|(_, policy)| policy == placed) {
                claims.extend(of_pair(item, &named, (row, index), point, &flash[index]));
            } else {
                let reason = "two runs of one seed may differ by this";
                let claim = named("throughput, MB/s");
                let claim = Claim::within(item.name, &claim, row.mb_per_s[index], point.mb_per_s, 0.05, reason);
                claims.push(claim.fitted("the stand-ins of the devices"));
            }
        }
        curves.push(Curve::measured_bars(name, system.points.iter().map(|point| point.mb_per_s)));
        curves.push(Curve::published_bars(name, row.mb_per_s));
    }
    let throughput = |system: usize| (SYSTEMS[system].0, found[system].points[1].mb_per_s);
    let order = [throughput(0), throughput(1)];
    let reason = "figure 14 says so, too";
    let claim = Claim::descending(item.name, "10 processes: more throughput of the disk, MB/s", &order, reason);
    claims.push(claim.fitted("the stand-ins of the devices"));
    let figure = Figure {
        title: "Table V: throughput".into(),
        note: "The stand-ins of the devices were fitted to the values of each alone.".into(),
        x: Axis::categories("processes", ["1", "10"]),
        y: Axis::linear("throughput, MB/s"),
        curves,
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// Claims on both devices together, in a column of the table. No value was fitted to them.
fn of_pair(
    item: &Item,
    named: &dyn Fn(&str) -> String,
    (row, column): (&Row, usize),
    point: &Measured,
    flash: &Measured,
) -> [Claim; 3] {
    let latency = row.latency_ms[column] / FLASH.latency_ms[column];
    [
        Claim::within(
            item.name,
            &named("throughput, MB/s"),
            row.mb_per_s[column],
            point.mb_per_s,
            0.1,
            "the devices alone are within 5 %; both together may be off by twice that",
        ),
        by_littles_law(Claim::within(
            item.name,
            &named("mean latency over that of flash alone"),
            latency,
            point.latency_ms / flash.latency_ms,
            0.1,
            "dbench counts operations that no device sees, so only the ratio can be compared; as for throughput",
        )),
        Claim::within_absolute(
            item.name,
            &named("share of flash, percent"),
            row.flash_percent[column],
            point.flash_percent,
            5.0,
            "of requests here, of data there",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (17, 1, 8));
    }

    #[test]
    fn what_was_fitted_is_not_met_but_derived() {
        let claim = |measured| Claim::within("x", "y", 1.0, measured, 0.05, "").fitted("a disk").on_stand_in(STAND_IN);
        assert_eq!(claim(1.0).verdict, crate::ClaimVerdict::Derived);
        assert_eq!(claim(0.92).verdict, crate::ClaimVerdict::Missed, "the fit is lost");
    }
}
