//! Reads trace files into memory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use esker_config::ConfigError;
use esker_trace::{
    Filter, Filtered, ReadNotes, ReadOptions, Record, SpoolWriter, TouchedAreas, TraceError, TraceReader, group_inputs,
};

use super::input::TraceInput;
use super::together::{Extent, Traces};
use crate::config::WorkloadSettings;
use crate::run_error::RunError;
use esker_core::{Nanos, Problem};

/// Most batches that wait between the two threads.
const BATCHES_WAITING: usize = 8;

/// Reads a trace and keeps its records. Parsing and `filter` run on a thread of their own. Meanwhile `each` gets every
/// batch: the records it leaves there are kept, and reading goes on while it returns true. `go_on` is called after each
/// batch was parsed; if it returns false, reading ends as at the end of the trace.
pub fn read_trace(
    name: &str,
    reader: &mut TraceReader,
    filter: Option<&mut Filter>,
    go_on: &(dyn Fn(&TraceReader) -> bool + Sync),
    each: &mut dyn FnMut(&mut Vec<Record>) -> bool,
) -> Result<TraceInput, TraceError> {
    let mut spool = SpoolWriter::default();
    let (batches, parsed) = sync_channel::<Batch>(BATCHES_WAITING);
    let (used, empties) = channel::<Vec<Record>>();
    let (volumes, notes) = std::thread::scope(|scope| {
        let parsing = &mut *reader;
        let parser = scope.spawn(move || parse(parsing, filter, go_on, &batches, &empties));
        for Batch { mut records, volumes, notes } in parsed {
            let more = each(&mut records);
            records.iter().try_for_each(|record| spool.push(record))?;
            if !more {
                // An error that the parser met further on does not matter.
                return Ok((volumes, notes));
            }
            let _ = used.send(records);
        }
        parser.join().expect("the parser does not panic")
    })?;
    let notes = notes.lines_without_responses();
    let spool = spool.finish(reader.volumes()[..volumes].to_vec())?;
    let has_times = reader.notes().has_times;
    let first = spool.times().map_or(Nanos::ZERO, |(first, _)| first);
    let absolute = reader.format().build.are_absolute(first);
    Ok(TraceInput { name: name.to_string(), spool, has_times, absolute, notes })
}

/// Records, with the number of volumes and the notes after parsing them: the parser may be further on when they are
/// the last ones.
struct Batch {
    records: Vec<Record>,
    volumes: usize,
    notes: ReadNotes,
}

/// Sends all batches. Returns the number of volumes, and the notes.
fn parse(
    reader: &mut TraceReader,
    mut filter: Option<&mut Filter>,
    go_on: &(dyn Fn(&TraceReader) -> bool + Sync),
    batches: &SyncSender<Batch>,
    empties: &Receiver<Vec<Record>>,
) -> Result<(usize, ReadNotes), TraceError> {
    let mut ended = false;
    while !ended {
        let mut records = empties.try_recv().unwrap_or_default();
        if !reader.next_batch(&mut records)? || !go_on(reader) {
            break;
        }
        if let Some(filter) = &mut filter {
            let mut kept = Vec::with_capacity(records.len());
            for record in &records {
                match filter.apply(record, reader.volumes()) {
                    Filtered::Keep(record) => kept.push(record),
                    Filtered::Drop => {}
                    Filtered::End => {
                        ended = true;
                        break;
                    }
                }
            }
            records = kept;
        }
        let (volumes, notes) = (reader.volumes().len(), reader.notes().clone());
        if batches.send(Batch { records, volumes, notes }).is_err() {
            break;
        }
    }
    Ok((reader.volumes().len(), reader.notes().clone()))
}

/// The traces read, with their extent.
pub(super) struct Collected {
    pub(super) traces: Traces,
    pub(super) extent: Extent,
    pub(super) touched: TouchedAreas,
}

/// Reads the traces in `settings`, as far as `head` needs.
pub(super) fn read(settings: &WorkloadSettings, folder: &Path, cancel: &AtomicBool) -> Result<Collected, RunError> {
    let paths = settings.paths(folder);
    match group_inputs(&paths).as_slice() {
        [only] => read_one(settings, only, cancel),
        several => read_several(settings, several, cancel),
    }
}

impl WorkloadSettings {
    fn read_options(&self) -> ReadOptions {
        let defaults = ReadOptions::default();
        ReadOptions {
            format: self.format.clone(),
            lenient: self.lenient,
            reorder_time: self.reorder.unwrap_or(defaults.reorder_time),
            reorder_records: match self.reorder_records {
                Some(records) => usize::try_from(records).unwrap_or(usize::MAX),
                None => defaults.reorder_records,
            },
        }
    }
}

fn read_one(settings: &WorkloadSettings, paths: &[PathBuf], cancel: &AtomicBool) -> Result<Collected, RunError> {
    let mut reader = TraceReader::open(paths, &settings.read_options())?;
    let fault = |error: &dyn std::error::Error| ConfigError::new("workload.filter", Problem::new(error.to_string()));
    let mut filter = settings.filter.clone().map(Filter::new).transpose().map_err(|error| fault(&error))?;
    let (mut extent, mut touched) = (Extent::default(), TouchedAreas::default());
    let head = settings.head.unwrap_or(u64::MAX);
    let mut each = |batch: &mut Vec<Record>| {
        batch.truncate(usize::try_from(head - extent.records()).unwrap_or(usize::MAX));
        for record in &*batch {
            extent.add(record);
            touched.add(record);
        }
        extent.records() < head
    };
    let input = read_trace("", &mut reader, filter.as_mut(), &|_| !cancelled(cancel), &mut each)?;
    check(cancel)?;
    // Before the end of the trace that `head` sets, there is no telling which volumes it has.
    if let Some(filter) = filter.filter(|_| extent.records() < head) {
        filter.check_volumes(input.spool.volumes()).map_err(|error| fault(&error))?;
    }
    Ok(Collected { traces: Traces::of([input]), extent, touched })
}

fn read_several(
    settings: &WorkloadSettings,
    groups: &[Vec<PathBuf>],
    cancel: &AtomicBool,
) -> Result<Collected, RunError> {
    if settings.filter.is_some() {
        let message = "it goes with a single trace, and `trace` names several";
        let problem = Problem::with_hint(message, "write what is wanted of each to a file with `esker trace filter`");
        return Err(ConfigError::new("workload.filter", problem).into());
    }
    let mut inputs = Vec::new();
    for paths in groups {
        let mut reader = TraceReader::open(paths, &settings.read_options())?;
        let name = paths[0].file_name().unwrap_or_default().to_string_lossy();
        inputs.push(read_trace(&name, &mut reader, None, &|_| !cancelled(cancel), &mut |_| true)?);
        check(cancel)?;
    }
    let traces = Traces::of(inputs);
    let (mut extent, mut touched) = (Extent::default(), TouchedAreas::default());
    for record in traces.records().take(usize::try_from(settings.head.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)) {
        extent.add(&record);
        touched.add(&record);
    }
    check(cancel)?;
    Ok(Collected { traces, extent, touched })
}

fn cancelled(cancel: &AtomicBool) -> bool {
    cancel.load(Ordering::Relaxed)
}

fn check(cancel: &AtomicBool) -> Result<(), RunError> {
    if cancelled(cancel) { Err(RunError::Cancelled) } else { Ok(()) }
}
