//! The drive's buffer: segments of contiguous sectors, read-ahead while the arm is free, and writes that complete in
//! the buffer.

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DiskError, Mechanics};

/// The buffer of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSettings {
    /// Number of segments. Each holds one contiguous range of sectors; the least recently used one is reused first.
    pub segments: u32,
    /// Size of each segment.
    pub segment_size: Bytes,
    /// How far the disk reads on behind a read while no command wants the arm; zero for no read-ahead.
    pub read_ahead: Bytes,
    /// Whether read-ahead that has reached its limit resumes when a read is answered from the buffer.
    pub read_ahead_on_hit: bool,
    /// Writes complete as soon as their data are in the buffer. At most this much may wait there to be written to the
    /// medium; zero makes all writes complete on the medium. Writes with force unit access, and larger ones, always do.
    /// Waiting data are written when no request wants the arm, when a flush waits for them, and at every other turn of
    /// the arm while writes wait for room.
    pub write_back: Bytes,
    /// How much of the waiting data is written to the medium at a time: a batch begins when a write finds no room, and
    /// goes before other commands. Without requests for 20 ms, all waiting data are written. Default: no batches; each
    /// write goes by itself, as said above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_batch: Option<Bytes>,
}

/// Content of the buffer. A read is answered from it if one segment holds all of its sectors.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    segments: Vec<Segment>,
    segment_sectors: u64,
    read_ahead: u64,
    read_ahead_on_hit: bool,
    /// Size of the disk: read-ahead stops here.
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
    /// The sector where read-ahead stops.
    limit: u64,
    /// When the head had passed the last sector of the segment.
    at: Nanos,
}

impl Cache {
    /// # Errors
    /// No segments or too many, segments smaller than a sector or larger than 1 GiB, or other amounts beyond 1 TiB.
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

    /// Whether the buffer holds all of `start..end`. If so, read-ahead behind it may go further, and if it has stopped
    /// it may resume when the arm is free.
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

    /// Ends read-ahead if the head is already reading towards `start..end`. Returns the first sector that has not been
    /// read yet, and when the one before it ended.
    pub(crate) fn take_over(&mut self, start: u64, end: u64) -> Option<(u64, Nanos)> {
        let stream = self.stream.take()?;
        let segment = self.segments[stream.segment];
        (segment.first <= start && start <= segment.end && segment.end < end).then_some((segment.end, stream.at))
    }

    /// Notes that `start..end` is in the buffer: it extends a segment, or replaces the least recently used one. Returns
    /// the index of the segment.
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

    /// Starts read-ahead: the arm is free since `now`, after a read that ended at sector `end` of segment `index`.
    pub(crate) fn read_ahead_from(&mut self, index: usize, end: u64, now: Nanos) {
        let limit = (end + self.read_ahead).min(self.disk_sectors);
        if self.segments[index].end < limit {
            self.stream = Some(Stream { segment: index, limit, at: now });
        }
    }

    /// Advances read-ahead to `now`.
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

    /// Moves the end of a segment. Sectors that no longer fit are dropped at its start.
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
