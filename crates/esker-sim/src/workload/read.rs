//! From an experiment's traces to records.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::Nanos;
use esker_trace::{Filter, Filtered, ReadOptions, Record, Spool, SpoolWriter, TraceReader, group_inputs};

use super::Collector;
use super::together::{Together, places, volume_names};
use crate::config::{ConfigError, Experiment, Problem, WorkloadSettings};
use crate::run_error::RunError;

/// What was read.
pub(super) struct Collected {
    pub(super) collector: Collector,
    pub(super) volumes: Vec<String>,
    /// Whether every trace has times.
    pub(super) has_times: bool,
}

/// Reads the traces of `experiment`, as far as its `head` asks for.
pub(super) fn read(experiment: &Experiment, cancel: &AtomicBool) -> Result<Collected, RunError> {
    let settings = &experiment.workload;
    let trace = settings.trace.as_ref().expect("a workload without a source was refused when it was read");
    let paths: Vec<PathBuf> = trace.as_slice().iter().map(|name| experiment.path_of(name)).collect();
    let groups = group_inputs(&paths);
    match groups.as_slice() {
        [only] => read_one(experiment, only, cancel),
        several => read_together(experiment, several, cancel),
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

fn read_one(experiment: &Experiment, paths: &[PathBuf], cancel: &AtomicBool) -> Result<Collected, RunError> {
    let settings = &experiment.workload;
    let mut reader = TraceReader::open(paths, &settings.read_options())?;
    let fault = |error: &dyn std::error::Error| {
        experiment.located(ConfigError::new("workload.filter", Problem::new(error.to_string())))
    };
    let filter = settings.filter.clone().unwrap_or_default();
    let mut filter = Filter::new(filter).map_err(|error| fault(&error))?;
    let mut collector = Collector::default();
    let mut batch = Vec::new();
    'reading: while reader.next_batch(&mut batch)? {
        check(cancel)?;
        for record in &batch {
            if settings.head.is_some_and(|head| collector.records >= head) {
                break 'reading;
            }
            match filter.apply(record, reader.volumes()) {
                Filtered::Keep(record) => collector.push(&record)?,
                Filtered::Drop => {}
                Filtered::End => break 'reading,
            }
        }
    }
    filter.check_volumes(reader.volumes()).map_err(|error| fault(&error))?;
    Ok(Collected { collector, volumes: reader.volumes().to_vec(), has_times: reader.notes().has_times })
}

/// Several traces as one workload, as `esker study --together` has it.
fn read_together(experiment: &Experiment, groups: &[Vec<PathBuf>], cancel: &AtomicBool) -> Result<Collected, RunError> {
    let settings = &experiment.workload;
    if settings.filter.is_some() {
        let message = "it goes with a single trace, and `trace` names several";
        let problem = Problem::with_hint(message, "write what is wanted of each to a file with `esker trace filter`");
        return Err(experiment.located(ConfigError::new("workload.filter", problem)).into());
    }
    let mut names = Vec::new();
    let mut traces: Vec<(Spool, Nanos)> = Vec::new();
    let mut has_times = true;
    for paths in groups {
        let mut reader = TraceReader::open(paths, &settings.read_options())?;
        let mut writer = SpoolWriter::default();
        let (mut batch, mut first) = (Vec::<Record>::new(), None);
        while reader.next_batch(&mut batch)? {
            check(cancel)?;
            first = first.or(batch.first().map(|record| record.at));
            for record in &batch {
                writer.push(record)?;
            }
        }
        has_times &= reader.notes().has_times;
        names.push(paths[0].file_name().unwrap_or_default().to_string_lossy().into_owned());
        traces.push((writer.finish(reader.volumes().to_vec())?, first.unwrap_or_default()));
    }
    let places = places(traces.iter().map(|(spool, first)| (*first, spool.volumes().len())));
    let volumes = volume_names(names.iter().zip(&traces).map(|(name, (spool, _))| (name.as_str(), spool.volumes())));
    let mut collector = Collector::default();
    for record in Together::new(traces.iter().map(|(spool, _)| spool).zip(places)) {
        if settings.head.is_some_and(|head| collector.records >= head) {
            break;
        }
        collector.push(&record)?;
    }
    check(cancel)?;
    Ok(Collected { collector, volumes, has_times })
}

fn check(cancel: &AtomicBool) -> Result<(), RunError> {
    if cancel.load(Ordering::Relaxed) { Err(RunError::Cancelled) } else { Ok(()) }
}
