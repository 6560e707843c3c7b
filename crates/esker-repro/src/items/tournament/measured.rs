//! What a run measured.

use esker_results::RunResults;

use super::pairs::{Pair, VOLUME};

/// What one run measured, without its warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) requests_per_s: f64,
    pub(super) mean_ms: f64,
    pub(super) p99_ms: f64,
    /// Bytes of the host's requests.
    pub(super) host_bytes: f64,
    /// Bytes that moves, fills and copies back wrote to either device.
    pub(super) moved_bytes: f64,
    /// Bytes programmed into each device that is flash, cleaning included: the fast one first.
    pub(super) programmed_bytes: Vec<f64>,
    /// Shortest life of a device that is flash, in years; `None` if nothing was erased.
    pub(super) life_years: Option<f64>,
}

impl Measured {
    /// Bytes written to all devices that are flash.
    pub(super) fn flash_bytes(&self) -> f64 {
        self.programmed_bytes.iter().sum()
    }

    pub(super) fn of(results: &RunResults, pair: &Pair) -> Self {
        let volume = &results.devices[VOLUME];
        let moved = volume.placement.as_ref().map_or(0, |placement| placement.moved_bytes + placement.mirrored_bytes);
        let copied = volume.flash_cache.as_ref().map_or(0, |cache| cache.filled_bytes + cache.copied_back_bytes);
        let flash = pair.flash().into_iter().filter_map(|(device, _)| {
            let report = results.devices.get(device)?.flash.as_ref()?;
            Some((report, pair.page_bytes(device)?))
        });
        let flash: Vec<_> = flash.collect();
        let lives = flash.iter().filter_map(|(report, _)| report.projected_lifetime_years);
        Self {
            requests_per_s: results.throughput.requests_per_s,
            mean_ms: results.requests.all.response_time.mean_us / 1e3,
            p99_ms: results.requests.all.response_time.p99_us / 1e3,
            host_bytes: (results.workload.read_bytes + results.workload.write_bytes) as f64,
            moved_bytes: (moved + copied) as f64,
            programmed_bytes: flash.iter().map(|(report, page)| (report.programs.total() * page) as f64).collect(),
            life_years: lives.min_by(f64::total_cmp),
        }
    }
}
