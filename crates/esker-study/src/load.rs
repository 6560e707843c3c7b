//! Reads traces. Each is read once: it is characterised meanwhile, and kept in compact form for the simulations.

use std::path::PathBuf;

use esker_core::{Nanos, unlikely_rate, words};
use esker_results::profile::Profile;
use esker_sim::{Extent, TraceInput, Traces, Workload, read_trace};
use esker_trace::{Characteriser, CharacteriserSettings, DenseMap, Operation, ReadOptions, Record, TraceReader};

use crate::busy::Stretch;
use crate::{Hooks, StudyError};
use esker_results::study::InputSummary;

/// A trace in memory.
pub(crate) struct LoadedTrace {
    pub(crate) summary: InputSummary,
    /// Names of its files, relative to an experiment in the same folder.
    files: Vec<String>,
    trace: TraceInput,
    /// Whether its requests have times.
    stamped: bool,
}

/// One or several traces as one stream of requests, with their profile.
pub(crate) struct StudyWorkload {
    pub(crate) name: String,
    pub(crate) inputs: Vec<InputSummary>,
    /// All files, as `trace` of an experiment in the same folder.
    pub(crate) files: Vec<String>,
    pub(crate) profile: Profile,
    /// The requests.
    pub(crate) requests: Workload,
    /// Whether the requests of the traces have times, even if all have the same time.
    stamped: bool,
}

/// What is counted while records are read.
struct TraceCounts {
    characteriser: Characteriser,
    extent: Extent,
    /// Requests of zero bytes.
    empty: u64,
}

impl TraceCounts {
    fn new() -> Self {
        let characteriser = Characteriser::new(CharacteriserSettings::default());
        Self { characteriser, extent: Extent::default(), empty: 0 }
    }

    fn add(&mut self, records: &[Record]) {
        self.characteriser.push_all(records);
        for record in records {
            self.extent.add(record);
            self.empty += u64::from(record.length == 0 && record.operation != Operation::Flush);
        }
    }
}

/// Reads one trace. Parsing runs on a thread of its own, characterisation and spooling on this one.
fn read(paths: &[PathBuf], options: &ReadOptions, hooks: &Hooks<'_>) -> Result<(LoadedTrace, TraceCounts), StudyError> {
    let mut reader = TraceReader::open(paths, options)?;
    let file_name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let files = paths.iter().map(|path| file_name(path).unwrap_or_else(|| "-".into())).collect();
    let name = file_name(&paths[0]).unwrap_or_else(|| "standard input".into());
    let name = if name == "-" { "standard input".to_string() } else { name };
    let mut counted = TraceCounts::new();
    let go_on = |reader: &TraceReader| {
        hooks.tell(&format!("reading {}", short(reader)), reader.bytes_read(), reader.bytes_total());
        !hooks.cancelled()
    };
    let mut each = |batch: &mut Vec<Record>| {
        counted.add(batch);
        true
    };
    let trace = read_trace(&name, &mut reader, None, &go_on, &mut each)?;
    hooks.check()?;
    let (extent, has_times) = (&counted.extent, reader.notes().has_times);
    let duration = extent.duration();
    if has_times && duration > Nanos::LAST {
        return Err(StudyError::TooLong { name, years: duration.0 / Nanos::from_secs(365 * 86_400).0 });
    }
    let mut notes = reader.notes().lines();
    if has_times {
        let (requests, volumes) = (reader.notes().records, reader.volumes().len() as u64);
        notes.extend(unlikely_rate(requests, extent.bytes(), duration.as_secs_f64(), volumes));
    }
    if counted.empty > 0 {
        let count = words::count(counted.empty);
        notes.push(format!("Requests of no bytes, which no device can serve, were left out: {count}."));
    }
    let summary = InputSummary {
        name,
        format: reader.format().name.to_string(),
        volumes: reader.volumes().to_vec(),
        requests: reader.notes().records,
        notes,
    };
    Ok((LoadedTrace { summary, files, trace, stamped: has_times }, counted))
}

fn short(reader: &TraceReader) -> &'static str {
    reader.format().name
}

/// Reads one trace as a workload of its own.
pub(crate) fn single(paths: &[PathBuf], options: &ReadOptions, hooks: &Hooks<'_>) -> Result<StudyWorkload, StudyError> {
    let (input, counted) = read(paths, options, hooks)?;
    let name = input.summary.name.clone();
    finish(name, vec![input], |_| counted)
}

/// Reads several traces as one workload. If every trace has absolute times, these are kept; else all traces begin at
/// the same time. [`Traces`] says when volumes of the same name are one volume.
pub(crate) fn together(
    groups: &[Vec<PathBuf>],
    options: &ReadOptions,
    hooks: &Hooks<'_>,
) -> Result<StudyWorkload, StudyError> {
    let mut inputs = Vec::new();
    for paths in groups {
        inputs.push(read(paths, options, hooks)?.0);
    }
    finish("all traces together".into(), inputs, |traces| {
        let mut counted = TraceCounts::new();
        traces.records().for_each(|record| counted.add(&[record]));
        counted
    })
}

/// Makes a workload of `inputs`; `count` counts their combined records.
fn finish(
    name: String,
    inputs: Vec<LoadedTrace>,
    count: impl FnOnce(&Traces) -> TraceCounts,
) -> Result<StudyWorkload, StudyError> {
    let (mut summaries, mut files, mut traces) = (Vec::new(), Vec::new(), Vec::new());
    let stamped = inputs.iter().any(|input| input.stamped);
    for input in inputs {
        summaries.push(input.summary);
        files.extend(input.files);
        traces.push(input.trace);
    }
    let traces = Traces::of(traces);
    // Where a page or a plan lists its traces, it belongs to the first as to any.
    summaries[0].notes.extend(traces.remark().map(str::to_string));
    let TraceCounts { characteriser, extent, .. } = count(&traces);
    let (profile, touched) = characteriser.finish_with_areas(traces.volumes());
    if profile.read_requests + profile.write_requests == 0 {
        return Err(StudyError::NothingToDo { name });
    }
    let requests = Workload::of(traces, extent, &touched);
    Ok(StudyWorkload { name, inputs: summaries, files, profile, requests, stamped })
}

impl StudyWorkload {
    /// Returns the traces.
    pub(crate) fn traces(&self) -> &Traces {
        self.requests.traces().expect("a study is of traces")
    }

    /// Iterates over all requests in order of time, the first near time zero.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.traces().records()
    }

    /// Iterates over the arrival times of all requests, in order, with their bytes.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.records().map(|record| (record.at, u64::from(record.length)))
    }

    /// Returns the bytes per second that a device has to move to keep up with a stretch. It may take a second for a
    /// shorter one: a few requests at once are no reason to rule out a device that serves them a little later.
    pub(crate) fn bytes_per_s(&self, stretch: &Stretch) -> f64 {
        let moved = |record: &Record| matches!(record.operation, Operation::Read | Operation::Write);
        let within = self.records().filter(|record| stretch.contains(record.at) && moved(record));
        let bytes: u64 = within.map(|record| u64::from(record.length)).sum();
        bytes as f64 / stretch.length().as_secs_f64().max(1.0)
    }

    /// Returns the areas that are read or written, packed without gaps.
    pub(crate) fn map(&self) -> &DenseMap {
        self.requests.dense_map().expect("a study is of traces")
    }

    /// Returns true if times are arrival times.
    pub(crate) fn has_times(&self) -> bool {
        self.requests.has_times()
    }

    /// Says why there are no arrival times, as the beginning of a sentence.
    pub(crate) fn why_no_times(&self) -> &'static str {
        if self.stamped { "All requests of the trace have the same time" } else { "The trace has no times" }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    /// A trace in a format with times may have none all the same, such as one converted from a format without times.
    #[test]
    fn times_that_are_all_the_same_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let timed = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
            let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
            let workload = single(&[path], &ReadOptions::default(), &hooks).unwrap();
            (workload.has_times(), workload.why_no_times())
        };
        assert!(timed("timed.spc", "0,8,4096,R,0.5\n0,16,4096,W,0.5\n0,24,4096,R,0.6\n").0);
        let same = "All requests of the trace have the same time";
        assert_eq!(timed("flat.spc", "0,8,4096,R,0.5\n0,16,4096,W,0.5\n0,24,4096,R,0.5\n"), (false, same));
        assert_eq!(timed("zero.spc", "0,8,4096,R,0.0\n0,16,4096,W,0.0\n"), (false, same));
        assert_eq!(timed("none.lis", "8 8 0 0\n16 8 0 1\n"), (false, "The trace has no times"));
    }

    /// Two requests of 4096 bytes in half a millisecond do not ask for 16 MB a second.
    #[test]
    fn a_device_may_take_a_second_for_a_burst() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.spc");
        std::fs::write(&path, "0,8,4096,R,0.5\n0,16,4096,W,0.5005\n").unwrap();
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let workload = single(&[path], &ReadOptions::default(), &hooks).unwrap();
        let rate = |to: Nanos| workload.bytes_per_s(&Stretch { from: Nanos::ZERO, to, requests: 2 });
        assert_eq!([rate(Nanos::from_millis(1)), rate(Nanos::from_secs(2))], [8_192.0, 4_096.0]);
    }
}
