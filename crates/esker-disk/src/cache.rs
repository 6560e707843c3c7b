//! The drive's buffer: segments of contiguous sectors, read-ahead while the arm is free, and writes that complete in
//! the buffer.

use std::ops::Range;

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DiskError, FirmwareSettings, Geometry, Mechanics, ReadAheadEnd};

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
    read_ahead_to: ReadAheadEnd,
    /// How the buffer of a particular drive behaves differently.
    habits: Habits,
    /// Size of the disk: read-ahead stops here.
    disk_sectors: u64,
    uses: u64,
    stream: Option<Stream>,
}

/// How the buffer of a particular drive differs from the plain one.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    /// A read from exactly the end of a segment takes a segment of its own.
    splits_at_end: bool,
    forgets_read: bool,
    forgets_written: bool,
    /// A write empties the segments that it overlaps.
    writes_empty: bool,
}

/// How much of a read is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Whole,
    /// The first sectors are there, or the drive is just reading the first one.
    Part,
    Nothing,
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
    pub(crate) fn new(
        settings: &CacheSettings,
        firmware: Option<&FirmwareSettings>,
        disk_sectors: u64,
    ) -> Result<Self, DiskError> {
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
        // A segment that takes only writes is never read from.
        let separate = firmware.is_some_and(|firmware| firmware.separate_write_segment);
        let habits = firmware.map_or_else(Habits::default, |firmware| Habits {
            splits_at_end: !firmware.read_at_end_hits,
            forgets_read: firmware.forgets_read_sectors,
            forgets_written: firmware.forgets_written_sectors || separate,
            writes_empty: true,
        });
        Ok(Self {
            segments: vec![Segment::default(); (settings.segments - u32::from(separate)).max(1) as usize],
            read_ahead_to: firmware.map_or(ReadAheadEnd::Amount, |firmware| firmware.read_ahead_to),
            habits,
            segment_sectors: settings.segment_size.0 / Bytes::SECTOR.0,
            read_ahead: settings.read_ahead.0 / Bytes::SECTOR.0,
            read_ahead_on_hit: settings.read_ahead_on_hit,
            disk_sectors,
            uses: 0,
            stream: None,
        })
    }

    /// Returns true if the buffer holds all of `start..end`. If so, read-ahead behind that range may go further. If
    /// read-ahead has stopped, it may resume when the arm is free.
    pub(crate) fn hits(&mut self, geometry: &Geometry, start: u64, end: u64, now: Nanos, arm_free: bool) -> bool {
        let holds = |segment: &Segment| segment.first <= start && end <= segment.end;
        let Some(index) = self.segments.iter().position(holds) else { return false };
        self.touch(index);
        let limit = self.limit(geometry, index, end);
        match &mut self.stream {
            Some(stream) if stream.segment == index => stream.limit = limit.max(stream.limit),
            None if arm_free && self.read_ahead_on_hit => self.read_ahead_from(geometry, index, end, now),
            _ => {}
        }
        if self.habits.forgets_read {
            self.segments[index].first = end;
        }
        true
    }

    /// Returns how much of a read of `start..end` is in the buffer, once read-ahead has been advanced. Read-ahead stops
    /// if nothing is there, and for writes.
    pub(crate) fn look(&mut self, start: u64, end: u64, write: bool) -> Found {
        let found = match () {
            () if write => Found::Nothing,
            () if self.segments.iter().any(|segment| segment.first <= start && end <= segment.end) => Found::Whole,
            () if self.part_of(start).is_some() => Found::Part,
            () => Found::Nothing,
        };
        if found == Found::Nothing {
            self.stream = None;
        }
        if write && self.habits.writes_empty {
            for segment in &mut self.segments {
                if segment.first < end && start < segment.end {
                    *segment = Segment::default();
                }
            }
        }
        found
    }

    /// Returns the first sector behind the segment that has sector `start`, or to which read-ahead is bringing that
    /// sector.
    pub(crate) fn part_of(&self, start: u64) -> Option<u64> {
        let reading = |index| self.stream.is_some_and(|stream| stream.segment == index) && !self.habits.splits_at_end;
        let has = |(index, segment): &(usize, &Segment)| {
            segment.first <= start && (start < segment.end || start == segment.end && reading(*index))
        };
        self.segments.iter().enumerate().find(has).map(|(_, segment)| segment.end)
    }

    /// Ends read-ahead if the head is already reading towards `start..end`. Returns the first sector that has not been
    /// read yet, and when the one before it ended.
    pub(crate) fn take_over(&mut self, start: u64, end: u64) -> Option<(u64, Nanos)> {
        let stream = self.stream.take()?;
        let segment = self.segments[stream.segment];
        (segment.first <= start && start <= segment.end && segment.end < end).then_some((segment.end, stream.at))
    }

    /// Records that `start..end` is in the buffer: it extends a segment, or replaces the least recently used one.
    /// Returns the index of the segment.
    pub(crate) fn keep(&mut self, start: u64, end: u64) -> usize {
        if self.habits.forgets_written {
            return 0;
        }
        self.hold(start, start, end)
    }

    /// Like [`Cache::keep`], for a read that also brought the sectors from `first` to `start`.
    pub(crate) fn keep_read(&mut self, first: u64, start: u64, end: u64) -> usize {
        let index = self.hold(first, start, end);
        if self.habits.forgets_read {
            self.segments[index].first = end;
        }
        index
    }

    fn hold(&mut self, first: u64, start: u64, end: u64) -> usize {
        let last = u64::from(self.habits.splits_at_end);
        let joins = |segment: &Segment| segment.first <= start && start + last <= segment.end && segment.end > 0;
        let index = self.segments.iter().position(joins).unwrap_or_else(|| {
            let index = self.least_recently_used();
            self.segments[index] = Segment { first, end: start, last_use: 0 };
            if self.stream.is_some_and(|stream| stream.segment == index) {
                self.stream = None;
            }
            index
        });
        self.grow(index, end);
        self.touch(index);
        index
    }

    /// A plain loop, since it is several times faster here than `min_by_key`.
    fn least_recently_used(&self) -> usize {
        let (mut index, mut last_use) = (0, u64::MAX);
        for (other, segment) in self.segments.iter().enumerate() {
            if segment.last_use < last_use {
                (index, last_use) = (other, segment.last_use);
            }
        }
        index
    }

    /// Starts read-ahead: the arm is free since `now`, after a read that ended at sector `end` of segment `index`.
    pub(crate) fn read_ahead_from(&mut self, geometry: &Geometry, index: usize, end: u64, now: Nanos) {
        let limit = self.limit(geometry, index, end);
        if self.segments[index].end < limit {
            self.stream = Some(Stream { segment: index, limit, at: now });
        }
    }

    /// Returns where read-ahead stops behind a read that ends at sector `end` of segment `index`.
    fn limit(&self, geometry: &Geometry, index: usize, end: u64) -> u64 {
        let amount = end + self.read_ahead;
        let limit = match self.read_ahead_to {
            ReadAheadEnd::Amount => amount,
            _ if self.read_ahead == 0 || end >= self.disk_sectors => amount,
            ReadAheadEnd::Track => amount.min(geometry.track_end(end - 1)),
            ReadAheadEnd::Cylinder => amount.min(geometry.cylinder_end(end - 1)),
            ReadAheadEnd::NextTrack => {
                let track = end - u64::from(geometry.locate(end).sector).min(end);
                let behind = geometry.track_end(end);
                let goes_on = self.segments[index].first < track && behind < self.disk_sectors;
                if goes_on { geometry.track_end(behind) } else { behind }
            }
        };
        limit.min(self.disk_sectors)
    }

    /// Advances read-ahead to `now`. Returns when the sectors that it brought passed under the head, if it is under
    /// way.
    pub(crate) fn follow(&mut self, mechanics: &mut Mechanics, now: Nanos) -> Option<Range<Nanos>> {
        let stream = self.stream.as_mut()?;
        let (index, from) = (stream.segment, stream.at);
        let (end, at) = mechanics.read_on(stream.at, self.segments[index].end, stream.limit, now);
        stream.at = at;
        // An early write behind the segment may have extended it beyond the limit.
        if end >= stream.limit {
            self.stream = None;
        }
        self.grow(index, end);
        Some(from..at)
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
