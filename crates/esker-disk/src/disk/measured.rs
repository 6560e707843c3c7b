//! Counters of a disk.

use esker_core::{Bytes, Nanos};
use esker_results::{DeviceReport, DiskReport, Report};

use super::{Disk, timeline};
use crate::Access;

/// Sums of one arm since measuring started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    since: Nanos,
    now: Nanos,
    requests: u64,
    accesses: u64,
    seeks: u64,
    cylinders: u64,
    seek: u64,
    rotation: u64,
    transfer: u64,
    /// When the latest access ends, and how long it keeps the arm.
    latest: (Nanos, Nanos),
}

impl Measured {
    /// Creates counters that are zero and count from `now` on.
    pub(super) fn since(now: Nanos) -> Self {
        Self { since: now, now, ..Self::default() }
    }

    /// Advances the end of the measured time to `now`.
    #[inline]
    pub(super) fn clock(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Counts a completed request.
    #[inline]
    pub(super) fn request(&mut self) {
        self.requests += 1;
    }

    /// Counts an access that ends at `ends`.
    #[inline]
    pub(super) fn access(&mut self, access: &Access, ends: Nanos) {
        self.latest = (ends, access.total());
        self.accesses += 1;
        self.seeks += u64::from(access.cylinders > 0);
        self.cylinders += u64::from(access.cylinders);
        self.seek += access.seek.0;
        self.rotation += access.rotation.0;
        self.transfer += access.transfer.0;
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns the busy time of the arm. An access under way counts in full.
    pub(super) fn busy(&self) -> Nanos {
        Nanos(self.seek + self.rotation + self.transfer)
    }

    /// Returns the busy share of the arm until `now`. Of an access under way, only what has been done counts.
    fn utilisation(&self, now: Nanos) -> f64 {
        let elapsed = now.saturating_sub(self.since).as_secs_f64();
        let (ends, takes) = self.latest;
        let busy = self.busy() - ends.saturating_sub(now).min(takes);
        if elapsed > 0.0 { busy.as_secs_f64() / elapsed } else { 0.0 }
    }
}

/// Returns the results of a disk with these arms, which served `requests` requests of the host, for `report`.
pub(crate) fn report_of(capacity: Bytes, requests: u64, arms: &[&Disk], report: &Report) -> DeviceReport {
    // The clock of an arm that has received no request may lag behind.
    let now = report.end(arms.iter().map(|arm| arm.measured.now).max().unwrap_or_default());
    let sum = |part: fn(&Measured) -> u64| arms.iter().map(|arm| part(&arm.measured)).sum::<u64>();
    let accesses = sum(|arm| arm.accesses);
    let per_access = |sum: u64| if accesses == 0 { 0.0 } else { sum as f64 / accesses as f64 };
    let utilisations = || arms.iter().map(|arm| arm.measured.utilisation(now));
    let busiest = utilisations().fold(0.0, f64::max);
    let mean = utilisations().sum::<f64>() / arms.len() as f64;
    let powers = arms.iter().filter_map(|arm| Some(arm.spindle.as_ref()?.report(now)));
    let disk = DiskReport {
        seeks: sum(|arm| arm.seeks),
        mean_seek_us: per_access(sum(|arm| arm.seek)) / 1e3,
        mean_rotation_us: per_access(sum(|arm| arm.rotation)) / 1e3,
        mean_transfer_us: per_access(sum(|arm| arm.transfer)) / 1e3,
        mean_seek_cylinders: per_access(sum(|arm| arm.cylinders)),
        power: powers.reduce(|one, other| one.plus(&other)),
        shingled: None,
        timeline: timeline::report_of(arms),
    };
    DeviceReport {
        kind: "hdd".to_string(),
        capacity_bytes: capacity.0,
        requests,
        utilisation: [("arm".to_string(), mean)].into(),
        utilisation_busiest: [("arm".to_string(), busiest)].into(),
        disk: Some(disk),
        ..DeviceReport::default()
    }
}
