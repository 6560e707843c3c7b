//! Cleaning: a zone, and its data in the media cache, are read and rewritten in order.

use std::ops::Range;

use esker_core::{Bytes, Lba, Nanos, Priority, Request};

use super::{Part, ShingledDisk};

/// Sectors that cleaning reads and then writes at a time: 8 MiB, so that the arm's way between the old place and the
/// new one hardly matters. Assumed: what fits into a drive's buffer.
const CHUNK: u64 = 1 << 14;

/// The zone that is being cleaned.
#[derive(Clone, Debug)]
pub(super) struct Cleaning {
    pub(super) zone: usize,
    /// The first sector that has not been rewritten yet, and the end of the sectors to rewrite.
    next: u64,
    end: u64,
    /// Entries of the media cache from this number on arrived later, and stay.
    began: u64,
    /// Transfers under way.
    left: u32,
    reads: bool,
}

impl ShingledDisk {
    /// Returns true if the disk cleans now: a write waits for room, or the disk has been idle for long enough.
    fn cleans(&self, now: Nanos) -> bool {
        !self.full.is_empty() || now >= self.idle_at()
    }

    /// Returns when the disk has been idle for long enough.
    fn idle_at(&self) -> Nanos {
        if self.requests.len() == 0 { self.quiet_since + self.settings.clean_after } else { Nanos::NEVER }
    }

    /// Returns when cleaning begins or continues by itself.
    pub(super) fn next_cleaning(&self) -> Nanos {
        let paused = self.cleaning.as_ref().is_none_or(|cleaning| cleaning.left == 0);
        let something = self.cleaning.is_some() || self.cache.used() > 0;
        if paused && something { self.idle_at() } else { Nanos::NEVER }
    }

    /// Begins the next step, if there is one and none is under way.
    pub(super) fn clean(&mut self, now: Nanos) {
        while self.cleans(now) && self.cleaning.as_ref().is_none_or(|cleaning| cleaning.left == 0) {
            match self.cleaning.take() {
                Some(cleaning) if cleaning.next < cleaning.end => self.read_chunk(now, cleaning),
                Some(cleaning) => self.end_cleaning(now, &cleaning),
                None if !self.begin_cleaning() => return,
                None => {}
            }
        }
    }

    /// Chooses the zone of the oldest entry, since only that frees room. Returns false if the media cache is empty.
    fn begin_cleaning(&mut self) -> bool {
        let Some(oldest) = self.cache.oldest() else { return false };
        let zone = self.zones.of(oldest);
        let range = self.zones.range(zone);
        let cached = self.cache.pieces(range.clone()).last().map_or(range.start, |(at, piece)| at + piece.sectors);
        let end = cached.max(self.zones.pointer(zone));
        let began = self.cache.next_entry();
        self.cleaning = Some(Cleaning { zone, next: range.start, end, began, left: 0, reads: true });
        true
    }

    fn chunk(cleaning: &Cleaning) -> Range<u64> {
        cleaning.next..cleaning.end.min(cleaning.next + CHUNK)
    }

    fn read_chunk(&mut self, now: Nanos, mut cleaning: Cleaning) {
        let chunk = Self::chunk(&cleaning);
        let zone = cleaning.zone;
        // Beyond the sectors that were written in order, data may lie in the media cache only.
        let written = self.zones.pointer(zone).clamp(chunk.start, chunk.end);
        let (home, beyond) = (chunk.start..written, written..chunk.end);
        let mut reads = self.places(zone, home);
        reads.extend(self.cache.pieces(beyond).iter().map(|(_, piece)| (self.cache.sector(piece), piece.sectors)));
        if reads.is_empty() {
            return self.write_chunk(now, cleaning);
        }
        cleaning.left = reads.len() as u32;
        cleaning.reads = true;
        for (sector, sectors) in reads {
            self.counted.cleaning_read_bytes += sectors * Bytes::SECTOR.0;
            let request = Request::read(Lba(sector), Bytes(sectors * Bytes::SECTOR.0));
            self.submit_cleaning(now, request);
        }
        self.cleaning = Some(cleaning);
    }

    fn submit_cleaning(&mut self, now: Nanos, request: Request) {
        // While a write waits for cleaning, it is as urgent as the requests of the host.
        let priority = if self.full.is_empty() { Priority::BACKGROUND } else { Priority::USER };
        self.disk.submit(now, 0, Part::Cleaning, Request { priority, ..request });
    }

    /// Records that a transfer of the cleaning has ended.
    pub(super) fn cleaning_step_ended(&mut self, now: Nanos) {
        let mut cleaning = self.cleaning.take().expect("only cleaning makes such transfers");
        cleaning.left -= 1;
        if cleaning.left == 0 {
            if cleaning.reads {
                return self.write_chunk(now, cleaning);
            }
            cleaning.next = Self::chunk(&cleaning).end;
        }
        self.cleaning = Some(cleaning);
    }

    fn write_chunk(&mut self, now: Nanos, mut cleaning: Cleaning) {
        let chunk = Self::chunk(&cleaning);
        let bytes = Bytes((chunk.end - chunk.start) * Bytes::SECTOR.0);
        self.counted.cleaning_write_bytes += bytes.0;
        self.submit_cleaning(now, Request::write(Lba(self.zones.new_home(chunk.start)), bytes));
        (cleaning.left, cleaning.reads) = (1, false);
        self.cleaning = Some(cleaning);
    }

    fn end_cleaning(&mut self, now: Nanos, cleaning: &Cleaning) {
        self.zones.exchange(cleaning.zone);
        self.zones.wrote_to(cleaning.zone, cleaning.end);
        self.cache.forget(self.zones.range(cleaning.zone), cleaning.began);
        self.counted.cleaned_zones += 1;
        self.admit(now);
    }
}
