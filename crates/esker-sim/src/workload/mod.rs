//! What is asked of the target: records of a trace or of a generator, turned into arrivals within its capacity.

mod address;
mod marks;
mod passes;
mod read;
mod together;

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use esker_core::{Arrival, Bytes, Hint, Nanos, Ratio, unlikely_rate};
use esker_results::LeftOut;
use esker_trace::{Operation, Record, Spool, SpoolWriter, Synthesiser, SyntheticSettings, TouchedAreas};

use crate::config::{BeyondCapacity, ConfigError, Experiment, Problem};
use crate::run_error::RunError;
use address::{AddressSpace, Addresses};
use marks::Marks;
use passes::Passes;

pub use address::dense_requests;
pub use together::{Place, Together, places, volume_names};

/// A workload that is at hand: any number of runs may replay it, on several threads at once.
#[derive(Debug)]
pub struct Workload {
    source: Source,
    marks: Marks,
    /// Only so many requests count.
    head: u64,
}

#[derive(Debug)]
enum Source {
    Recorded {
        spool: Spool,
        /// Where each volume begins in one address space: side by side in order of appearance, each at a multiple of
        /// 1 MiB.
        space: AddressSpace,
        touched: TouchedAreas,
        /// How often all of it is replayed.
        passes: u32,
        has_times: bool,
        /// Of reads and writes.
        bytes: u64,
    },
    Synthetic {
        settings: SyntheticSettings,
        seed: u64,
    },
}

/// Why a workload does not go with a target. The key is one of `[workload]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkloadFault {
    pub(crate) key: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl WorkloadFault {
    fn at(self, experiment: &Experiment) -> RunError {
        let Self { key, message, hint } = self;
        experiment.located(ConfigError::new(format!("workload.{key}"), Problem::Other { message, hint })).into()
    }
}

impl Workload {
    /// Reads the experiment's trace, or gets ready to make its synthetic requests. `cancel` ends that early, with
    /// [`RunError::Cancelled`].
    pub fn open(experiment: &Experiment, cancel: &AtomicBool) -> Result<Self, RunError> {
        let settings = &experiment.workload;
        if let Some(synthetic) = &settings.synthetic {
            let source = Source::Synthetic { settings: synthetic.clone(), seed: experiment.run.seed };
            let marks = Marks::new(settings, &[]).map_err(|fault| fault.at(experiment))?;
            return Ok(Self { source, marks, head: settings.head.unwrap_or(u64::MAX).min(synthetic.requests) });
        }
        let collected = read::read(experiment, cancel)?;
        let passes = settings.passes.map_or(1, NonZeroU32::get);
        let marks = Marks::new(settings, &collected.volumes).map_err(|fault| fault.at(experiment))?;
        let workload = collected.collector.finish(collected.volumes, passes, collected.has_times)?;
        let workload = Self { marks, ..workload };
        if workload.is_empty() {
            let message = "no request of the trace is left to replay";
            return Err(experiment.located(ConfigError::new("workload.trace", Problem::new(message))).into());
        }
        Ok(workload)
    }

    /// Wraps records that are at hand already, in order of time.
    pub fn from_records(records: impl IntoIterator<Item = Record>, volumes: Vec<String>) -> Result<Self, RunError> {
        let mut collector = Collector::default();
        for record in records {
            collector.push(&record)?;
        }
        collector.finish(volumes, 1, true)
    }

    /// How many requests there are.
    pub fn len(&self) -> u64 {
        match &self.source {
            Source::Recorded { spool, passes, .. } => spool.len() * u64::from(*passes),
            Source::Synthetic { .. } => self.head,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether requests have times at which they arrive. Without them only closed replay makes sense.
    pub fn has_times(&self) -> bool {
        match &self.source {
            Source::Recorded { has_times, .. } => *has_times,
            Source::Synthetic { settings, .. } => settings.arrivals.is_some(),
        }
    }

    /// A remark, where requests come faster than any machine has them once times are multiplied by `time_scale`.
    pub(crate) fn unlikely_rate(&self, time_scale: Ratio) -> Option<String> {
        match &self.source {
            Source::Recorded { spool, has_times: true, bytes, .. } => {
                let (first, last) = spool.times()?;
                let duration = scaled(last - first, time_scale).as_secs_f64();
                unlikely_rate(spool.len(), *bytes, duration, spool.volumes().len() as u64)
            }
            _ => None,
        }
    }

    /// The arrivals on a target of `capacity`, from time zero on, their times multiplied by `time_scale`. What does not
    /// reach the target, or not whole, is counted in `left_out` as the arrivals are taken.
    pub(crate) fn arrivals<'a>(
        &'a self,
        capacity: Bytes,
        beyond: BeyondCapacity,
        time_scale: Ratio,
        left_out: &'a Cell<LeftOut>,
    ) -> Result<impl Iterator<Item = Arrival> + 'a, WorkloadFault> {
        let capacity = Bytes(capacity.0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        let (first, records, addresses) = match &self.source {
            Source::Recorded { spool, space, touched, passes, .. } => {
                let first = spool.times().map_or(Nanos::ZERO, |(first, _)| first);
                let records = Passes::new(spool, *passes, time_scale)?;
                (first, Records::Recorded(Box::new(records)), Addresses::new(space, touched, beyond, capacity)?)
            }
            Source::Synthetic { settings, seed } => {
                let records = Synthesiser::new(settings, capacity, *seed).map_err(|error| WorkloadFault {
                    key: "synthetic",
                    message: error.to_string(),
                    hint: error.hint(),
                })?;
                (Nanos::ZERO, Records::Synthetic(Box::new(records)), Addresses::AsTheyAre)
            }
        };
        let head = usize::try_from(self.head).unwrap_or(usize::MAX);
        Ok(records.take(head).flat_map(move |record| {
            let at = scaled(record.at - first, time_scale);
            addresses.requests(&record, capacity.0, left_out).map(move |request| {
                let request = self.marks.mark(record.volume, request);
                Arrival { at, request }
            })
        }))
    }
}

/// One iterator for both sources, so that nothing is called through a table for each record.
enum Records<'a> {
    Recorded(Box<Passes<'a>>),
    Synthetic(Box<Synthesiser>),
}

impl Iterator for Records<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        match self {
            Self::Recorded(records) => records.next(),
            Self::Synthetic(records) => records.next(),
        }
    }
}

/// `at` once arrival times are multiplied by `scale`.
pub fn scaled(at: Nanos, scale: Ratio) -> Nanos {
    if scale == Ratio::ONE { at } else { Nanos(scale.of(at.0)) }
}

#[derive(Default)]
struct Collector {
    spool: SpoolWriter,
    ends: Vec<u64>,
    touched: TouchedAreas,
    records: u64,
    bytes: u64,
}

impl Collector {
    #[inline]
    fn push(&mut self, record: &Record) -> Result<(), RunError> {
        self.records += 1;
        if record.operation != Operation::Flush {
            let volume = record.volume.0 as usize;
            if self.ends.len() <= volume {
                self.ends.resize(volume + 1, 0);
            }
            self.ends[volume] = self.ends[volume].max(record.end());
            self.touched.add(record);
            if record.operation != Operation::Trim {
                self.bytes += u64::from(record.length);
            }
        }
        Ok(self.spool.push(record)?)
    }

    /// `has_times` as the traces' formats have it. Times that are all the same say as little as none.
    fn finish(self, volumes: Vec<String>, passes: u32, has_times: bool) -> Result<Workload, RunError> {
        let spool = self.spool.finish(volumes)?;
        let differ = || spool.times().is_some_and(|(first, last)| first < last);
        let has_times = has_times && differ();
        let space = AddressSpace::new(&self.ends);
        let Self { touched, bytes, .. } = self;
        let source = Source::Recorded { spool, space, touched, passes, has_times, bytes };
        Ok(Workload { source, marks: Marks::default(), head: u64::MAX })
    }
}
