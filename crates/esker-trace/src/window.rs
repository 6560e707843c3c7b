//! Sorts small steps back in time, in constant memory.

use std::collections::VecDeque;

use esker_core::Nanos;

use crate::Record;

/// Prefix maxima are kept for groups of this many records.
const GROUP: usize = 256;

/// Records in order of arrival go in, records in order of time come out; equal times keep their order.
///
/// A record may be earlier than the latest one before it by at most the window's time, and may have to pass at most
/// the window's number of records (to within 256). Whatever no later record may pass can leave. The rule depends on the
/// sequence of records alone, not on how they are cut into pieces.
#[derive(Debug)]
pub(crate) struct ReorderWindow {
    time: u64,
    groups: usize,
    /// `head..sorted` is in order, `sorted..` has just come.
    records: Vec<Record>,
    head: usize,
    sorted: usize,
    /// `head..leaving` may leave.
    leaving: usize,
    /// Records that have come before `sorted`.
    count: u64,
    latest: u64,
    /// The latest time of all records up to the end of each of the last groups that are full.
    maxima: VecDeque<u64>,
    /// The latest time among records that are farther back than the window.
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

impl ReorderWindow {
    pub(crate) fn new(time: Nanos, records: usize) -> Self {
        Self {
            time: time.0,
            groups: records / GROUP,
            records: Vec::new(),
            head: 0,
            sorted: 0,
            leaving: 0,
            count: 0,
            latest: 0,
            maxima: VecDeque::new(),
            settled: 0,
            reordered: 0,
            largest_step_back: Nanos::ZERO,
        }
    }

    /// Takes a record in.
    #[inline(always)]
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    /// How many have come.
    #[inline(always)]
    pub(crate) fn pushed(&self) -> u64 {
        self.count + (self.records.len() - self.sorted) as u64
    }

    /// Sorts what has come since, and finds what may leave.
    pub(crate) fn settle(&mut self) -> Result<(), TooFar> {
        let mut next = self.sorted;
        let mut earliest = u64::MAX;
        while next < self.records.len() {
            let in_group = (self.count % GROUP as u64) as usize;
            let end = (next + GROUP - in_group).min(self.records.len());
            let group = &self.records[next..end];
            // Nearly every group is in order; looking at it costs less than a branch per record.
            let mut latest = self.latest;
            let mut ordered = true;
            for record in group {
                ordered &= record.at.0 >= latest;
                latest = latest.max(record.at.0);
            }
            if !ordered {
                earliest = earliest.min(self.examine(next, end)?);
            }
            self.latest = latest;
            self.count += (end - next) as u64;
            if in_group + (end - next) == GROUP {
                self.maxima.push_back(latest);
                if self.maxima.len() > self.groups {
                    self.settled = self.maxima.pop_front().expect("one was just added");
                }
            }
            next = end;
        }
        if earliest != u64::MAX {
            let from =
                self.head + self.records[self.head..self.sorted].partition_point(|record| record.at.0 <= earliest);
            self.records[from..].sort_by_key(|record| record.at);
        }
        self.sorted = self.records.len();
        let floor = self.settled.max(self.latest.saturating_sub(self.time));
        let waiting = &self.records[self.leaving..];
        self.leaving += match waiting.last() {
            Some(last) if last.at.0 <= floor => waiting.len(),
            _ => waiting.partition_point(|record| record.at.0 <= floor),
        };
        Ok(())
    }

    /// Counts the steps back in a group that has some; its earliest time.
    #[cold]
    fn examine(&mut self, start: usize, end: usize) -> Result<u64, TooFar> {
        let mut latest = self.latest;
        let mut earliest = u64::MAX;
        for (index, record) in self.records[start..end].iter().enumerate() {
            let at = record.at.0;
            if at < latest {
                let back = Nanos(latest - at);
                if back.0 > self.time || at < self.settled {
                    return Err(TooFar { record: self.count + index as u64, at: record.at, back });
                }
                self.reordered += 1;
                self.largest_step_back = self.largest_step_back.max(back);
            }
            earliest = earliest.min(at);
            latest = latest.max(at);
        }
        Ok(earliest)
    }

    /// Nothing more will come: everything may leave.
    pub(crate) fn finish(&mut self) {
        debug_assert_eq!(self.sorted, self.records.len());
        self.leaving = self.records.len();
    }

    /// Appends up to `limit` of the records that may leave to `batch`.
    pub(crate) fn drain_into(&mut self, batch: &mut Vec<Record>, limit: usize) {
        let end = self.leaving.min(self.head.saturating_add(limit));
        batch.extend_from_slice(&self.records[self.head..end]);
        self.head = end;
        if self.head == self.records.len() {
            self.records.clear();
            (self.head, self.sorted, self.leaving) = (0, 0, 0);
        } else if self.head == self.leaving && self.head >= self.records.len() / 2 {
            let length = self.records.len() - self.head;
            self.records.copy_within(self.head.., 0);
            self.records.truncate(length);
            (self.head, self.sorted, self.leaving) = (0, length, 0);
        }
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

    /// The rule written down plainly: which records come out, or which one is too far.
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
        let mut window = ReorderWindow::new(Nanos(time), records);
        let (mut out, mut batch) = (Vec::new(), Vec::new());
        for (index, piece) in times.chunks(piece).enumerate() {
            for &at in piece {
                window.push(record(at, window.pushed()));
            }
            window.settle().map_err(|far| far.record)?;
            if index % 3 != 1 {
                window.drain_into(&mut batch, 1 + index * 100);
            }
        }
        window.finish();
        while {
            out.append(&mut batch);
            window.drain_into(&mut batch, 1000);
            !batch.is_empty()
        } {}
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
        let mut window = ReorderWindow::new(Nanos::from_secs(1000), 1024);
        let mut batch = Vec::new();
        for piece in 0..1000 {
            for index in 0..100 {
                window.push(record(piece * 100 + index, 0));
            }
            window.settle().unwrap();
            window.drain_into(&mut batch, usize::MAX);
            batch.clear();
            assert!(window.records.len() <= 2 * (1024 + GROUP + 100), "{}", window.records.len());
        }
    }

    #[test]
    fn records_without_times_pass_at_once() {
        let mut window = ReorderWindow::new(Nanos::from_secs(1), 65_536);
        (0..10).for_each(|number| window.push(record(0, number)));
        window.settle().unwrap();
        let mut batch = Vec::new();
        window.drain_into(&mut batch, usize::MAX);
        assert_eq!(batch.len(), 10);
    }
}
