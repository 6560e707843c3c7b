//! What is asked of a class.

use std::collections::BTreeMap;

use esker_trace::Operation;

/// Requests and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Reads that do not begin where the request before them on their volume ended.
    pub random_reads: u64,
    /// The other reads.
    pub sequential_reads: u64,
    /// Writes that do not begin where the request before them on their volume ended.
    pub random_writes: u64,
    /// The other writes.
    pub sequential_writes: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Those of sequential reads.
    pub sequential_read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Those of sequential writes.
    pub sequential_written_bytes: u64,
}

impl Load {
    /// A request, or another part of one, with this number of bytes.
    pub(super) fn of(operation: Operation, is_sequential: bool, is_new: bool, bytes: u64) -> Self {
        let (number, mut load) = (u64::from(is_new), Self::default());
        match (operation == Operation::Read, is_sequential) {
            (true, false) => load.random_reads = number,
            (true, true) => load.sequential_reads = number,
            (false, false) => load.random_writes = number,
            (false, true) => load.sequential_writes = number,
        }
        let in_sequence = if is_sequential { bytes } else { 0 };
        match operation == Operation::Read {
            true => (load.read_bytes, load.sequential_read_bytes) = (bytes, in_sequence),
            false => (load.written_bytes, load.sequential_written_bytes) = (bytes, in_sequence),
        }
        load
    }

    /// Adds another load to this one.
    pub fn add(&mut self, other: &Self) {
        self.random_reads += other.random_reads;
        self.sequential_reads += other.sequential_reads;
        self.random_writes += other.random_writes;
        self.sequential_writes += other.sequential_writes;
        self.read_bytes += other.read_bytes;
        self.sequential_read_bytes += other.sequential_read_bytes;
        self.written_bytes += other.written_bytes;
        self.sequential_written_bytes += other.sequential_written_bytes;
    }

    /// Reads and writes.
    pub fn requests(&self) -> u64 {
        self.random_reads + self.sequential_reads + self.random_writes + self.sequential_writes
    }

    /// Bytes that were read and written.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }
}

/// What each second of a class asks for, as it comes.
#[derive(Default)]
pub(super) struct Seconds {
    total: Load,
    seconds: Vec<(u32, Load)>,
}

impl Seconds {
    pub(super) fn add(&mut self, second: u32, load: &Load) {
        self.total.add(load);
        match self.seconds.last_mut() {
            Some((last, sum)) if *last == second => sum.add(load),
            _ => self.seconds.push((second, *load)),
        }
    }

    pub(super) fn into_parts(self) -> (Load, Vec<(u32, Load)>) {
        (self.total, self.seconds)
    }
}

/// What devices have to give in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes that are read.
    pub read_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
}

/// What is asked in a second of several classes together, each figure at this quantile (above 0, at most 1) of the
/// seconds in which one of them is asked for anything. Peaks that never meet are not added up.
pub fn demand<'a>(classes: impl IntoIterator<Item = &'a [(u32, Load)]>, quantile: f64) -> Demand {
    let mut seconds: BTreeMap<u32, Load> = BTreeMap::new();
    for (second, load) in classes.into_iter().flatten() {
        seconds.entry(*second).or_default().add(load);
    }
    let at_quantile = |figure: fn(&Load) -> u64| {
        let mut figures: Vec<u64> = seconds.values().map(figure).collect();
        let rank = ((quantile * figures.len() as f64).ceil() as usize).clamp(1, figures.len().max(1));
        match figures.is_empty() {
            true => 0,
            false => *figures.select_nth_unstable(rank - 1).1,
        }
    };
    Demand {
        requests: at_quantile(Load::requests),
        bytes: at_quantile(Load::bytes),
        read_bytes: at_quantile(|load| load.read_bytes),
        written_bytes: at_quantile(|load| load.written_bytes),
    }
}
