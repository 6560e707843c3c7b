//! Fits a model to a trace by counting.

use std::collections::BTreeMap;

use esker_core::Nanos;

use super::gaps::GapCounts;
use super::generate::GeneratedRecords;
use super::runs::{Run, VolumeCounts, phase};
use super::walk::WalkCounts;
use crate::{Operation, Record};

const SEGMENTS_MAX: usize = 64;
const SEGMENT_REQUESTS_MIN: u64 = 1024;

/// A model of a trace. Its size is at most 64 times the size of the footprint.
#[derive(Clone, Debug)]
pub struct TraceModel {
    pub(super) segments: Vec<Segment>,
    volumes: Vec<String>,
}

/// Counts of one stretch of the trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// Times between the arrivals of the segment.
    pub(super) gaps: GapCounts,
    /// Volumes of the requests of the segment.
    pub(super) walk: WalkCounts,
    /// Runs that ended in the segment, and flushes.
    pub(super) volumes: BTreeMap<u32, VolumeCounts>,
}

impl Segment {
    fn add(&mut self, other: &Self) {
        self.gaps.add(&other.gaps);
        self.walk.add(&other.walk);
        for (&volume, counts) in &other.volumes {
            self.volumes.entry(volume).or_default().add(counts);
        }
    }
}

impl TraceModel {
    /// Names of the volumes.
    pub fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// Number of requests that the model was fitted to.
    pub fn requests(&self) -> u64 {
        self.segments.iter().map(|segment| segment.walk.steps()).sum()
    }

    /// Generates `requests` records like those of the trace, starting at time zero; the same seed gives the same
    /// records. With more requests than were fitted the trace becomes longer, not denser, and its footprint hardly
    /// grows. With fewer requests every segment becomes shorter. Generates none if the model was fitted to none.
    pub fn generate(&self, requests: u64, seed: u64) -> GeneratedRecords<'_> {
        GeneratedRecords::new(self, requests, seed)
    }
}

/// Fits a model to a trace, record by record.
#[derive(Debug, Default)]
pub struct TraceModelFitter {
    segments: Vec<Segment>,
    /// Number of requests after which a new segment begins.
    segment_requests: u64,
    in_segment: u64,
    last: Option<Last>,
    /// The run of each volume that may still go on.
    open: Vec<Option<Run>>,
}

/// The previous record.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: Nanos,
    gap: Option<Nanos>,
    volume: u32,
}

impl TraceModelFitter {
    /// Adds one record. Records come in order of arrival.
    pub fn push(&mut self, record: &Record) {
        if self.segments.is_empty() {
            self.segments.push(Segment::default());
            self.segment_requests = SEGMENT_REQUESTS_MIN;
        }
        if self.in_segment == self.segment_requests {
            self.begin_segment();
        }
        self.in_segment += 1;
        let last = self.last;
        let gap = last.map(|last| record.at.saturating_sub(last.at));
        let segment = self.segment();
        if let (Some(last), Some(gap)) = (last, gap) {
            segment.gaps.push(last.gap.unwrap_or(gap), gap);
        }
        let volume = record.volume.0;
        segment.walk.push(last.map_or(volume, |last| last.volume), volume);
        self.last = Some(Last { at: last.map_or(record.at, |last| last.at.max(record.at)), gap, volume });
        self.push_request(record);
    }

    /// Adds records in their order.
    pub fn push_all(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.push(record));
    }

    fn segment(&mut self) -> &mut Segment {
        self.segments.last_mut().expect("a segment is begun before anything is counted")
    }

    fn begin_segment(&mut self) {
        self.in_segment = 0;
        if self.segments.len() == SEGMENTS_MAX {
            let mut merged: Vec<Segment> = Vec::with_capacity(SEGMENTS_MAX);
            for (index, segment) in self.segments.drain(..).enumerate() {
                match merged.last_mut() {
                    Some(last) if index % 2 == 1 => last.add(&segment),
                    _ => merged.push(segment),
                }
            }
            self.segments = merged;
            self.segment_requests *= 2;
        }
        self.segments.push(Segment::default());
    }

    fn push_request(&mut self, record: &Record) {
        let volume = record.volume.0;
        if record.operation == Operation::Flush {
            self.segment().volumes.entry(volume).or_default().flushes += 1;
            return;
        }
        if self.open.len() <= volume as usize {
            self.open.resize(volume as usize + 1, None);
        }
        let end = record.offset.saturating_add(u64::from(record.length));
        let open = &mut self.open[volume as usize];
        if let Some(run) = open
            && run.end == record.offset
        {
            run.end = end;
            run.followers += 1;
            *run.next.entry((phase(record.offset), record.operation, record.length)).or_default() += 1;
            return;
        }
        let begun = Run {
            operation: record.operation,
            offset: record.offset,
            size: record.length,
            end,
            followers: 0,
            next: BTreeMap::new(),
        };
        if let Some(ended) = open.replace(begun) {
            self.segment().volumes.entry(volume).or_default().push(&ended);
        }
    }

    /// Returns the model. `volumes` are the names by [`crate::VolumeIndex`].
    pub fn finish(mut self, volumes: &[String]) -> TraceModel {
        for (volume, run) in std::mem::take(&mut self.open).into_iter().enumerate() {
            if let Some(run) = run {
                self.segment().volumes.entry(volume as u32).or_default().push(&run);
            }
        }
        TraceModel { segments: self.segments, volumes: volumes.to_vec() }
    }
}
