//! The drive's buffer: segments of contiguous sectors, read-ahead while the arm is free, writes that end in the buffer.

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DiskError, Mechanics};

/// The buffer of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSettings {
    /// Segments, each of which holds one contiguous range of sectors; the least recently
    /// used one is taken for the next.
    pub segments: u32,
    /// Size of each segment.
    pub segment_size: Bytes,
    /// How far reading goes on behind a read while nothing else wants the arm; zero for no read-ahead.
    pub read_ahead: Bytes,
    /// Whether reading ahead, once it has stopped at its limit, goes on when a read is answered from the buffer.
    pub read_ahead_on_hit: bool,
    /// Writes end as soon as their data are in the buffer, where at most this much may wait to go to the
    /// medium; zero for writes that end on the medium. Writes with force unit access, and larger ones, always
    /// do. What waits goes to the medium when no request wants the arm, when a flush waits for it, and every
    /// other time while writes wait for room.
    pub write_back: Bytes,
}

/// What the buffer holds. Reads that need not wait for the arm are those whose sectors are all in one segment.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    segments: Vec<Segment>,
    segment_sectors: u64,
    read_ahead: u64,
    read_ahead_on_hit: bool,
    /// Sectors that read-ahead must not pass.
    disk_sectors: u64,
    uses: u64,
    stream: Option<Stream>,
}

/// Sectors `first..end`, empty at first.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    first: u64,
    end: u64,
    last_use: u64,
}

/// Read-ahead under way at the end of a segment.
#[derive(Clone, Copy, Debug)]
struct Stream {
    segment: usize,
    /// Where it stops.
    limit: u64,
    /// When the head had passed the segment's last sector.
    at: Nanos,
}

impl Cache {
    /// # Errors
    /// No segments or too many, segments below a sector or beyond 1 GiB, or other amounts beyond 1 TiB.
    pub(crate) fn new(settings: &CacheSettings, disk_sectors: u64) -> Result<Self, DiskError> {
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        if !(1..=4_096).contains(&settings.segments) {
            return refuse("cache.segments", "1 to 4,096", settings.segments.to_string());
        }
        if !(Bytes::SECTOR..=Bytes::gib(1)).contains(&settings.segment_size) {
            return refuse("cache.segment_size", "512B to 1GiB", settings.segment_size.to_string());
        }
        if settings.read_ahead > settings.segment_size {
            return refuse("cache.read_ahead", "at most cache.segment_size", settings.read_ahead.to_string());
        }
        if settings.write_back > Bytes::gib(1 << 10) {
            return refuse("cache.write_back", "at most 1TiB", settings.write_back.to_string());
        }
        Ok(Self {
            segments: vec![Segment::default(); settings.segments as usize],
            segment_sectors: settings.segment_size.0 / Bytes::SECTOR.0,
            read_ahead: settings.read_ahead.0 / Bytes::SECTOR.0,
            read_ahead_on_hit: settings.read_ahead_on_hit,
            disk_sectors,
            uses: 0,
            stream: None,
        })
    }

    /// Whether the buffer holds all of `start..end`. If so, read-ahead under way behind it may go further, and one that
    /// has stopped may go on if the arm is free.
    pub(crate) fn hits(&mut self, start: u64, end: u64, now: Nanos, arm_free: bool) -> bool {
        let holds = |segment: &Segment| segment.first <= start && end <= segment.end;
        let Some(index) = self.segments.iter().position(holds) else { return false };
        self.touch(index);
        match &mut self.stream {
            Some(stream) if stream.segment == index => {
                stream.limit = (end + self.read_ahead).clamp(stream.limit, self.disk_sectors.max(stream.limit));
            }
            None if arm_free && self.read_ahead_on_hit => self.read_ahead_from(index, end, now),
            _ => {}
        }
        true
    }

    /// Where the head is already reading towards `start..end`: the first sector still to come, and when the one before
    /// it ended. The stream ends, since the access takes over.
    pub(crate) fn take_over(&mut self, start: u64, end: u64) -> Option<(u64, Nanos)> {
        let stream = self.stream.take()?;
        let segment = self.segments[stream.segment];
        (segment.first <= start && start <= segment.end && segment.end < end).then_some((segment.end, stream.at))
    }

    /// Notes that `start..end` is in the buffer now, behind what a segment already holds, or in place of the least
    /// recently used. Gives the segment.
    pub(crate) fn keep(&mut self, start: u64, end: u64) -> usize {
        let joins = |segment: &Segment| segment.first <= start && start <= segment.end && segment.end > 0;
        let index = self.segments.iter().position(joins).unwrap_or_else(|| {
            let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.last_use);
            let index = oldest.expect("there is at least one segment").0;
            self.segments[index] = Segment { first: start, end: start, last_use: 0 };
            if self.stream.is_some_and(|stream| stream.segment == index) {
                self.stream = None;
            }
            index
        });
        self.grow(index, end);
        self.touch(index);
        index
    }

    /// The arm is free since `now`, after a read that ended at sector `end` of segment `index`.
    pub(crate) fn read_ahead_from(&mut self, index: usize, end: u64, now: Nanos) {
        let limit = (end + self.read_ahead).min(self.disk_sectors);
        if self.segments[index].end < limit {
            self.stream = Some(Stream { segment: index, limit, at: now });
        }
    }

    /// Lets read-ahead run up to `now`.
    pub(crate) fn follow(&mut self, mechanics: &mut Mechanics, now: Nanos) {
        let Some(stream) = &mut self.stream else { return };
        let index = stream.segment;
        let (end, at) = mechanics.read_on(stream.at, self.segments[index].end, stream.limit, now);
        stream.at = at;
        if end == stream.limit {
            self.stream = None;
        }
        self.grow(index, end);
    }

    /// Moves the end of a segment; what no longer fits is lost at its begin.
    fn grow(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(self.segment_sectors));
    }

    fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].last_use = self.uses;
    }
}
