//! Completions that are due later than the next requests, for formats that write both as events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use esker_core::Nanos;

use crate::Record;

/// Completions in order of time; equal times in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// The requests by number, from `first`; `None` once completed.
    records: std::collections::VecDeque<Option<(Record, usize)>>,
    first: u64,
}

impl Completions {
    /// Remembers the completion of `record`, where its response time is known.
    pub(crate) fn add(&mut self, record: &Record, volume: usize) {
        let Some(response) = record.response else { return };
        // Later than any time that can be written is as good as never.
        let Some(at) = record.at.0.checked_add(response.0) else { return };
        self.due.push(Reverse((Nanos(at), self.first + self.records.len() as u64)));
        self.records.push_back(Some((*record, volume)));
    }

    /// Writes what completes earlier than `now`.
    pub(crate) fn before(&mut self, now: Nanos, mut write: impl FnMut(Nanos, &Record, usize)) {
        while let Some(&Reverse((at, number))) = self.due.peek()
            && at < now
        {
            self.due.pop();
            let (record, volume) = self.take(number);
            write(at, &record, volume);
        }
    }

    /// Writes what is left.
    pub(crate) fn rest(&mut self, mut write: impl FnMut(Nanos, &Record, usize)) {
        while let Some(Reverse((at, number))) = self.due.pop() {
            let (record, volume) = self.take(number);
            write(at, &record, volume);
        }
    }

    fn take(&mut self, number: u64) -> (Record, usize) {
        let taken = self.records[(number - self.first) as usize].take().expect("a request completes once");
        while let Some(None) = self.records.front() {
            self.records.pop_front();
            self.first += 1;
        }
        taken
    }
}
