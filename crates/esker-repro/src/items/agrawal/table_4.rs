//! Agrawal 2008, table 4: Exchange on packages that share a bus.
//!
//! The trace cannot be had. Requests are made up by section 4.1, their sizes by the rows of gangs themselves (see
//! the TOML beside this file): so those two latencies are inputs, and what is checked is whether one distribution
//! of sizes gives all three rows.
//!
//! The published rates of the gangs are one over their latencies (1 / 553 us = 1,808 and 1 / 746 us = 1,340 per second;
//! 1 / 237 us is 4,219, not 4,425), so ours are worked out the same way. What a drive does one request at a time,
//! without the wait at 900 requests a second, is shown beside.

use crate::traces;
use crate::{Axis, Claim, Context, Curve, Figure, Item, Outcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/table-4",
    title: "Exchange on gangs of packages that share a bus: latency and rate",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3, table 4",
    sections: &["4.3"],
    run,
};

const EXPERIMENT: &str = include_str!("table_4.toml");

/// A row of the table.
struct Row {
    name: &'static str,
    latency_us: f64,
    rate: f64,
    keys: &'static [(&'static str, &'static str)],
}

const ROWS: [Row; 3] = [
    Row { name: "no gang", latency_us: 237.0, rate: 4_425.0, keys: &[] },
    Row {
        name: "gang of 8 packages",
        latency_us: 553.0,
        rate: 1_807.0,
        keys: &[("device.flash.geometry.channels", "1"), ("device.flash.geometry.packages_per_channel", "8")],
    },
    Row {
        name: "gang of 16 packages",
        latency_us: 746.0,
        rate: 1_340.0,
        keys: &[
            ("device.flash.geometry.channels", "1"),
            ("device.flash.geometry.packages_per_channel", "16"),
            ("device.raid.count", "5"),
            ("device.raid.stripe", "\"64KiB\""),
        ],
    },
];

const TOLERANCE: f64 = 0.15;
const STAND_IN: &str = "made-up requests; their sizes follow from the two rows of gangs";
const ALONE: &str = "without waiting for each other; the published rates of gangs are one over the published latencies";
const REASON: &str = "sizes and addresses of Exchange's requests are not published";

fn run(item: &Item, context: &Context<'_>) -> Result<Outcome, ReproduceError> {
    let text = format!("{EXPERIMENT}seed = {}\n", context.seed);
    let within = |claim: &str, published, measured| {
        Claim::within(item.name, claim, published, measured, TOLERANCE, REASON).on_stand_in(STAND_IN)
    };
    let (mut claims, mut latencies) = (Vec::new(), Vec::new());
    for (index, row) in ROWS.iter().enumerate() {
        let parts = 2 * ROWS.len();
        let open = traces::run(item, context, &text, row.keys, (2 * index, parts))?;
        let keys: Vec<_> = row.keys.iter().copied().chain([("workload.queue_depth", "1")]).collect();
        let alone = traces::run(item, context, &text, &keys, (2 * index + 1, parts))?;
        let latency_us = open.requests.all.response_time.mean_us;
        claims.push(within(&format!("{}: latency, us", row.name), row.latency_us, latency_us));
        let claim = format!("{}: rate, per second, one over the latency", row.name);
        let rate = Claim::within(item.name, &claim, row.rate, 1e6 / latency_us, TOLERANCE, REASON);
        claims.push(rate.by_construction("one over the latency above").on_stand_in(STAND_IN));
        let rate = 1e6 / alone.requests.all.response_time.mean_us;
        let claim = format!("{}: rate of one request at a time, per second", row.name);
        claims.push(Claim::compared(item.name, &claim, row.rate, rate, ALONE).on_stand_in(STAND_IN));
        latencies.push(latency_us);
    }
    for (wide, narrow) in [(1, 0), (2, 0), (2, 1)] {
        let claim = format!("latency, {} over {}", ROWS[wide].name, ROWS[narrow].name);
        claims.push(within(
            &claim,
            ROWS[wide].latency_us / ROWS[narrow].latency_us,
            latencies[wide] / latencies[narrow],
        ));
    }
    let order: Vec<_> = ROWS.iter().zip(&latencies).rev().map(|(row, latency)| (row.name, *latency)).collect();
    let claim = "latency grows with the gang";
    claims.push(Claim::descending(item.name, claim, &order, "the more packages share a bus").on_stand_in(STAND_IN));
    let figure = Figure {
        title: "Agrawal's table 4: Exchange on gangs that share a bus".into(),
        note: "Measured on made-up requests whose sizes follow from the published rows of gangs.".into(),
        x: Axis::categories("packages that share a bus", ["none", "8", "16"]),
        y: Axis::linear("mean latency, us"),
        curves: vec![
            Curve::published_bars("latency", ROWS.iter().map(|row| row.latency_us)),
            Curve::measured_bars("latency", latencies),
        ],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// The sizes in the TOML follow from the published rows and from table 1.
    #[test]
    fn sizes_follow_from_the_rows_of_gangs() {
        let (bus_us, read_us, write_us) = (105.6, 25.0, 200.0 + 213.0 / 63.0);
        let pages = |latency: f64| (latency - 0.6 * read_us - 0.4 * write_us) / bus_us;
        let (eight, sixteen) = (pages(ROWS[1].latency_us), pages(ROWS[2].latency_us));
        // Shares a, b, c of 2, 4 and 16 pages: 2a + 4b + 8c = eight, 2a + 4b + 16c = sixteen, a + b + c = 1.
        let c = (sixteen - eight) / 8.0;
        let b = (eight - 8.0 * c - 2.0 * (1.0 - c)) / 2.0;
        let a = 1.0 - b - c;
        for (share, weight) in [(a, "29"), (b, "48"), (c, "23")] {
            assert!((share * 100.0 - weight.parse::<f64>().unwrap()).abs() < 1.0, "{share}");
            assert!(EXPERIMENT.contains(&format!("weight = {weight} }}")));
        }
    }

    #[test]
    fn every_row_can_be_built_and_serves() {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel };
        let text = format!("{EXPERIMENT}seed = 1\n");
        let short = [("workload.head", "200"), ("device.flash.geometry.blocks_per_plane", "64")];
        for row in &ROWS {
            let keys: Vec<_> = short.into_iter().chain(row.keys.iter().copied()).collect();
            let results = traces::run(&ITEM, &context, &text, &keys, (0, 1)).unwrap();
            assert_eq!(
                (results.requests.all.count, results.devices.len()),
                (200, if row.latency_us > 700.0 { 6 } else { 11 })
            );
        }
    }
}
