//! Agrawal 2008, table 4: Exchange on packages that share a bus.
//!
//! The trace is not available. Synthetic requests follow section 4.1, and their sizes the rows of gangs themselves
//! ([`SIZES`]). So those two latencies are inputs, and the check is whether one distribution of sizes gives all three
//! rows.
//!
//! The published rates of the gangs are one over their latencies (1 / 553 us = 1,808 and 1 / 746 us = 1,340 per second;
//! 1 / 237 us is 4,219, not 4,425), so the measured ones are computed the same way. The latency of one request at a
//! time, without the queueing at 900 requests a second, is shown for comparison.

use std::num::NonZeroU32;

use esker_core::Bytes;
use esker_flash::{ArrayLevel, Stripe};
use esker_sim::{ArraySettings, DeviceDescription, PreconditionKind, System, WorkloadSettings};
use esker_trace::Rate;

use super::drives;
use super::workloads::{exchange, made_up};
use crate::drive::FLASH;
use crate::traces::{self, PlannedRun};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/table-4",
    title: "Exchange on gangs of packages that share a bus: latency and rate",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3, table 4",
    sections: &["4.3"],
    run,
};

/// A row of the table.
struct Row {
    name: &'static str,
    latency_us: f64,
    rate: f64,
    /// Packages that share a bus; `None` if each has its own.
    gang: Option<u32>,
}

const ROWS: [Row; 3] = [
    Row { name: "no gang", latency_us: 237.0, rate: 4_425.0, gang: None },
    Row { name: "gang of 8 packages", latency_us: 553.0, rate: 1_807.0, gang: Some(8) },
    Row { name: "gang of 16 packages", latency_us: 746.0, rate: 1_340.0, gang: Some(16) },
];

/// Sizes of requests in KiB, with weights. The paper calls them "variable size". They are derived from the two rows of
/// gangs: on an idle bus a request of n pages takes 25 us + n x 105.6 us to read and n x 105.6 us + 203 us to write. So
/// 553 us are 4.32 pages on average, with at most 8 per request, and 746 us are 6.15, with at most 16. For requests of
/// 8, 16 and 64 KiB, that gives 29, 48 and 23 %.
const SIZES: [(u64, u32); 3] = [(8, 29), (16, 48), (64, 23)];

/// Section 4.3: drives of 32 GB behind a RAID controller, ten of them for Exchange. Each is fully connected, or is one
/// gang of 8 packages on a bus; or there are five drives, each one gang of 16. The traced load of a controller is 900
/// requests a second.
fn raid(gang: Option<u32>, blocks_per_plane: u32) -> System {
    let drive = drives::common().changed(|ssd| {
        ssd.geometry.channels = if gang.is_some() { 1 } else { 8 };
        ssd.geometry.packages_per_channel = gang.unwrap_or(1);
        ssd.geometry.blocks_per_plane = blocks_per_plane;
        // Neighbouring pages lie on different packages of a gang.
        ssd.array.stripe = Stripe(vec![ArrayLevel::Package, ArrayLevel::Channel, ArrayLevel::Die, ArrayLevel::Plane]);
    });
    // The stripe is as wide as a gang: "8-wide (32KB) and 16-wide (64KB)".
    let (count, stripe) = if gang == Some(16) { (5, Bytes::kib(64)) } else { (10, Bytes::kib(32)) };
    let array = DeviceDescription::new(ArraySettings { stripe, ..ArraySettings::alike(FLASH, count) });
    let flash = drive.preconditioned(PreconditionKind::Filled).description();
    System::of([(FLASH.to_string(), flash), ("raid".to_string(), array)], "raid").expect("the drives are there")
}

/// A drive of 2 GiB per 8 packages: nothing is cleaned, and response times do not depend on the number of blocks.
const BLOCKS_PER_PLANE: u32 = 128;

fn requests() -> WorkloadSettings {
    made_up(exchange(SIZES, Rate::per_second(900)))
}

const TOLERANCE: f64 = 0.15;
const STAND_IN: &str = "made-up requests; their sizes follow from the two rows of gangs";
const ALONE: &str = "without waiting for each other; the published rates of gangs are one over the published latencies";
const REASON: &str = "sizes and addresses of Exchange's requests are not published";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let within = |claim: &str, published, measured| {
        Claim::within(item.name, claim, published, measured, TOLERANCE, REASON).on_stand_in(STAND_IN)
    };
    let (mut claims, mut latencies) = (Vec::new(), Vec::new());
    for (index, row) in ROWS.iter().enumerate() {
        let parts = 2 * ROWS.len();
        let plan = |workload| PlannedRun::new(raid(row.gang, BLOCKS_PER_PLANE), workload);
        let open = traces::run(item, context, plan(requests()), (2 * index, parts))?;
        let one_at_a_time = WorkloadSettings { queue_depth: Some(NonZeroU32::MIN), ..requests() };
        let alone = traces::run(item, context, plan(one_at_a_time), (2 * index + 1, parts))?;
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
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// The sizes follow from the published rows and table 1.
    #[test]
    fn sizes_follow_from_the_rows_of_gangs() {
        let (bus_us, read_us, write_us) = (105.6, 25.0, 200.0 + 213.0 / 63.0);
        let pages = |latency: f64| (latency - 0.6 * read_us - 0.4 * write_us) / bus_us;
        let (eight, sixteen) = (pages(ROWS[1].latency_us), pages(ROWS[2].latency_us));
        // Shares a, b, c of 2, 4 and 16 pages: 2a + 4b + 8c = eight, 2a + 4b + 16c = sixteen, a + b + c = 1.
        let c = (sixteen - eight) / 8.0;
        let b = (eight - 8.0 * c - 2.0 * (1.0 - c)) / 2.0;
        let a = 1.0 - b - c;
        for (share, (_, weight)) in [a, b, c].into_iter().zip(SIZES) {
            assert!((share * 100.0 - f64::from(weight)).abs() < 1.0, "{share}");
        }
    }

    #[test]
    fn every_row_can_be_built_and_serves() {
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        for row in &ROWS {
            let short = WorkloadSettings { head: Some(200), ..requests() };
            let results = traces::run(&ITEM, &context, PlannedRun::new(raid(row.gang, 64), short), (0, 1)).unwrap();
            assert_eq!(
                (results.requests.all.count, results.devices.len()),
                (200, if row.latency_us > 700.0 { 6 } else { 11 })
            );
        }
    }
}
