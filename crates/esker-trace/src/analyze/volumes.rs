//! Counts by volume.

use esker_results::profile::VolumeProfile;
use std::collections::BTreeMap;

use esker_core::Nanos;

use super::alignment::Phases;
use super::area_set::AREA_BYTES;
use super::touched::TouchedAreas;
use crate::{Operation, Record};

/// Counts of one volume.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) trims: u64,
    pub(super) flushes: u64,
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) trim_bytes: u64,
    pub(super) sequential: u64,
    phases: Phases,
    last_end: u64,
    lowest: u64,
    highest: u64,
    first: Nanos,
    last: Nanos,
}

impl Counts {
    pub(super) fn requests(&self) -> u64 {
        self.reads + self.writes + self.trims + self.flushes
    }
    /// The number of requests with a range.
    pub(super) fn ranged(&self) -> u64 {
        self.reads + self.writes + self.trims
    }
    pub(super) fn aligned(&self) -> u64 {
        self.phases.aligned()
    }
    pub(super) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.trims += other.trims;
        self.flushes += other.flushes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.trim_bytes += other.trim_bytes;
        self.sequential += other.sequential;
    }
}

#[derive(Debug, Default)]
pub(super) struct Volumes {
    all: Vec<Counts>,
    /// The end of the previous request of any volume.
    last_end: Option<u64>,
    /// Requests that start at that end, see [`super::Profile::sequential_fraction_global`].
    pub(super) sequential_global: u64,
}

impl Volumes {
    #[inline]
    pub(super) fn push(&mut self, record: &Record) {
        let index = record.volume.0 as usize;
        if index >= self.all.len() {
            self.all.resize(index + 1, Counts::default());
        }
        let counts = &mut self.all[index];
        if counts.requests() == 0 {
            counts.first = record.at;
        }
        counts.last = counts.last.max(record.at);
        let length = u64::from(record.length);
        let (seen_before, touched_before) = (counts.ranged() > 0, counts.reads + counts.writes > 0);
        match record.operation {
            Operation::Read => {
                counts.reads += 1;
                counts.read_bytes += length;
            }
            Operation::Write => {
                counts.writes += 1;
                counts.write_bytes += length;
            }
            Operation::Trim => {
                counts.trims += 1;
                counts.trim_bytes += length;
            }
            Operation::Flush => {
                counts.flushes += 1;
                return;
            }
        }
        let end = record.offset.saturating_add(length);
        if record.operation != Operation::Trim {
            counts.lowest = if touched_before { counts.lowest.min(record.offset) } else { record.offset };
            counts.highest = counts.highest.max(end);
        }
        counts.sequential += u64::from(seen_before && record.offset == counts.last_end);
        counts.last_end = end;
        self.sequential_global += u64::from(self.last_end == Some(record.offset));
        self.last_end = Some(end);
        counts.phases.push(record.offset, record.length);
    }

    /// The sum over all volumes, the number of volumes with requests, and the number of aligned requests.
    pub(super) fn totals(&self) -> (Counts, u64, u64) {
        let mut sum = Counts::default();
        let (mut devices, mut aligned) = (0, 0);
        for counts in &self.all {
            sum.add(counts);
            devices += u64::from(counts.requests() > 0);
            aligned += counts.aligned();
        }
        (sum, devices, aligned)
    }

    pub(super) fn finish(&self, touched: &TouchedAreas, names: &[String], start: Nanos) -> Vec<VolumeProfile> {
        let mut pages: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for area in touched.areas() {
            let entry = pages.entry(area.volume).or_default();
            let touched = area.read.iter().zip(&area.written).map(|(read, written)| (read | written).count_ones());
            entry.0 += u64::from(touched.sum::<u32>());
            entry.1 += 1;
        }
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let present = self.all.iter().enumerate().filter(|(_, counts)| counts.requests() > 0);
        present
            .map(|(index, counts)| {
                let (pages_4k, areas) = pages.get(&(index as u32)).copied().unwrap_or_default();
                VolumeProfile {
                    name: names.get(index).cloned().unwrap_or_else(|| index.to_string()),
                    requests: counts.requests(),
                    read_requests: counts.reads,
                    write_requests: counts.writes,
                    read_bytes: counts.read_bytes,
                    write_bytes: counts.write_bytes,
                    mean_size_bytes: share(counts.read_bytes + counts.write_bytes, counts.reads + counts.writes),
                    pages_4k,
                    footprint_bytes: pages_4k * 4096,
                    active_bytes: areas * AREA_BYTES,
                    lowest_byte: counts.lowest,
                    highest_byte: counts.highest,
                    sequential_fraction: share(counts.sequential, counts.ranged()),
                    aligned_4k_fraction: share(counts.aligned(), counts.ranged()),
                    misalignment: counts.phases.misalignment(counts.ranged()),
                    first_s: counts.first.saturating_sub(start).as_secs_f64(),
                    last_s: counts.last.saturating_sub(start).as_secs_f64(),
                }
            })
            .collect()
    }
}
