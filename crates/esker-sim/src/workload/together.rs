//! Combines traces into one stream of requests: merged by time, with their volumes side by side.

use std::iter::Peekable;

use esker_core::Nanos;
use esker_trace::{Operation, Record, Spool, SpoolRecords, TraceError, VolumeIndex};

use super::input::TraceInput;
use super::one_system::{Names, Relation};

/// Traces in memory as one stream of requests that begins at time zero. If every trace has absolute times, these are
/// kept; else all traces begin at the same time. If those with a volume of the same name follow each other, it is one
/// volume; else all volumes lie side by side.
#[derive(Debug)]
pub struct Traces {
    parts: Vec<(Spool, TracePlace)>,
    volumes: Vec<String>,
    has_times: bool,
    remark: Option<String>,
    notes: Vec<String>,
}

/// Position of a trace among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TracePlace {
    /// The number of each of its volumes among all.
    volumes: Vec<VolumeIndex>,
    /// Subtracted from its times.
    zero: Nanos,
}

impl Traces {
    /// Combines traces, with volumes in their order. Volumes of several traces are called `TRACE:VOLUME`, but for one
    /// that several of them have.
    pub fn of(inputs: impl IntoIterator<Item = TraceInput>) -> Self {
        let inputs: Vec<TraceInput> = inputs.into_iter().collect();
        let relation = Relation::of(&inputs);
        let has_times = relation.has_times(&inputs);
        let first = |spool: &Spool| spool.times().map(|(first, _)| first);
        let earliest = inputs.iter().filter_map(|input| first(&input.spool)).min().unwrap_or_default();
        let several = inputs.len() > 1;
        let mut names = Names::new(several, relation.one_system());
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        for TraceInput { name, spool, notes: own_notes, .. } in inputs {
            notes.extend(own_notes.into_iter().map(|note| if several { format!("{name}: {note}") } else { note }));
            let own = first(&spool).unwrap_or_default();
            let zero = if relation.keeps_times() { earliest } else { own };
            let volumes = spool.volumes().iter().map(|volume| names.number(&name, volume)).collect();
            parts.push((spool, TracePlace { volumes, zero }));
        }
        Self { parts, volumes: names.finish(), has_times, remark: relation.remark(), notes }
    }

    /// Says what was assumed of several traces: of their times, and of volumes of the same name.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Returns what their readers say of them, in sentences; of several, each with the name of its trace.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the records that arrive when `within` says so, with their times.
    pub(super) fn part(&self, within: impl Fn(Nanos) -> bool) -> Result<Self, TraceError> {
        let records = self.records().filter(|record| within(record.at));
        let spool = Spool::from_records(records, self.volumes.clone())?;
        let volumes = (0..self.volumes.len() as u32).map(VolumeIndex).collect();
        let place = TracePlace { volumes, zero: Nanos::ZERO };
        let (parts, volumes) = (vec![(spool, place)], self.volumes.clone());
        Ok(Self { parts, volumes, has_times: self.has_times, remark: None, notes: Vec::new() })
    }

    /// Returns the names of the volumes, by number.
    pub fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// Returns true if times are arrival times.
    pub fn has_times(&self) -> bool {
        self.has_times
    }

    /// Iterates over all requests in order of time; equal times in the order of the traces.
    pub fn records(&self) -> TraceRecords<'_> {
        let placed = self.parts.iter().map(|(spool, place)| Placed { records: spool.records().peekable(), place });
        TraceRecords { traces: placed.collect() }
    }
}

/// The requests of [`Traces::records`].
#[derive(Debug)]
pub struct TraceRecords<'a> {
    traces: Vec<Placed<'a>>,
}

impl Iterator for TraceRecords<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        match self.traces.as_mut_slice() {
            [only] => only.next(),
            traces => {
                let times = traces.iter_mut().enumerate().filter_map(|(index, trace)| Some((trace.next_at()?, index)));
                let (_, first) = times.min()?;
                traces[first].next()
            }
        }
    }
}

#[derive(Debug)]
struct Placed<'a> {
    records: Peekable<SpoolRecords<'a>>,
    place: &'a TracePlace,
}

impl Placed<'_> {
    fn next_at(&mut self) -> Option<Nanos> {
        Some(self.records.peek()?.at.saturating_sub(self.place.zero))
    }

    #[inline]
    fn next(&mut self) -> Option<Record> {
        let record = self.records.next()?;
        Some(Record {
            at: record.at.saturating_sub(self.place.zero),
            volume: self.place.volumes[record.volume.0 as usize],
            ..record
        })
    }
}

/// Extent of a stream of records, counted as it passes.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    records: u64,
    bytes: u64,
    /// Per volume, the first byte after all requests.
    ends: Vec<u64>,
    times: Option<(Nanos, Nanos)>,
}

impl Extent {
    /// Counts a record.
    #[inline]
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        let (first, last) = self.times.unwrap_or((record.at, record.at));
        self.times = Some((first.min(record.at), last.max(record.at)));
        if record.operation == Operation::Flush {
            return;
        }
        let volume = record.volume.0 as usize;
        if self.ends.len() <= volume {
            self.ends.resize(volume + 1, 0);
        }
        self.ends[volume] = self.ends[volume].max(record.end());
        if record.operation != Operation::Trim {
            self.bytes += u64::from(record.length);
        }
    }

    /// Returns the extent of some of its records: they end where all of them do, but are fewer.
    pub(super) fn of_part(&self, part: &Traces) -> Self {
        let mut of_part = Self::default();
        part.records().for_each(|record| of_part.add(&record));
        Self { ends: self.ends.clone(), ..of_part }
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the time from the first record to the last.
    pub fn duration(&self) -> Nanos {
        self.times.map_or(Nanos::ZERO, |(first, last)| last - first)
    }

    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace with a request to each of its volumes at each of these seconds.
    fn trace(name: &str, volumes: &[&str], absolute: bool, seconds: &[u64]) -> TraceInput {
        let record = |second: u64, volume: usize| Record {
            at: Nanos::from_secs(second),
            offset: 0,
            length: 512,
            volume: VolumeIndex(volume as u32),
            operation: Operation::Write,
            response: None,
        };
        let records = seconds.iter().flat_map(|&second| (0..volumes.len()).map(move |volume| record(second, volume)));
        let spool = Spool::from_records(records, volumes.iter().map(ToString::to_string).collect()).unwrap();
        TraceInput { name: name.into(), spool, has_times: true, absolute, notes: Vec::new() }
    }

    fn combined(inputs: Vec<TraceInput>) -> (Vec<(u64, u32)>, Vec<String>, String) {
        let traces = Traces::of(inputs);
        let records = traces.records().map(|record| (record.at.0 / 1_000_000_000, record.volume.0)).collect();
        (records, traces.volumes().to_vec(), traces.remark().unwrap_or_default().to_string())
    }

    /// The days of one system: a second day of the same volume is no second volume.
    #[test]
    fn volumes_of_traces_that_follow_each_other_are_the_same() {
        let days =
            vec![trace("day2", &["b", "a"], true, &[1_100, 1_200]), trace("day1", &["a"], true, &[1_000, 1_100])];
        let (records, volumes, remark) = combined(days);
        assert_eq!(records, [(0, 1), (100, 0), (100, 1), (100, 1), (200, 0), (200, 1)]);
        assert_eq!(volumes, ["day2:b", "a"]);
        assert_eq!(remark, "Traces that follow each other are taken to be of one system: volume a is one volume.");
    }

    #[test]
    fn notes_of_several_traces_have_their_names() {
        let noted = |name| TraceInput { notes: vec!["cut off".into()], ..trace(name, &["0"], false, &[0]) };
        assert_eq!(Traces::of([noted("a")]).notes(), ["cut off"]);
        assert_eq!(Traces::of([noted("a"), noted("b")]).notes(), ["a: cut off", "b: cut off"]);
    }

    #[test]
    fn volumes_of_traces_that_overlap_are_side_by_side() {
        let servers = vec![trace("x", &["0"], true, &[1_000, 2_000]), trace("y", &["0"], true, &[1_990, 3_000])];
        let (records, volumes, remark) = combined(servers);
        assert_eq!(records, [(0, 0), (990, 1), (1_000, 0), (2_000, 1)]);
        assert_eq!(volumes, ["x:0", "y:0"]);
        let expected = "Traces that overlap in time are taken to be of different systems: in each, volume 0 is a \
                        volume of its own.";
        assert_eq!(remark, expected);
    }

    /// What recordings have of the time before they were cut, and traces of different volumes, which may overlap.
    #[test]
    fn a_small_overlap_and_other_names_do_not_matter() {
        let hours = vec![
            trace("0-a", &["0"], true, &[10_000, 13_600]),
            trace("1-a", &["1"], true, &[10_000, 13_600]),
            trace("0-b", &["0"], true, &[13_590, 17_200]),
            trace("1-b", &["1"], true, &[13_600, 17_200]),
        ];
        let (_, volumes, remark) = combined(hours);
        assert_eq!(volumes, ["0", "1"]);
        let expected = "Traces that follow each other are taken to be of one system: volumes 0, 1 are one volume each.";
        assert_eq!(remark, expected);
        let servers = vec![trace("x", &["0"], true, &[1_000, 2_000]), trace("y", &["1"], true, &[1_500, 2_500])];
        assert_eq!(combined(servers).2, "");
    }

    /// One that begins and ends while another one goes on is of another system, even if a third one lies between them.
    #[test]
    fn a_trace_within_another_one_overlaps() {
        let one = |name: &str, seconds: &[u64]| trace(name, &["0"], true, seconds);
        for short in [vec![1_500], vec![1_500, 1_501]] {
            let all = vec![one("a", &[1_000, 2_000]), one("b", &short), one("c", &[1_600, 3_000])];
            assert_eq!(combined(all).1, ["a:0", "b:0", "c:0"]);
            let two = vec![one("a", &[1_000, 2_000]), one("b", &short)];
            assert_eq!(combined(two).1, ["a:0", "b:0"]);
        }
        let after = vec![one("a", &[1_000, 2_000]), one("b", &[2_000]), one("c", &[2_000, 3_000])];
        assert_eq!(combined(after).1, ["a:0", "b:0", "c:0"], "b and c begin at the same time");
        let after = vec![one("a", &[1_000, 2_000]), one("b", &[2_000]), one("c", &[2_001, 3_000])];
        assert_eq!(combined(after).1, ["0"]);
    }

    /// A file of one request, or of none, takes the times from no other one.
    #[test]
    fn times_count_if_they_differ_over_all_traces() {
        let times = |inputs: Vec<TraceInput>| Traces::of(inputs).has_times();
        let days = |short: &[u64]| vec![trace("a", &["0"], true, &[1_000, 2_000]), trace("b", &["1"], true, short)];
        assert!(times(days(&[1_500])) && times(days(&[])) && times(days(&[1_500, 1_500])));
        let moments = vec![trace("a", &["0"], true, &[1_000]), trace("b", &["0"], true, &[2_000])];
        assert!(times(moments));
        assert!(!times(vec![trace("a", &["0"], true, &[1_000, 1_000])]));
        let unstamped = |seconds: &[u64]| TraceInput { has_times: false, ..trace("x", &["0"], false, seconds) };
        assert!(!times(vec![trace("a", &["0"], true, &[1_000, 2_000]), unstamped(&[0, 0])]));
        let together = |seconds: &[u64]| vec![trace("a", &["0"], false, &[1, 2]), trace("b", &["0"], false, seconds)];
        assert!(times(together(&[7])) && !times(together(&[7, 7])));
    }

    #[test]
    fn without_absolute_times_all_begin_together_side_by_side() {
        let runs = vec![trace("x", &["0"], false, &[5, 6]), trace("y", &["0"], true, &[1_000, 1_001])];
        let (records, volumes, remark) = combined(runs);
        assert_eq!(records, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(volumes, ["x:0", "y:0"]);
        assert!(remark.starts_with("Not all traces have absolute times"), "{remark}");
    }
}
