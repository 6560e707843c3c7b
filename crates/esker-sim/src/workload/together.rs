//! Combines traces into one stream of requests: merged by time, with their volumes side by side.

use std::iter::Peekable;

use esker_core::Nanos;
use esker_trace::{Operation, Record, Spool, SpoolRecords, TraceError, VolumeIndex};

/// A trace in memory.
#[derive(Debug)]
pub struct TraceInput {
    /// Prefix for names of its volumes if there are several traces.
    pub name: String,
    /// Its records.
    pub spool: Spool,
    /// Whether its times are arrival times. Times that are all equal do not count.
    pub has_times: bool,
    /// Whether its times count from 1970, so that they tell when it was recorded.
    pub absolute: bool,
}

/// Traces in memory as one stream of requests that begins at time zero. If every trace has absolute times, these are
/// kept; else all traces begin at the same time.
#[derive(Debug)]
pub struct Traces {
    parts: Vec<(Spool, TracePlace)>,
    volumes: Vec<String>,
    has_times: bool,
}

/// Position of a trace among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TracePlace {
    /// Number of its first volume.
    first_volume: u32,
    /// Subtracted from its times.
    zero: Nanos,
}

impl Traces {
    /// Combines traces, with volumes in their order. Volumes of several traces are called `TRACE:VOLUME`.
    pub fn of(inputs: impl IntoIterator<Item = TraceInput>) -> Self {
        let inputs: Vec<TraceInput> = inputs.into_iter().collect();
        let first = |input: &TraceInput| input.spool.times().map_or(Nanos::ZERO, |(first, _)| first);
        let absolute = inputs.iter().all(|input| input.absolute);
        let earliest = inputs.iter().map(first).min().unwrap_or_default();
        let has_times = inputs.iter().all(|input| input.has_times);
        let alone = inputs.len() == 1;
        let (mut parts, mut volumes) = (Vec::new(), Vec::new());
        for input in inputs {
            let zero = if absolute { earliest } else { first(&input) };
            let TraceInput { name, spool, .. } = input;
            let first_volume = volumes.len() as u32;
            let names = spool.volumes().iter();
            volumes.extend(names.map(|volume| if alone { volume.clone() } else { format!("{name}:{volume}") }));
            parts.push((spool, TracePlace { first_volume, zero }));
        }
        Self { parts, volumes, has_times }
    }

    /// Returns the records that arrive when `within` says so, with their times.
    pub(super) fn part(&self, within: impl Fn(Nanos) -> bool) -> Result<Self, TraceError> {
        let records = self.records().filter(|record| within(record.at));
        let spool = Spool::from_records(records, self.volumes.clone())?;
        let place = TracePlace { first_volume: 0, zero: Nanos::ZERO };
        Ok(Self { parts: vec![(spool, place)], volumes: self.volumes.clone(), has_times: self.has_times })
    }

    /// Returns the names of the volumes, by number.
    pub fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// Returns true if times are arrival times.
    pub fn has_times(&self) -> bool {
        self.has_times
    }

    /// Iterates over all requests in order of time; equal times in the order of the traces.
    pub fn records(&self) -> TraceRecords<'_> {
        let placed =
            self.parts.iter().map(|(spool, place)| Placed { records: spool.records().peekable(), place: *place });
        TraceRecords { traces: placed.collect() }
    }
}

/// The requests of [`Traces::records`].
#[derive(Debug)]
pub struct TraceRecords<'a> {
    traces: Vec<Placed<'a>>,
}

impl Iterator for TraceRecords<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        match self.traces.as_mut_slice() {
            [only] => only.next(),
            traces => {
                let times = traces.iter_mut().enumerate().filter_map(|(index, trace)| Some((trace.next_at()?, index)));
                let (_, first) = times.min()?;
                traces[first].next()
            }
        }
    }
}

#[derive(Debug)]
struct Placed<'a> {
    records: Peekable<SpoolRecords<'a>>,
    place: TracePlace,
}

impl Placed<'_> {
    fn next_at(&mut self) -> Option<Nanos> {
        Some(self.records.peek()?.at.saturating_sub(self.place.zero))
    }

    #[inline]
    fn next(&mut self) -> Option<Record> {
        let record = self.records.next()?;
        Some(Record {
            at: record.at.saturating_sub(self.place.zero),
            volume: VolumeIndex(record.volume.0 + self.place.first_volume),
            ..record
        })
    }
}

/// Extent of a stream of records, counted as it passes.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    records: u64,
    bytes: u64,
    /// Per volume, the first byte after all requests.
    ends: Vec<u64>,
    times: Option<(Nanos, Nanos)>,
}

impl Extent {
    /// Counts a record.
    #[inline]
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        let (first, last) = self.times.unwrap_or((record.at, record.at));
        self.times = Some((first.min(record.at), last.max(record.at)));
        if record.operation == Operation::Flush {
            return;
        }
        let volume = record.volume.0 as usize;
        if self.ends.len() <= volume {
            self.ends.resize(volume + 1, 0);
        }
        self.ends[volume] = self.ends[volume].max(record.end());
        if record.operation != Operation::Trim {
            self.bytes += u64::from(record.length);
        }
    }

    /// Returns the extent of some of its records: they end where all of them do, but are fewer.
    pub(super) fn of_part(&self, part: &Traces) -> Self {
        let mut of_part = Self::default();
        part.records().for_each(|record| of_part.add(&record));
        Self { ends: self.ends.clone(), ..of_part }
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the time from the first record to the last.
    pub fn duration(&self) -> Nanos {
        self.times.map_or(Nanos::ZERO, |(first, last)| last - first)
    }

    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }
}
