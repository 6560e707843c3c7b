//! The load over time.

use esker_core::Nanos;
use esker_results::profile::LoadInterval;

use crate::{Operation, Record};

const INTERVALS_MAX: usize = 512;
/// The working-set series has one interval for four of this series, at most 128.
const PER_WORKING_SET_INTERVAL: u32 = 2;

/// The load by interval. The length of the trace is not known while it is read. So intervals begin at 1,024 ns and
/// double whenever time passes the end of the last one; in the end 256 to 512 are used.
#[derive(Debug)]
pub(super) struct Series {
    width_shift: u32,
    intervals: Vec<Interval>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    requests: u64,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    responses: u64,
    response_sum: u64,
    new_pages: u64,
}

impl Interval {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.responses += other.responses;
        self.response_sum = self.response_sum.saturating_add(other.response_sum);
        self.new_pages += other.new_pages;
    }
}

impl Default for Series {
    fn default() -> Self {
        Self { width_shift: 10, intervals: vec![Interval::default()] }
    }
}

impl Series {
    /// Adds a record. Returns how often the intervals had to double for it. Times never go back.
    #[inline]
    pub(super) fn push(&mut self, since_start: Nanos, record: &Record) -> u32 {
        let mut doubled = 0;
        while since_start.0 >> self.width_shift >= INTERVALS_MAX as u64 {
            self.double();
            doubled += 1;
        }
        let index = (since_start.0 >> self.width_shift) as usize;
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, Interval::default());
        }
        let interval = &mut self.intervals[index];
        interval.requests += 1;
        match record.operation {
            Operation::Read => {
                interval.reads += 1;
                interval.read_bytes += u64::from(record.length);
            }
            Operation::Write => {
                interval.writes += 1;
                interval.write_bytes += u64::from(record.length);
            }
            Operation::Trim | Operation::Flush => {}
        }
        if let Some(response) = record.response {
            interval.responses += 1;
            interval.response_sum = interval.response_sum.saturating_add(response.0);
        }
        doubled
    }

    #[cold]
    fn double(&mut self) {
        self.width_shift += 1;
        for index in 0..self.intervals.len().div_ceil(2) {
            let mut sum = self.intervals[2 * index];
            if let Some(second) = self.intervals.get(2 * index + 1) {
                sum.add(second);
            }
            self.intervals[index] = sum;
        }
        self.intervals.truncate(self.intervals.len().div_ceil(2));
    }

    /// The interval of the working-set series into which the last record fell, below 128.
    #[inline]
    pub(super) fn working_set_interval(&self) -> u32 {
        (self.intervals.len() as u32 - 1) >> PER_WORKING_SET_INTERVAL
    }

    /// Counts pages that the last record touched for the first time.
    #[inline]
    pub(super) fn add_new_pages(&mut self, pages: u32) {
        self.intervals.last_mut().expect("there is always one").new_pages += u64::from(pages);
    }

    /// Length of an interval.
    pub(super) fn width(&self) -> Nanos {
        Nanos(1 << self.width_shift)
    }

    /// Length of an interval of the working-set series.
    pub(super) fn working_set_width(&self) -> Nanos {
        Nanos(1 << (self.width_shift + PER_WORKING_SET_INTERVAL))
    }

    /// Pages touched for the first time, by interval of the working-set series.
    pub(super) fn new_pages(&self) -> Vec<u64> {
        let chunks = self.intervals.chunks(1 << PER_WORKING_SET_INTERVAL);
        chunks.map(|chunk| chunk.iter().map(|interval| interval.new_pages).sum()).collect()
    }

    pub(super) fn finish(&self) -> Vec<LoadInterval> {
        let start = |index: usize| Nanos((index as u64) << self.width_shift).as_secs_f64();
        let mean = |interval: &Interval| interval.response_sum as f64 / interval.responses as f64 / 1e3;
        self.intervals
            .iter()
            .enumerate()
            .map(|(index, interval)| LoadInterval {
                start_s: start(index),
                requests: interval.requests,
                read_requests: interval.reads,
                write_requests: interval.writes,
                read_bytes: interval.read_bytes,
                write_bytes: interval.write_bytes,
                mean_response_us: (interval.responses > 0).then(|| mean(interval)),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::VolumeIndex;

    proptest! {
        #[test]
        fn intervals_hold_what_fell_into_them(gaps in prop::collection::vec(0u64..40_000_000, 1..300)) {
            let mut series = Series::default();
            let (mut at, mut times) = (0, vec![]);
            for gap in gaps {
                at += gap;
                times.push(at);
                let record = Record {
                    at: Nanos(at), offset: 0, length: 512, volume: VolumeIndex(0), operation: Operation::Write,
                    response: Some(Nanos(1000)),
                };
                series.push(Nanos(at), &record);
                series.add_new_pages(1);
            }
            let width = series.width().0;
            let load = series.finish();
            prop_assert!(load.len() <= INTERVALS_MAX);
            prop_assert!(width == 1024 || load.len() > INTERVALS_MAX / 2);
            for (index, interval) in load.iter().enumerate() {
                let inside = times.iter().filter(|&&time| time / width == index as u64).count() as u64;
                prop_assert_eq!((interval.requests, interval.write_bytes), (inside, inside * 512));
                prop_assert_eq!(interval.mean_response_us, (inside > 0).then_some(1.0));
            }
            prop_assert_eq!(series.new_pages().iter().sum::<u64>(), times.len() as u64);
            prop_assert!(series.new_pages().len() <= 128);
        }
    }

    #[test]
    fn a_gap_of_centuries_does_no_harm() {
        let mut series = Series::default();
        let record = Record {
            at: Nanos(u64::MAX),
            offset: 0,
            length: 512,
            volume: VolumeIndex(0),
            operation: Operation::Read,
            response: None,
        };
        series.push(Nanos::ZERO, &record);
        assert_eq!(series.push(Nanos(u64::MAX), &record), 45);
        assert_eq!(series.finish().len(), 512);
    }
}
