//! The loads: traces, each repeated until a run has enough requests, and one that is made up.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use esker_core::{Bytes, Nanos, Ratio, RequestKind, Rng};
use esker_sim::{BeyondCapacity, ConfigError, Workload, WorkloadSettings};
use esker_trace::{Operation, PieceKind, PieceSettings, Record, SizePattern, SyntheticSettings, VolumeIndex};

use crate::traces::{CLOUDPHYSICS, DTRS, FINANCIAL1, MAYUN2, POSTMARK, PaperTrace, SAMPLE, workload};
use crate::{Context, Item, ReproduceError};

/// A load of the tournament.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) name: &'static str,
    /// Its trace; without one it is made up.
    trace: Option<&'static PaperTrace>,
    /// Whether all addresses move on by half of what it touches, in the middle of the measured requests.
    shifts: bool,
    /// Whether it is kept from whoever changes a policy: it is judged, and no default may be chosen by it.
    held_back: bool,
}

const fn traced(name: &'static str, trace: &'static PaperTrace) -> Load {
    Load { name, trace: Some(trace), shifts: false, held_back: false }
}

/// All loads.
pub(super) const LOADS: [Load; 7] = [
    traced("CloudPhysics", &CLOUDPHYSICS),
    Load { held_back: true, ..traced("DTRS", &DTRS) },
    traced("mayun2", &MAYUN2),
    Load { held_back: true, ..traced("Postmark", &POSTMARK) },
    traced("sample", &SAMPLE),
    traced("Financial1", &FINANCIAL1),
    SHIFTING,
];

/// Nine of ten requests go to a tenth of the data, in areas of 1 MiB, and to another tenth from the middle on.
pub(super) const SHIFTING: Load = Load { name: "shifting", trace: None, shifts: true, held_back: false };

/// Where the sample lies in a copy of the repository, for those who run there.
const SAMPLES: &str = "samples";

/// Mean time between requests before the rate of a run is known. Runs scale it.
pub(super) const MEAN_GAP: Nanos = Nanos::from_millis(1);

/// The requests of a load, at addresses without gaps.
#[derive(Debug)]
pub(super) struct Requests {
    records: Vec<Record>,
    /// Bytes that they touch, in areas of 1 MiB.
    pub(super) touched: Bytes,
}

impl Load {
    /// Its name in tables.
    pub(super) fn title(&self) -> String {
        if self.held_back { format!("{} (held back)", self.name) } else { self.name.to_string() }
    }

    /// Returns the file of its trace, nothing if it is made up, or why it cannot be run.
    pub(super) fn find(&self, context: &Context<'_>) -> Result<Option<PathBuf>, String> {
        let Some(trace) = self.trace else { return Ok(None) };
        let here = || trace.names.iter().map(|name| Path::new(SAMPLES).join(name)).find(|path| path.is_file());
        trace.find(context).or_else(|missing| here().ok_or(missing)).map(Some)
    }

    /// Reads its first `count` requests, or makes them up on `made_up` bytes.
    pub(super) fn read(
        &self,
        item: &Item,
        context: &Context<'_>,
        file: Option<&Path>,
        (count, made_up): (u64, Bytes),
    ) -> Result<Requests, ReproduceError> {
        let settings = match file {
            Some(file) => WorkloadSettings { head: Some(count), ..workload(file) },
            None => WorkloadSettings { synthetic: Some(hot_areas(count, made_up)), ..WorkloadSettings::default() },
        };
        let settings = WorkloadSettings { beyond_capacity: BeyondCapacity::Dense, ..settings };
        let opened = Workload::open(&settings, Path::new(""), context.seed, context.cancel);
        let opened = opened.map_err(|fault| ReproduceError::of(item, fault))?;
        let touched = opened.dense_map().map_or(made_up, |map| Bytes(map.end()));
        let left_out = Cell::default();
        let arrivals = opened.arrivals(touched, &settings, &left_out);
        let arrivals = arrivals.map_err(|fault| ReproduceError::of(item, ConfigError::from(fault)))?;
        // Trims and flushes are left out: few formats of traces have them.
        let records = arrivals.filter(|arrival| arrival.request.kind.has_data()).map(|arrival| {
            let read = arrival.request.kind == RequestKind::Read;
            Record {
                at: Nanos::ZERO,
                offset: arrival.request.start.byte_offset(),
                length: arrival.request.length.0 as u32,
                volume: VolumeIndex(0),
                operation: if read { Operation::Read } else { Operation::Write },
                response: None,
            }
        });
        Ok(Requests { records: records.collect(), touched })
    }

    /// Makes a workload of `count` requests: `requests` again and again, with Poisson arrivals that `seed` draws.
    pub(super) fn workload(&self, requests: &Requests, count: u64, seed: u64) -> Result<Workload, esker_sim::RunError> {
        let mut rng = Rng::derive(seed, "arrivals");
        let (touched, mut now) = (requests.touched.0, 0.0);
        let records = requests.records.iter().cycle().zip(0..count).map(move |(record, index)| {
            now += rng.exponential(MEAN_GAP.0 as f64);
            let has_shifted = self.shifts && index >= count - count / 4;
            let offset = if has_shifted { shifted(record, touched) } else { record.offset };
            Record { at: Nanos(now as u64), offset, ..*record }
        });
        Workload::from_records(records, vec![self.name.to_string()])
    }
}

/// The address of `record` after a shift by half of `touched` bytes. What would cross the end is moved down to end
/// there.
fn shifted(record: &Record, touched: u64) -> u64 {
    let half = touched / 2 / Bytes::SECTOR.0 * Bytes::SECTOR.0;
    let offset = record.offset + half;
    let offset = if offset >= touched { offset - touched } else { offset };
    offset.min(touched - u64::from(record.length))
}

/// Requests of 8 KiB, 70 % of them reads.
fn hot_areas(requests: u64, footprint: Bytes) -> SyntheticSettings {
    let hot = PieceKind { pieces: 1, reads: 9, writes: 9 };
    let cold = PieceKind { pieces: 9, reads: 1, writes: 1 };
    SyntheticSettings {
        read_fraction: Ratio::percent(70),
        size: SizePattern::Fixed(Bytes::kib(8)),
        pieces: Some(PieceSettings { size: Bytes::mib(1), kinds: vec![hot, cold] }),
        footprint: Some(footprint),
        ..SyntheticSettings::new(requests)
    }
}
