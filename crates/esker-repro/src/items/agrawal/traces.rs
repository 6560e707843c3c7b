//! Agrawal's released simulator on the two traces that came with it, IOzone and Postmark: response times.
//!
//! The paper's figures 6 to 8 show these workloads only relative to the baseline; the release prints absolute times.
//! Protocol: its configuration (`drives.rs`), each trace once, by its arrival times, on a drive that is full of data.
//!
//! The release also has a bus to the host: 0.2384 us a sector, one request at a time, so that reads wait for the data
//! of writes. The `link` of a drive here lets reads pass, and the data of writes arrive later. So writes delay fewer
//! reads than in the release, and Postmark's become faster than without any bus (1.5 ms; 2.4 ms in the release and
//! without `link`). Therefore the claims are without `link`, and times with it are shown for comparison.

use esker_core::{ByteRate, Nanos};
use esker_flash::LinkSettings;
use esker_results::RunResults;

use super::drives::released;
use crate::drive::Drive;
use crate::traces::{self, PaperTrace, PlannedRun};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/traces",
    title: "Response times of IOzone and Postmark on eight packages with copy-back",
    source: "Agrawal et al., USENIX ATC 2008, simulator as released, its own output for the two traces",
    sections: &["4.2"],
    run,
};

/// Output of the release for one trace.
struct Published {
    workload: &'static str,
    trace: &'static PaperTrace,
    mean_ms: f64,
    stddev_ms: f64,
}

const PUBLISHED: [Published; 2] = [
    Published { workload: "IOzone", trace: &traces::IOZONE, mean_ms: 6.394, stddev_ms: 23.4 },
    Published { workload: "Postmark", trace: &traces::POSTMARK, mean_ms: 4.140, stddev_ms: 10.2 },
];

const TOLERANCE: f64 = 0.10;
const REASON: &str = "two simulators with the same times of operations, which clean at different moments; without a \
    bus to the host, which was left out after a first run with a `link` had missed (shown beside)";
const LINKED: &str = "not the release's bus, on which requests take turns";
/// The release's bus to the host, as closely as `link` can model it.
const LINK: LinkSettings = LinkSettings { rate: ByteRate(2_147_651_007), overhead: Nanos::from_micros(1) };

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (index, published) in PUBLISHED.iter().enumerate() {
        let mean = format!("{}: mean response, ms", published.workload);
        let stddev = format!("{}: its standard deviation, ms", published.workload);
        match published.trace.find(context) {
            Err(missing) => {
                claims.push(Claim::unreachable(item.name, &mean, Some(published.mean_ms), &missing));
                claims.push(Claim::unreachable(item.name, &stddev, Some(published.stddev_ms), &missing));
            }
            Ok(path) => {
                let plan = |drive: Drive| PlannedRun::new(drive.system(), traces::workload(&path));
                let results = traces::run(item, context, plan(released()), (2 * index, 2 * PUBLISHED.len()))?;
                let response = &results.requests.all.response_time;
                let within = |claim: &str, published, measured| {
                    Claim::within(item.name, claim, published, measured, TOLERANCE, REASON)
                };
                claims.push(within(&mean, published.mean_ms, response.mean_us / 1e3));
                claims.push(within(&stddev, published.stddev_ms, response.stddev_us / 1e3));
                claims.push(moved(item, published, &results));
                let linked = released().changed(|ssd| ssd.link = Some(LINK));
                let results = traces::run(item, context, plan(linked), (2 * index + 1, 2 * PUBLISHED.len()))?;
                let mean_ms = results.requests.all.response_time.mean_us / 1e3;
                let claim = format!("{mean}, with a link that reads and writes pass side by side");
                claims.push(Claim::compared(item.name, &claim, published.mean_ms, mean_ms, LINKED));
            }
        }
    }
    Ok(claims.into())
}

/// In the release's output, cleaning moves no page under either trace.
fn moved(item: &Item, published: &Published, results: &RunResults) -> Claim {
    let moved = results.devices.values().filter_map(|device| Some(device.flash.as_ref()?.programs.cleaning));
    let claim = format!("{}: pages moved by cleaning", published.workload);
    Claim::none(item.name, &claim, moved.sum::<u64>() as f64, "section 4.4: both \"move no pages during cleaning\"")
}

#[cfg(test)]
mod tests {
    use super::super::drives::SPARE_FACTOR;
    use super::*;
    use std::sync::Arc;

    /// The configuration has the figures of the release: 0.2384 us per sector, 15 % spare blocks in each plane.
    #[test]
    fn the_drive_follows_from_the_released_configuration() {
        let link: f64 = 512.0 / 0.2384e-6;
        assert_eq!(LINK.rate.0 as f64, link.round());
        let (blocks, data_pages) = (2048.0 * 64.0, 63.0);
        let host = 0.85 * blocks * data_pages;
        let beyond_reserve = 0.95 * blocks * data_pages;
        assert!((1.0 - host / beyond_reserve - SPARE_FACTOR.as_f64()).abs() < 1e-8);
    }

    #[test]
    fn without_traces_the_published_values_are_unreachable_and_say_which_files_to_give() {
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let claims =
            run(&ITEM, &Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() })
                .unwrap()
                .claims;
        assert_eq!(claims.len(), 4);
        assert!(claims.iter().all(|claim| claim.verdict == crate::ClaimVerdict::Unreachable));
        assert!(claims[3].reason.contains("ssd-postmark-aligned2.trace"), "{}", claims[3].reason);
    }
}
