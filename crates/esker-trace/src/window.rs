//! Sorts records after small steps back in time, in constant memory.

use std::collections::VecDeque;

use esker_core::Nanos;

use crate::Record;

/// Something that has a time.
pub(crate) trait Timed: Copy {
    /// When it happened.
    fn at(&self) -> Nanos;
}

impl Timed for Record {
    #[inline(always)]
    fn at(&self) -> Nanos {
        self.at
    }
}

/// Prefix maxima are kept for groups of this many records.
const GROUP: usize = 256;
/// Records are handed on in chunks of this many, without another copy.
const CHUNK: usize = 32 * GROUP;

/// Takes records in order of arrival and returns them in order of time. Records with equal times keep their order.
///
/// A record may be earlier than the latest one before it by at most the window's time. It may have to pass at most the
/// window's number of records (to within 256). A record can leave when no later one may pass it. The rule depends only
/// on the sequence of records, not on how it is cut into pieces.
#[derive(Debug)]
pub(crate) struct ReorderWindow<T> {
    time: u64,
    groups: usize,
    chunk: usize,
    /// Full chunks, oldest first. Those before `checked` are in order, and so is `tail` up to `checked_tail`.
    chunks: VecDeque<Vec<T>>,
    checked: usize,
    /// The chunk that is being filled.
    tail: Vec<T>,
    checked_tail: usize,
    /// An empty chunk to fill next.
    spare: Vec<T>,
    finished: bool,
    pushed: u64,
    /// Number of records checked.
    count: u64,
    /// The latest time among them.
    latest: u64,
    /// For each of the last full groups, the latest time of all records up to its end.
    maxima: VecDeque<u64>,
    /// The latest time among records farther back than the window.
    settled: u64,
    pub(crate) reordered: u64,
    pub(crate) largest_step_back: Nanos,
}

/// A record that is too far from its place.
#[derive(Debug)]
pub(crate) struct TooFar {
    /// Its number, from 0.
    pub(crate) record: u64,
    pub(crate) at: Nanos,
    pub(crate) back: Nanos,
}

impl<T: Timed> ReorderWindow<T> {
    pub(crate) fn new(time: Nanos, records: usize) -> Self {
        Self::with_chunk(time, records, CHUNK)
    }

    fn with_chunk(time: Nanos, records: usize, chunk: usize) -> Self {
        Self {
            time: time.0,
            groups: records / GROUP,
            chunk,
            chunks: VecDeque::new(),
            checked: 0,
            tail: Vec::with_capacity(chunk),
            checked_tail: 0,
            spare: Vec::new(),
            finished: false,
            pushed: 0,
            count: 0,
            latest: 0,
            maxima: VecDeque::new(),
            settled: 0,
            reordered: 0,
            largest_step_back: Nanos::ZERO,
        }
    }

    /// Adds a record.
    #[inline(always)]
    pub(crate) fn push(&mut self, record: T) {
        self.pushed += 1;
        self.tail.push(record);
        if self.tail.len() == self.chunk {
            self.end_chunk();
        }
    }

    #[cold]
    fn end_chunk(&mut self) {
        let mut next = std::mem::take(&mut self.spare);
        next.reserve_exact(self.chunk);
        self.chunks.push_back(std::mem::replace(&mut self.tail, next));
    }

    /// Sorts the records that came since the last call.
    pub(crate) fn settle(&mut self) -> Result<(), TooFar> {
        let mut earliest = u64::MAX;
        while self.checked < self.chunks.len() {
            let chunk = std::mem::take(&mut self.chunks[self.checked]);
            let result = self.check(&chunk[self.checked_tail..]);
            self.chunks[self.checked] = chunk;
            earliest = earliest.min(result?);
            self.checked += 1;
            self.checked_tail = 0;
        }
        let tail = std::mem::take(&mut self.tail);
        let result = self.check(&tail[self.checked_tail..]);
        self.checked_tail = tail.len();
        self.tail = tail;
        earliest = earliest.min(result?);
        if earliest != u64::MAX {
            self.sort(earliest);
        }
        Ok(())
    }

    /// Checks new records against the rule. Returns the earliest time of those that are out of order.
    fn check(&mut self, mut records: &[T]) -> Result<u64, TooFar> {
        let mut earliest = u64::MAX;
        while !records.is_empty() {
            let in_group = (self.count % GROUP as u64) as usize;
            let (group, rest) = records.split_at(records.len().min(GROUP - in_group));
            records = rest;
            // Nearly every group is in order; checking a whole group costs less than a branch per record.
            let mut latest = self.latest;
            let mut ordered = true;
            for record in group {
                ordered &= record.at().0 >= latest;
                latest = latest.max(record.at().0);
            }
            if !ordered {
                earliest = earliest.min(self.examine(group)?);
            }
            self.latest = latest;
            self.count += group.len() as u64;
            if in_group + group.len() == GROUP {
                self.maxima.push_back(latest);
                if self.maxima.len() > self.groups {
                    self.settled = self.maxima.pop_front().expect("one was just added");
                }
            }
        }
        Ok(earliest)
    }

    /// Counts the steps back in a group that has some. Returns the earliest time after one.
    #[cold]
    fn examine(&mut self, group: &[T]) -> Result<u64, TooFar> {
        let mut latest = self.latest;
        let mut earliest = u64::MAX;
        for (index, record) in group.iter().enumerate() {
            let at = record.at().0;
            if at < latest {
                let back = Nanos(latest - at);
                if back.0 > self.time || at < self.settled {
                    return Err(TooFar { record: self.count + index as u64, at: record.at(), back });
                }
                self.reordered += 1;
                self.largest_step_back = self.largest_step_back.max(back);
            }
            earliest = earliest.min(at);
            latest = latest.max(at);
        }
        Ok(earliest)
    }

    /// Sorts everything from the first record later than `earliest`.
    #[cold]
    fn sort(&mut self, earliest: u64) {
        let later = |chunk: &Vec<T>| chunk.iter().any(|record| record.at().0 > earliest);
        let first = self.chunks.iter().position(later).unwrap_or(self.chunks.len());
        let mut all: Vec<T> = self.chunks.iter().skip(first).chain([&self.tail]).flatten().copied().collect();
        // The sort is stable, and nearly linear because most records are in order.
        all.sort_by_key(|record| record.at());
        let mut sorted = &all[..];
        for chunk in self.chunks.iter_mut().skip(first).chain([&mut self.tail]) {
            let (these, rest) = sorted.split_at(chunk.len());
            chunk.copy_from_slice(these);
            sorted = rest;
        }
    }

    /// No more records will come: all may leave.
    pub(crate) fn finish(&mut self) {
        debug_assert_eq!(self.checked_tail, self.tail.len());
        if !self.tail.is_empty() {
            self.end_chunk();
        }
        self.finished = true;
    }

    /// Moves the next chunk that may leave into `batch`, which is empty. Returns false if there is none now.
    pub(crate) fn take_chunk(&mut self, batch: &mut Vec<T>) -> bool {
        debug_assert!(batch.is_empty());
        // Any later record has at least this time.
        let floor = self.settled.max(self.latest.saturating_sub(self.time));
        let Some(chunk) = self.chunks.front() else { return false };
        let last = chunk.last().expect("chunks are full");
        if !self.finished && (self.checked == 0 || last.at().0 > floor) {
            return false;
        }
        let chunk = self.chunks.pop_front().expect("it is there");
        self.checked = self.checked.saturating_sub(1);
        self.spare = std::mem::replace(batch, chunk);
        true
    }

    /// Number of records added.
    #[inline(always)]
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, VolumeIndex};
    use proptest::prelude::*;

    fn record(at: u64, number: u64) -> Record {
        let operation = Operation::Read;
        Record { at: Nanos(at), offset: number, length: 512, volume: VolumeIndex(0), operation, response: None }
    }

    /// The rule in its plainest form: which records come out, or which one is too far away.
    fn reference(times: &[u64], time: u64, groups: usize) -> Result<Vec<(u64, u64)>, u64> {
        for (index, &at) in times.iter().enumerate() {
            let latest = times[..index].iter().copied().max().unwrap_or(0);
            let group = index / GROUP;
            let settled =
                if group > groups { times[..(group - groups) * GROUP].iter().copied().max().unwrap() } else { 0 };
            if at + time < latest || at < settled {
                return Err(index as u64);
            }
        }
        let mut sorted: Vec<(u64, u64)> = times.iter().zip(0..).map(|(&at, number)| (at, number)).collect();
        sorted.sort();
        Ok(sorted)
    }

    fn run(times: &[u64], time: u64, records: usize, piece: usize) -> Result<Vec<(u64, u64)>, u64> {
        let mut window = ReorderWindow::with_chunk(Nanos(time), records, 300);
        let (mut out, mut batch) = (Vec::new(), Vec::new());
        for (index, piece) in times.chunks(piece).enumerate() {
            for &at in piece {
                window.push(record(at, window.pushed()));
            }
            window.settle().map_err(|far| far.record)?;
            if index % 3 != 1 && window.take_chunk(&mut batch) {
                out.append(&mut batch);
            }
        }
        window.finish();
        while window.take_chunk(&mut batch) {
            out.append(&mut batch);
        }
        Ok(out.iter().map(|record| (record.at.0, record.offset)).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_window_follows_its_rule_however_the_records_are_cut(
            steps in prop::collection::vec((0..20u64, prop::bool::weighted(0.02), 0..400u64), 0..3000),
            time in 0..500u64, groups in 1..5usize, piece in 1..1500usize,
        ) {
            let mut now = 0;
            let times: Vec<u64> = steps.iter().map(|&(step, back, by)| {
                now += step;
                if back { now.saturating_sub(by) } else { now }
            }).collect();
            prop_assert_eq!(run(&times, time, groups * GROUP, piece), reference(&times, time, groups));
        }
    }

    #[test]
    fn memory_stays_within_the_window() {
        let mut window = ReorderWindow::with_chunk(Nanos::from_secs(1000), 1024, 300);
        let mut batch = Vec::new();
        for piece in 0..1000 {
            for index in 0..100 {
                window.push(record(piece * 100 + index, 0));
            }
            window.settle().unwrap();
            while window.take_chunk(&mut batch) {
                batch.clear();
            }
            assert!(window.chunks.len() <= 1 + (1024 + GROUP + 100) / 300, "{}", window.chunks.len());
        }
    }

    #[test]
    fn records_without_times_pass_at_once() {
        let mut window = ReorderWindow::with_chunk(Nanos::from_secs(1), 65_536, 10);
        (0..10).for_each(|number| window.push(record(0, number)));
        window.settle().unwrap();
        let mut batch = Vec::new();
        assert!(window.take_chunk(&mut batch));
        assert_eq!(batch.len(), 10);
    }
}
