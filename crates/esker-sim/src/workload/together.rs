//! Several traces as one workload: their requests merged by time, their volumes side by side.

use std::iter::Peekable;

use esker_core::Nanos;
use esker_trace::{Record, Spool, SpoolRecords, VolumeIndex};

/// Times from 2000 on, in nanoseconds since 1970, are taken as absolute.
const ABSOLUTE_FROM: Nanos = Nanos::from_secs(946_684_800);

/// Where a trace stands among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of its first volume.
    pub first_volume: u32,
    /// Subtracted from its times, so that the whole workload begins at zero.
    pub zero: Nanos,
}

/// The places of traces whose first request comes at such a time and that have so many volumes. Where every trace has
/// absolute times they keep their relation; else all begin together.
pub fn places(traces: impl Iterator<Item = (Nanos, usize)>) -> Vec<Place> {
    let traces: Vec<_> = traces.collect();
    let absolute = traces.iter().all(|(first, _)| *first >= ABSOLUTE_FROM);
    let earliest = traces.iter().map(|(first, _)| *first).min().unwrap_or_default();
    let mut first_volume = 0;
    traces
        .into_iter()
        .map(|(first, volumes)| {
            let place = Place { first_volume, zero: if absolute { earliest } else { first } };
            first_volume += volumes as u32;
            place
        })
        .collect()
}

/// Names of the volumes of several traces, in the order of their numbers: `TRACE:VOLUME`.
pub fn volume_names<'a>(traces: impl Iterator<Item = (&'a str, &'a [String])>) -> Vec<String> {
    traces.flat_map(|(trace, volumes)| volumes.iter().map(move |volume| format!("{trace}:{volume}"))).collect()
}

/// The requests of all traces in order of time; equal times in the order of the traces.
#[derive(Debug)]
pub struct Together<'a> {
    traces: Vec<Placed<'a>>,
}

impl<'a> Together<'a> {
    /// Merges `traces`.
    pub fn new(traces: impl IntoIterator<Item = (&'a Spool, Place)>) -> Self {
        let placed = |(spool, place): (&'a Spool, Place)| Placed { records: spool.records().peekable(), place };
        Self { traces: traces.into_iter().map(placed).collect() }
    }
}

impl Iterator for Together<'_> {
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
    place: Place,
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
