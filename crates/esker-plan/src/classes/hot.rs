//! The bins of hot records.

use std::collections::BTreeSet;
use std::fmt;

use super::ClassSettings;
use super::records::RecordCounts;

/// A bin of hot records: its number by each property, from 0 for the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HotBin {
    /// By the share of reads.
    pub reads: u8,
    /// By the mean size of requests.
    pub size: u8,
    /// By requests in the busiest second.
    pub intensity: u8,
}

/// Neighbouring bins of hot records, from one to another of each property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HotBins {
    /// The lowest number of each property.
    pub from: HotBin,
    /// The highest number of each property.
    pub to: HotBin,
}

impl fmt::Display for HotBins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        let between = |from: u8, to: u8| if from == to { from.to_string() } else { format!("{from} to {to}") };
        let (reads, size) = (between(from.reads, to.reads), between(from.size, to.size));
        write!(f, "hot, reads {reads}, size {size}, intensity {}", between(from.intensity, to.intensity))
    }
}

impl HotBins {
    pub(super) fn one(bin: HotBin) -> Self {
        Self { from: bin, to: bin }
    }

    /// The smallest range that holds both.
    pub(super) fn with(self, other: Self) -> Self {
        let pick = |pick: fn(u8, u8) -> u8, one: HotBin, other: HotBin| HotBin {
            reads: pick(one.reads, other.reads),
            size: pick(one.size, other.size),
            intensity: pick(one.intensity, other.intensity),
        };
        Self { from: pick(u8::min, self.from, other.from), to: pick(u8::max, self.to, other.to) }
    }

    /// Whether a bin is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        let meet = |of: fn(&HotBin) -> u8| of(&self.from) <= of(&other.to) && of(&other.from) <= of(&self.to);
        meet(|bin| bin.reads) && meet(|bin| bin.size) && meet(|bin| bin.intensity)
    }
}

/// The bin of a record; `None` if it is cold.
fn bin(counts: &RecordCounts, settings: &ClassSettings) -> Option<HotBin> {
    if counts.busiest <= settings.hot_above {
        return None;
    }
    let number = |bins: usize| u8::try_from(bins).unwrap_or(u8::MAX);
    let requests = counts.requests as f64;
    Some(HotBin {
        reads: number(settings.read_shares.partition_point(|&begin| counts.reads as f64 >= begin * requests)),
        size: number(settings.sizes.partition_point(|&begin| counts.bytes >= begin.0 * counts.requests)),
        intensity: number(settings.intensities.partition_point(|&begin| counts.busiest >= begin)),
    })
}

/// The class of each record, and the bins of the classes that have records.
pub(super) fn bins(counts: &[RecordCounts], settings: &ClassSettings) -> (Vec<u32>, Vec<Option<HotBins>>) {
    let found: Vec<Option<HotBin>> = counts.iter().map(|counts| bin(counts, settings)).collect();
    let all: BTreeSet<Option<HotBin>> = found.iter().copied().collect();
    // The cold one is the last.
    let mut bins: Vec<Option<HotBin>> = all.iter().copied().filter(Option::is_some).collect();
    bins.extend(all.contains(&None).then_some(None));
    let number = |bin: &Option<HotBin>| match bin {
        Some(_) => bins.partition_point(|other| other.is_some_and(|other| Some(other) < *bin)),
        None => bins.len() - 1,
    };
    let of_record = found.iter().map(|bin| number(bin) as u32).collect();
    (of_record, bins.into_iter().map(|bin| bin.map(HotBins::one)).collect())
}
