//! What is asked of the target: records of a trace or of a generator, turned into arrivals within its capacity.

mod address;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{Arrival, Bytes, Nanos, Ratio};
use esker_trace::{
    DenseMap, Filter, Filtered, Operation, ReadOptions, Record, Spool, SpoolWriter, TouchedAreas, TraceReader,
};

use crate::config::{BeyondCapacity, Experiment};
use crate::run::RunError;
use address::{AddressSpace, Addresses};

/// A workload that is at hand: any number of runs may replay it, on several threads at once.
#[derive(Debug)]
pub struct Workload {
    spool: Spool,
    /// Where each volume begins in one address space: side by side in order of appearance, each at a multiple of 1 MiB.
    space: AddressSpace,
    touched: TouchedAreas,
}

impl Workload {
    /// Reads the experiment's trace. `cancel` ends that early, with [`RunError::Cancelled`].
    pub fn open(experiment: &Experiment, cancel: &AtomicBool) -> Result<Self, RunError> {
        let settings = &experiment.workload;
        let trace = settings.trace.as_ref().expect("a workload without a source was refused when it was read");
        let path: PathBuf = if trace == "-" { trace.into() } else { experiment.folder().join(trace) };
        let options = ReadOptions { format: settings.format.clone(), ..ReadOptions::default() };
        let mut reader = TraceReader::open(&[path], &options)?;
        let filter = settings.filter.clone().unwrap_or_default();
        let fault = |error: &dyn std::error::Error| experiment.error_at("workload.filter", error.to_string(), None);
        let mut filter = Filter::new(filter).map_err(|error| fault(&error))?;
        let mut workload = Collector::default();
        let mut batch = Vec::new();
        'reading: while reader.next_batch(&mut batch)? {
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            for record in &batch {
                if settings.head.is_some_and(|head| workload.records >= head) {
                    break 'reading;
                }
                match filter.apply(record, reader.volumes()) {
                    Filtered::Keep(record) => workload.push(&record)?,
                    Filtered::Drop => {}
                    Filtered::End => break 'reading,
                }
            }
        }
        filter.check_volumes(reader.volumes()).map_err(|error| fault(&error))?;
        let workload = workload.finish(reader.volumes().to_vec())?;
        if workload.spool.is_empty() {
            let message = "no request of the trace is left to replay";
            return Err(experiment.error_at("workload.trace", message, None).into());
        }
        Ok(workload)
    }

    /// Wraps records that are at hand already, in order of time.
    pub fn from_records(records: impl IntoIterator<Item = Record>, volumes: Vec<String>) -> Result<Self, RunError> {
        let mut workload = Collector::default();
        for record in records {
            workload.push(&record)?;
        }
        workload.finish(volumes)
    }

    /// How many requests there are.
    pub fn len(&self) -> u64 {
        self.spool.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spool.is_empty()
    }

    /// First byte after everything that the workload asks for, its volumes side by side.
    pub fn end(&self) -> Bytes {
        Bytes(self.space.end())
    }

    /// The arrivals on a target of `capacity`, from time zero on, their times multiplied by `time_scale`. Requests of no
    /// bytes (other than flushes) are left out. `None` where they reach past the capacity and `beyond` does not say what
    /// to do then.
    pub fn arrivals(
        &self,
        capacity: Bytes,
        beyond: BeyondCapacity,
        time_scale: Ratio,
    ) -> Option<impl Iterator<Item = Arrival> + '_> {
        let capacity = Bytes(capacity.0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        let addresses = match beyond {
            BeyondCapacity::Dense => {
                let map = DenseMap::new(&self.touched);
                if map.end() > capacity.0 {
                    return None;
                }
                Addresses::Dense(map)
            }
            BeyondCapacity::Error if self.space.end() > capacity.0 => return None,
            BeyondCapacity::Error | BeyondCapacity::Clip => Addresses::Clip(&self.space),
            BeyondCapacity::Wrap => Addresses::Wrap(&self.space),
        };
        let first = self.spool.times().map_or(Nanos::ZERO, |(first, _)| first);
        let requests = self.spool.records().flat_map(move |record| {
            let at = scaled(record.at - first, time_scale);
            addresses.requests(&record, capacity.0).map(move |request| Arrival { at, request })
        });
        Some(requests)
    }

    /// Bytes of the dense address space of [`BeyondCapacity::Dense`].
    pub fn dense_end(&self) -> Bytes {
        Bytes(DenseMap::new(&self.touched).end())
    }
}

fn scaled(at: Nanos, scale: Ratio) -> Nanos {
    if scale == Ratio::ONE { at } else { Nanos(scale.of(at.0)) }
}

#[derive(Default)]
struct Collector {
    spool: SpoolWriter,
    ends: Vec<u64>,
    touched: TouchedAreas,
    records: u64,
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
        }
        Ok(self.spool.push(record)?)
    }

    fn finish(self, volumes: Vec<String>) -> Result<Workload, RunError> {
        let spool = self.spool.finish(volumes)?;
        Ok(Workload { spool, space: AddressSpace::new(&self.ends), touched: self.touched })
    }
}
