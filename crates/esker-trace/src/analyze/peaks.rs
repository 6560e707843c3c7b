//! The load of the busiest second, minute and hour.

use esker_results::profile::{BusiestWindow, Peaks, RatePeaks};
use std::collections::VecDeque;

use esker_core::{LatencyHistogram, Nanos};
use hdrhistogram::Histogram;

use super::responses::Responses;
use crate::{Operation, Record};

/// The load in some stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Load {
    requests: u64,
    read_requests: u64,
    write_requests: u64,
    read_bytes: u64,
    write_bytes: u64,
}

impl Load {
    fn of(record: &Record) -> Self {
        let (read, write) = (record.operation == Operation::Read, record.operation == Operation::Write);
        let length = u64::from(record.length);
        Self {
            requests: 1,
            read_requests: u64::from(read),
            write_requests: u64::from(write),
            read_bytes: if read { length } else { 0 },
            write_bytes: if write { length } else { 0 },
        }
    }
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.read_requests += other.read_requests;
        self.write_requests += other.write_requests;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
    }
    fn subtract(&mut self, other: &Self) {
        self.requests -= other.requests;
        self.read_requests -= other.read_requests;
        self.write_requests -= other.write_requests;
        self.read_bytes -= other.read_bytes;
        self.write_bytes -= other.write_bytes;
    }
}

const SECOND: u64 = 1_000_000_000;
/// The busiest minute starts at a whole second.
const MINUTE: Window = Window { slot: SECOND, slots: 60 };
/// The busiest hour starts at a multiple of five minutes.
const HOUR: Window = Window { slot: 300 * SECOND, slots: 12 };

#[derive(Debug)]
pub(super) struct PeakTracker {
    second: Slot<()>,
    rates: [Histogram<u64>; 6],
    /// Exact maxima: the histograms know theirs only within 0.1 %.
    rates_max: [u64; 6],
    seconds: u64,
    minute: Sliding<()>,
    five_minutes: Slot<Option<Box<Responses>>>,
    hour: Sliding<Option<Box<Responses>>>,
}

impl Default for PeakTracker {
    fn default() -> Self {
        let rates = std::array::from_fn(|_| {
            let mut histogram = Histogram::new(3).expect("three digits are allowed");
            histogram.auto(true);
            histogram
        });
        Self {
            second: Slot::default(),
            rates,
            rates_max: [0; 6],
            seconds: 0,
            minute: Sliding::new(MINUTE),
            five_minutes: Slot::default(),
            hour: Sliding::new(HOUR),
        }
    }
}

/// Results of the peak search.
pub(super) struct PeakResults {
    pub(super) peaks: Peaks,
    pub(super) minute: BusiestWindow,
    pub(super) hour: BusiestWindow,
    pub(super) hour_responses: Option<LatencyHistogram>,
}

impl PeakTracker {
    #[inline]
    pub(super) fn push(&mut self, since_start: Nanos, record: &Record) {
        if self.second.is_over(since_start, MINUTE.slot) {
            self.end_second();
            self.second.index = since_start.0 / MINUTE.slot;
            if self.five_minutes.is_over(since_start, HOUR.slot) {
                self.hour.add(std::mem::take(&mut self.five_minutes));
                self.five_minutes.index = since_start.0 / HOUR.slot;
            }
        }
        let load = Load::of(record);
        self.second.load.add(&load);
        self.five_minutes.load.add(&load);
        if let Some(response) = record.response {
            self.five_minutes.extra.get_or_insert_default().push(record.operation, response);
        }
    }

    fn end_second(&mut self) {
        let Slot { index, load, .. } = std::mem::take(&mut self.second);
        let values = [
            load.read_requests + load.write_requests,
            load.read_requests,
            load.write_requests,
            load.read_bytes + load.write_bytes,
            load.read_bytes,
            load.write_bytes,
        ];
        let quiet = index - self.seconds;
        for ((histogram, max), value) in self.rates.iter_mut().zip(&mut self.rates_max).zip(values) {
            *max = value.max(*max);
            histogram.record_n(0, quiet).expect("zero can be recorded");
            histogram.record(value.min(1 << 62)).expect("an automatic histogram grows as needed");
        }
        self.seconds = index + 1;
        self.minute.add(Slot { index, load, extra: () });
    }

    pub(super) fn finish(mut self) -> PeakResults {
        self.end_second();
        self.hour.add(std::mem::take(&mut self.five_minutes));
        let peaks = |index: usize| {
            let histogram: &Histogram<u64> = &self.rates[index];
            let max = self.rates_max[index];
            let at = |quantile: f64| histogram.value_at_quantile(quantile).min(max) as f64;
            RatePeaks { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: max as f64 }
        };
        let responses = self.hour.best_extras.iter().flatten().fold(None, |sum: Option<Responses>, part| {
            let mut sum = sum.unwrap_or_default();
            sum.merge(part);
            Some(sum)
        });
        PeakResults {
            peaks: Peaks {
                requests_per_s: peaks(0),
                read_requests_per_s: peaks(1),
                write_requests_per_s: peaks(2),
                bytes_per_s: peaks(3),
                read_bytes_per_s: peaks(4),
                write_bytes_per_s: peaks(5),
            },
            minute: self.minute.busiest(),
            hour: self.hour.busiest(),
            hour_responses: responses.map(|responses| responses.all()),
        }
    }
}

/// A window of `slots` slots that slides by one slot at a time.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Length of a slot in nanoseconds.
    slot: u64,
    slots: u64,
}

/// The load of one slot, and further data that are kept with it.
#[derive(Clone, Debug, Default)]
struct Slot<E> {
    index: u64,
    load: Load,
    extra: E,
}

impl<E> Slot<E> {
    /// Whether `now` lies after the slot. The slot in which integer time ends is never over.
    #[inline]
    fn is_over(&self, now: Nanos, slot: u64) -> bool {
        (self.index + 1).checked_mul(slot).is_some_and(|end| now.0 >= end)
    }
}

#[derive(Debug)]
struct Sliding<E> {
    window: Window,
    recent: VecDeque<Slot<E>>,
    sum: Load,
    best: Load,
    best_start: u64,
    best_extras: Vec<E>,
}

impl<E: Clone> Sliding<E> {
    fn new(window: Window) -> Self {
        Self {
            window,
            recent: VecDeque::new(),
            sum: Load::default(),
            best: Load::default(),
            best_start: 0,
            best_extras: Vec::new(),
        }
    }

    /// Adds the next slot in which something arrived.
    fn add(&mut self, slot: Slot<E>) {
        let index = slot.index;
        while self.recent.front().is_some_and(|old| old.index + self.window.slots <= index) {
            let old = self.recent.pop_front().expect("there is one");
            self.sum.subtract(&old.load);
        }
        self.sum.add(&slot.load);
        self.recent.push_back(slot);
        if self.sum.requests > self.best.requests {
            self.best = self.sum;
            self.best_start = (index + 1).saturating_sub(self.window.slots);
            self.best_extras = self.recent.iter().map(|slot| slot.extra.clone()).collect();
        }
    }

    fn busiest(&self) -> BusiestWindow {
        BusiestWindow {
            start_s: Nanos(self.best_start * self.window.slot).as_secs_f64(),
            length_s: Nanos(self.window.slot * self.window.slots).as_secs_f64(),
            requests: self.best.requests,
            read_requests: self.best.read_requests,
            write_requests: self.best.write_requests,
            read_bytes: self.best.read_bytes,
            write_bytes: self.best.write_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::VolumeIndex;

    fn request(millis: u64, operation: Operation) -> Record {
        Record {
            at: Nanos::from_millis(millis),
            offset: 0,
            length: 1000,
            volume: VolumeIndex(0),
            operation,
            response: Some(Nanos::from_micros(millis + 1)),
        }
    }

    #[test]
    fn quiet_seconds_count() {
        let mut tracker = PeakTracker::default();
        for millis in [0, 1, 2, 99_999] {
            let record = request(millis, Operation::Read);
            tracker.push(record.at, &record);
        }
        let results = tracker.finish();
        let peaks = results.peaks;
        assert_eq!(peaks.requests_per_s, RatePeaks { p50: 0.0, p95: 0.0, p99: 1.0, max: 3.0 });
        assert_eq!(peaks.read_bytes_per_s.max, 3000.0);
        assert_eq!(peaks.write_requests_per_s.max, 0.0);
        assert_eq!(results.hour.requests, 4);
        assert_eq!(results.hour_responses.unwrap().count(), 4);
    }

    proptest! {
        /// Compares the windows found with a search of all windows.
        #[test]
        fn the_busiest_windows_are_found(gaps in prop::collection::vec(0u64..400_000, 1..200)) {
            let mut tracker = PeakTracker::default();
            let (mut at, mut times) = (0, vec![]);
            for (index, gap) in gaps.iter().enumerate() {
                at += if index == 0 { 0 } else { *gap };
                times.push(at);
                let record = request(at, if index % 2 == 0 { Operation::Read } else { Operation::Write });
                tracker.push(record.at, &record);
            }
            let results = tracker.finish();
            for (window, found) in [(MINUTE, results.minute), (HOUR, results.hour)] {
                let slot = window.slot / 1_000_000;
                let count_from = |start: u64| {
                    times.iter().filter(|&&time| time >= start && time < start + slot * window.slots).count() as u64
                };
                let best = (0..=at / slot).map(|index| count_from(index * slot)).max().unwrap();
                prop_assert_eq!(found.requests, best);
                prop_assert_eq!(found.read_requests + found.write_requests, best);
                prop_assert_eq!(count_from((found.start_s * 1e3).round() as u64), best);
            }
            prop_assert_eq!(results.hour_responses.unwrap().count(), results.hour.requests);
        }
    }
}
