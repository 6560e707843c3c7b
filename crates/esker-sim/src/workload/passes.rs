//! Repeats a trace, one pass after the other.

use std::iter::Take;

use esker_core::{Nanos, Ratio};
use esker_trace::Record;

use super::WorkloadError;
use super::together::{Extent, TraceRecords, Traces};

/// The records of all passes. Times continue from pass to pass.
pub(super) struct Passes<'a> {
    traces: &'a Traces,
    /// Records per pass.
    records: usize,
    pass: Take<TraceRecords<'a>>,
    /// Passes after the current one.
    left: u32,
    /// Added to the times of the current pass.
    shift: Nanos,
    /// Time between passes: from the first arrival to the last, plus one mean gap.
    period: Nanos,
}

impl<'a> Passes<'a> {
    /// Makes `passes` passes through the beginning of `traces`, whose counts are `extent`. It is an error if times get
    /// too large, also after multiplication by `time_scale`.
    pub(super) fn new(
        traces: &'a Traces,
        extent: &Extent,
        passes: u32,
        time_scale: Ratio,
    ) -> Result<Self, WorkloadError> {
        let duration = extent.duration();
        let period = duration + Nanos(duration.0 / (extent.records().saturating_sub(1)).max(1));
        let end = u128::from(duration.0) + u128::from(period.0) * u128::from(passes - 1);
        let years = |nanoseconds: u128| nanoseconds / 1_000_000_000 / 86_400 / 365;
        if end >= u128::from(u64::MAX) {
            let message = format!("{passes} passes end after {} years, but times go up to 584", years(end));
            return Err(WorkloadError { key: "passes", message, hint: Some("ask for fewer".into()) });
        }
        let limit = u128::from(Nanos::LAST.0);
        let refuse = |key, message, hint: &str| Err(WorkloadError { key, message, hint: Some(hint.into()) });
        if u128::from(duration.0) > limit && time_scale == Ratio::ONE {
            let message = format!(
                "its last request comes {} years after its first, but simulated time ends after 292",
                years(duration.0.into())
            );
            return refuse("trace", message, "are its times in the unit of its format?");
        }
        let scaled = end * u128::from(time_scale.as_parts_per_billion()) / 1_000_000_000;
        if scaled > limit {
            let message = format!(
                "the last request would arrive after {} years, but simulated time ends after 292",
                years(scaled)
            );
            return match passes {
                1 => refuse("time_scale", message, "take a smaller factor"),
                _ => refuse("passes", message, "ask for fewer"),
            };
        }
        let records = usize::try_from(extent.records()).unwrap_or(usize::MAX);
        let pass = traces.records().take(records);
        Ok(Self { traces, records, pass, left: passes - 1, shift: Nanos::ZERO, period })
    }
}

impl Iterator for Passes<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        loop {
            match self.pass.next() {
                Some(record) => return Some(Record { at: record.at + self.shift, ..record }),
                None if self.left == 0 => return None,
                None => {
                    self.left -= 1;
                    self.shift += self.period;
                    self.pass = self.traces.records().take(self.records);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_trace::{Operation, SpoolWriter, VolumeIndex};

    use super::super::input::TraceInput;
    use super::*;

    fn traces(times: &[u64]) -> (Traces, Extent) {
        let (mut writer, mut extent) = (SpoolWriter::default(), Extent::default());
        for (index, at) in times.iter().enumerate() {
            let record = Record {
                at: Nanos(*at),
                offset: index as u64 * 4096,
                length: 512,
                volume: VolumeIndex(0),
                operation: Operation::Write,
                response: None,
            };
            writer.push(&record).unwrap();
            extent.add(&record);
        }
        let spool = writer.finish(vec!["0".into()]).unwrap();
        let input = TraceInput { name: String::new(), spool, has_times: true, absolute: false, notes: Vec::new() };
        (Traces::of([input]), extent)
    }

    #[test]
    fn the_next_pass_begins_one_mean_gap_after_the_last_arrival() {
        let (traces, extent) = traces(&[100, 110, 160]);
        let passes = Passes::new(&traces, &extent, 3, Ratio::ONE).ok().unwrap();
        let all: Vec<(u64, u64)> = passes.map(|record| (record.at.0, record.offset)).collect();
        let places = [0, 4096, 8192];
        let times = [0, 10, 60, 90, 100, 150, 180, 190, 240];
        let expected: Vec<(u64, u64)> = times.into_iter().zip(places.into_iter().cycle()).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_single_request_and_a_trace_without_times_are_repeated_at_once() {
        let (single, extent) = traces(&[7]);
        assert_eq!(Passes::new(&single, &extent, 4, Ratio::ONE).ok().unwrap().count(), 4);
    }

    #[test]
    fn passes_beyond_all_time_are_refused() {
        let (traces, extent) = traces(&[0, 1 << 62]);
        let fault = Passes::new(&traces, &extent, 5, Ratio::ONE).err().unwrap();
        assert_eq!(fault.key, "passes");
        assert!(fault.message.contains("years"), "{}", fault.message);
        let fault = Passes::new(&traces, &extent, 1, Ratio::parts_per_billion(8_000_000_000)).err().unwrap();
        assert_eq!(fault.key, "time_scale");
        assert!(Passes::new(&traces, &extent, 1, Ratio::ONE).is_ok());
    }
}
