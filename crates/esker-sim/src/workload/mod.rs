//! Workloads: records of traces or of a generator, turned into arrivals within the target's capacity. There is no other
//! way from a record to requests.

mod address;
mod arrivals;
mod input;
mod marks;
mod one_system;
mod passes;
mod processes;
mod read;
mod together;

use std::cell::Cell;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use esker_config::ConfigError;
use esker_core::{Arrival, Bytes, Hint, Nanos, Ratio, unlikely_rate};
use esker_results::LeftOut;
use esker_trace::{DenseMap, Record, Spool, Synthesiser, SyntheticSettings, TouchedAreas};
use thiserror::Error;

use crate::config::WorkloadSettings;
use crate::run_error::RunError;
use address::{AddressSpace, Addresses};
use arrivals::{Arrivals, Records, shifted_record};
use esker_core::Problem;
use marks::Marks;
use passes::Passes;
use read::Collected;

pub use input::TraceInput;
pub use read::read_trace;
pub use together::{Extent, TraceRecords, Traces};

/// An open workload. Any number of runs may replay it, on several threads at once.
#[derive(Debug)]
pub struct Workload {
    source: Source,
    marks: Marks,
    /// Only this many requests are used.
    head: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Recorded(Box<Recorded>),
    Synthetic { settings: Box<SyntheticSettings>, seed: u64 },
}

#[derive(Clone, Debug)]
struct Recorded {
    traces: Arc<Traces>,
    extent: Extent,
    /// The volumes in one address space: side by side in order of appearance, each at a multiple of 1 MiB.
    space: AddressSpace,
    /// The areas that are read or written, packed without gaps.
    map: DenseMap,
    /// Number of passes through the records.
    passes: u32,
    /// Bytes added to the addresses of each volume; empty for addresses as traced.
    shifts: Vec<u64>,
}

/// Why a workload does not fit a target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct WorkloadError {
    /// The key of `[workload]` that the error is about.
    pub key: &'static str,
    /// What does not fit together.
    pub message: String,
    /// What would work instead.
    pub hint: Option<String>,
}

impl From<WorkloadError> for ConfigError {
    fn from(error: WorkloadError) -> Self {
        let WorkloadError { key, message, hint } = error;
        Self::new(format!("workload.{key}"), Problem::Other { message, hint })
    }
}

impl Workload {
    /// Reads the traces in `settings`, relative to `folder`, or prepares synthetic requests with `seed`. Set `cancel`
    /// to stop early with [`RunError::Cancelled`].
    pub fn open(settings: &WorkloadSettings, folder: &Path, seed: u64, cancel: &AtomicBool) -> Result<Self, RunError> {
        if let Some(synthetic) = &settings.synthetic {
            let source = Source::Synthetic { settings: Box::new(synthetic.clone()), seed };
            let marks = Marks::new(settings, &[]).map_err(ConfigError::from)?;
            return Ok(Self { source, marks, head: settings.head.unwrap_or(u64::MAX).min(synthetic.requests) });
        }
        let Collected { traces, extent, touched } = read::read(settings, folder, cancel)?;
        let marks = Marks::new(settings, traces.volumes()).map_err(ConfigError::from)?;
        let workload = Self { marks, ..Self::recorded(traces, extent, &touched, settings.passes) };
        if workload.is_empty() {
            let message = "no request of the trace is left to replay";
            let notes = workload.traces().map_or(&[][..], Traces::notes);
            let problem = match notes.is_empty() {
                true => Problem::new(message),
                false => Problem::with_hint(message, notes.join("; ")),
            };
            return Err(ConfigError::new("workload.trace", problem).into());
        }
        Ok(workload)
    }

    /// A workload of traces that were read. `extent` was counted over their records, and `touched` has their areas.
    pub fn of(traces: Traces, extent: Extent, touched: &TouchedAreas) -> Self {
        Self::recorded(traces, extent, touched, None)
    }

    fn recorded(traces: Traces, extent: Extent, touched: &TouchedAreas, passes: Option<NonZeroU32>) -> Self {
        let (space, map) = (AddressSpace::new(extent.ends()), DenseMap::new(touched));
        let passes = passes.map_or(1, NonZeroU32::get);
        let traces = Arc::new(traces);
        let source = Source::Recorded(Box::new(Recorded { traces, extent, space, map, passes, shifts: Vec::new() }));
        Self { source, marks: Marks::default(), head: u64::MAX }
    }

    /// A workload of given records in order of time.
    pub fn from_records(records: impl IntoIterator<Item = Record>, volumes: Vec<String>) -> Result<Self, RunError> {
        let (mut extent, mut touched) = (Extent::default(), TouchedAreas::default());
        let counted = records.into_iter().inspect(|record| {
            extent.add(record);
            touched.add(record);
        });
        let spool = Spool::from_records(counted, volumes)?;
        let has_times = extent.duration() > Nanos::ZERO;
        let input = TraceInput { name: String::new(), spool, has_times, absolute: false, notes: Vec::new() };
        Ok(Self::of(Traces::of([input]), extent, &touched))
    }

    /// Returns those of its records that arrive when `within` says so, at the places and times that they have among the
    /// others; `None` if it is synthetic.
    pub fn part(&self, within: impl Fn(Nanos) -> bool) -> Result<Option<Self>, RunError> {
        let Source::Recorded(recorded) = &self.source else { return Ok(None) };
        let traces = Arc::new(recorded.traces.part(&within)?);
        let part = Recorded { extent: recorded.extent.of_part(&traces), traces, passes: 1, ..(**recorded).clone() };
        Ok(Some(Self { source: Source::Recorded(Box::new(part)), marks: self.marks.clone(), head: self.head }))
    }

    /// Returns the same workload without what comes after its first `requests` requests.
    pub fn first(&self, requests: u64) -> Self {
        Self { source: self.source.clone(), marks: self.marks.clone(), head: self.head.min(requests) }
    }

    /// Returns the same workload at other addresses: `shifts` has the bytes that are added to the addresses of each
    /// volume. `None` if it is synthetic. Both workloads share the records.
    pub fn shifted(&self, shifts: Vec<u64>) -> Option<Self> {
        let Source::Recorded(recorded) = &self.source else { return None };
        let (mut extent, mut touched) = (Extent::default(), TouchedAreas::default());
        for record in recorded.traces.records().map(|record| shifted_record(&record, &shifts)) {
            extent.add(&record);
            touched.add(&record);
        }
        let (space, map) = (AddressSpace::new(extent.ends()), DenseMap::new(&touched));
        let shifted = Recorded { extent, space, map, shifts, ..(**recorded).clone() };
        Some(Self { source: Source::Recorded(Box::new(shifted)), marks: self.marks.clone(), head: self.head })
    }

    /// Returns its traces; `None` if it is synthetic.
    pub fn traces(&self) -> Option<&Traces> {
        match &self.source {
            Source::Recorded(recorded) => Some(&recorded.traces),
            Source::Synthetic { .. } => None,
        }
    }

    /// Returns the areas that its traces read or write, packed without gaps.
    pub fn dense_map(&self) -> Option<&DenseMap> {
        match &self.source {
            Source::Recorded(recorded) => Some(&recorded.map),
            Source::Synthetic { .. } => None,
        }
    }

    /// Returns the number of requests.
    pub fn len(&self) -> u64 {
        match &self.source {
            Source::Recorded(recorded) => (recorded.extent.records() * u64::from(recorded.passes)).min(self.head),
            Source::Synthetic { .. } => self.head,
        }
    }

    /// Returns true if there are no requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if requests have arrival times. Without them only closed-loop replay makes sense.
    pub fn has_times(&self) -> bool {
        match &self.source {
            Source::Recorded(recorded) => recorded.traces.has_times(),
            Source::Synthetic { settings, .. } => settings.arrivals.is_some(),
        }
    }

    /// Returns a remark if requests, with times multiplied by `time_scale`, come faster than any machine could send
    /// them.
    pub(crate) fn unlikely_rate(&self, time_scale: Ratio) -> Option<String> {
        match &self.source {
            Source::Recorded(recorded) if recorded.traces.has_times() => {
                let extent = &recorded.extent;
                let duration = scaled(extent.duration(), time_scale).as_secs_f64();
                let volumes = recorded.traces.volumes().len() as u64;
                unlikely_rate(extent.records(), extent.bytes(), duration, volumes)
            }
            _ => None,
        }
    }

    /// Returns the arrivals on a target of `capacity`, from time zero on, as `settings` lay them out. Counts in
    /// `left_out` what does not reach the target as a whole, while arrivals are taken.
    pub fn arrivals<'a>(
        &'a self,
        capacity: Bytes,
        settings: &WorkloadSettings,
        left_out: &'a Cell<LeftOut>,
    ) -> Result<impl Iterator<Item = Arrival> + use<'a>, WorkloadError> {
        let WorkloadSettings { beyond_capacity, spread_over, .. } = *settings;
        let time_scale = settings.time_scale();
        let capacity = Bytes(capacity.0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        let (records, addresses, shifts) = match &self.source {
            Source::Recorded(recorded) => {
                let Recorded { traces, extent, space, map, passes, shifts } = &**recorded;
                let records = Passes::new(traces, extent, *passes, time_scale)?;
                let spread_over = spread_over.map_or(capacity, |over| over.min(capacity));
                let addresses = Addresses::new(space, map, beyond_capacity, (capacity, spread_over))?;
                (Records::Recorded(Box::new(records)), addresses, &shifts[..])
            }
            Source::Synthetic { settings, seed } => {
                let records = synthesiser(settings, capacity, *seed)?;
                (Records::Synthetic(Box::new(records)), Addresses::AsTheyAre, &[][..])
            }
        };
        let records = records.take(usize::try_from(self.head).unwrap_or(usize::MAX));
        let marks = &self.marks;
        Ok(Arrivals { records, shifts, time_scale, addresses, capacity, marks, left_out, rest: None })
    }
}

/// Prepares the requests of synthetic `settings` for a target of `capacity`.
fn synthesiser(settings: &SyntheticSettings, capacity: Bytes, seed: u64) -> Result<Synthesiser, WorkloadError> {
    Synthesiser::new(settings, capacity, seed).map_err(|error| WorkloadError {
        key: "synthetic",
        message: error.to_string(),
        hint: error.hint(),
    })
}

/// Returns `at` with arrival times multiplied by `scale`.
pub fn scaled(at: Nanos, scale: Ratio) -> Nanos {
    if scale == Ratio::ONE { at } else { Nanos(scale.of(at.0)) }
}

#[cfg(test)]
mod tests {
    use esker_core::{Lba, RequestKind};
    use esker_trace::{Operation, VolumeIndex};

    use crate::config::BeyondCapacity;

    use super::*;

    fn record(operation: Operation, offset: u64, length: u32) -> Record {
        Record { at: Nanos(7), offset, length, volume: VolumeIndex(0), operation, response: None }
    }

    fn arrivals(
        records: &[Record],
        capacity: Bytes,
        settings: &WorkloadSettings,
    ) -> Vec<(Nanos, RequestKind, Lba, Bytes)> {
        of_workload(&Workload::from_records(records.iter().copied(), vec!["0".into()]).unwrap(), capacity, settings)
    }

    fn of_workload(
        workload: &Workload,
        capacity: Bytes,
        settings: &WorkloadSettings,
    ) -> Vec<(Nanos, RequestKind, Lba, Bytes)> {
        let left_out = Cell::default();
        let arrivals = workload.arrivals(capacity, settings, &left_out).unwrap();
        arrivals.map(|Arrival { at, request }| (at, request.kind, request.start, request.length)).collect()
    }

    fn laid(beyond_capacity: BeyondCapacity, spread_over: Option<Bytes>) -> WorkloadSettings {
        WorkloadSettings { beyond_capacity, spread_over, ..WorkloadSettings::default() }
    }

    #[test]
    fn addresses_become_dense_and_sectors_whole() {
        let records = [
            record(Operation::Write, (900 << 20) + 700, 100),
            record(Operation::Trim, 0, 4096),
            record(Operation::Trim, 899 << 20, 2 << 20),
            record(Operation::Trim, (900 << 20) + 100, 1500),
            Record { at: Nanos(9), ..record(Operation::Read, 5 << 30, 0) },
        ];
        let expected = [
            (Nanos(0), RequestKind::Write { fua: false }, Lba(1), Bytes(512)),
            (Nanos(0), RequestKind::Trim, Lba(0), Bytes::mib(1)),
            (Nanos(0), RequestKind::Trim, Lba(1), Bytes(1024)),
        ];
        assert_eq!(arrivals(&records, Bytes::mib(1), &laid(BeyondCapacity::Dense, None)), expected);
    }

    /// Spread over as much as they span, addresses are those of the trace from the lowest on; over twice the gaps, the
    /// distances are twice as long. A target with less room than is asked for is all that there is.
    #[test]
    fn spread_addresses_keep_their_distances() {
        let at = |mib: u64| record(Operation::Read, mib << 20, 4096);
        let starts = |capacity: Bytes, spread_over: Option<Bytes>| -> Vec<u64> {
            let settings = laid(BeyondCapacity::Spread, spread_over);
            let records = [at(100), at(110), at(130)];
            arrivals(&records, capacity, &settings).iter().map(|(_, _, start, _)| start.byte_offset() >> 20).collect()
        };
        assert_eq!(starts(Bytes::gib(1), Some(Bytes::mib(31))), [0, 10, 30]);
        assert_eq!(starts(Bytes::gib(1), Some(Bytes::mib(59))), [0, 19, 58]);
        assert_eq!(starts(Bytes::mib(59), Some(Bytes::gib(1))), [0, 19, 58]);
        assert_eq!(starts(Bytes::mib(59), None), [0, 19, 58]);
        assert_eq!(starts(Bytes::gib(1), Some(Bytes::ZERO)), [0, 1, 2]);
    }

    /// A shift is applied before anything else: shifted areas do not share addresses.
    #[test]
    fn shifted_addresses_have_places_of_their_own() {
        let records = [record(Operation::Write, (4 << 20) - 512, 1024), record(Operation::Read, 9 << 20, 512)];
        let starts = |shifts: &[u64], capacity| -> Vec<u64> {
            let workload = Workload::from_records(records, vec!["0".into()]).unwrap();
            let shifted = workload.shifted(shifts.to_vec()).unwrap();
            let arrivals = of_workload(&shifted, capacity, &laid(BeyondCapacity::Dense, None));
            arrivals.iter().map(|(_, _, start, _)| start.0).collect()
        };
        assert_eq!(starts(&[], Bytes::mib(3)), [2047, 4096]);
        assert_eq!(starts(&[512], Bytes::mib(2)), [0, 2049]);
    }

    #[test]
    fn a_part_has_the_requests_of_the_whole_that_arrive_within_it() {
        let records: Vec<Record> = (0..50u64)
            .map(|n| Record { at: Nanos(100 + n * 10), ..record(Operation::Write, (n * 37 % 50) << 30, 4096) })
            .collect();
        let whole = Workload::from_records(records, vec!["0".into()]).unwrap();
        let within = |at: Nanos| at < Nanos(40) || at > Nanos(300);
        let part = whole.part(within).unwrap().unwrap();
        let arrivals = |workload: &Workload| -> Vec<(Nanos, Lba)> {
            let left_out = Cell::default();
            let arrivals = workload.arrivals(Bytes::gib(1), &laid(BeyondCapacity::Dense, None), &left_out).unwrap();
            arrivals.map(|Arrival { at, request }| (at, request.start)).collect()
        };
        let expected: Vec<(Nanos, Lba)> = arrivals(&whole).into_iter().filter(|(at, _)| within(*at)).collect();
        assert_eq!((part.len(), arrivals(&part)), (23, expected));
    }

    #[test]
    fn a_workload_that_does_not_fit_is_refused_with_the_key() {
        let records = [record(Operation::Write, 4 << 20, 512)];
        let workload = Workload::from_records(records, vec!["0".into()]).unwrap();
        let left_out = Cell::default();
        let error = workload.arrivals(Bytes::mib(1), &WorkloadSettings::default(), &left_out).err().unwrap();
        assert_eq!(error.key, "beyond_capacity");
        assert_eq!(ConfigError::from(error).key, "workload.beyond_capacity");
    }
}
