//! The sizes of requests.

use esker_results::profile::{CommonSize, SizeBin, SizeDistribution};
use std::collections::BTreeMap;

use crate::{Operation, Record};

/// Counts of reads and of writes.
type Pair = [u64; 2];

/// Sizes of whole sectors up to this one are counted in a flat table.
const FLAT_BYTES: usize = 1 << 20;
/// If there are more distinct odd sizes than this, further ones are rounded to ten significant bits (0.1 %).
const ODD_SIZES_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Sizes {
    flat: Vec<Pair>,
    odd: BTreeMap<u32, Pair>,
    bytes: [u64; 2],
    max: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { flat: vec![[0; 2]; FLAT_BYTES / 512 + 1], odd: BTreeMap::new(), bytes: [0; 2], max: 0 }
    }
}

impl Sizes {
    #[inline]
    pub(super) fn push(&mut self, record: &Record) {
        let length = record.length;
        let kind = usize::from(record.operation == Operation::Write);
        self.bytes[kind] += u64::from(length);
        self.max = self.max.max(length);
        if length.is_multiple_of(512) && length as usize <= FLAT_BYTES {
            self.flat[length as usize / 512][kind] += 1;
        } else {
            self.push_odd(length, kind);
        }
    }

    #[cold]
    fn push_odd(&mut self, length: u32, kind: usize) {
        let mut key = length;
        if self.odd.len() >= ODD_SIZES_MAX && !self.odd.contains_key(&key) {
            let dropped_bits = (32 - length.leading_zeros()).saturating_sub(10);
            key = length >> dropped_bits << dropped_bits;
        }
        self.odd.entry(key).or_default()[kind] += 1;
    }

    /// All sizes with their counts, by rising size.
    fn rising(&self) -> Vec<(u64, Pair)> {
        let flat = self.flat.iter().enumerate().map(|(sectors, &pair)| (sectors as u64 * 512, pair));
        let odd = self.odd.iter().map(|(&bytes, &pair)| (u64::from(bytes), pair));
        let mut all: Vec<(u64, Pair)> = flat.chain(odd).filter(|(_, pair)| *pair != [0; 2]).collect();
        all.sort_unstable_by_key(|(bytes, _)| *bytes);
        all
    }

    /// The median over reads and writes together (nearest rank); zero if there are none.
    pub(super) fn median(&self) -> u64 {
        median(&self.rising(), |pair| pair[0] + pair[1]).unwrap_or(0)
    }

    pub(super) fn finish(&self, common_sizes: usize) -> SizeDistribution {
        let rising = self.rising();
        let totals = rising.iter().fold([0; 2], |sum: Pair, (_, pair)| [sum[0] + pair[0], sum[1] + pair[1]]);
        let mean = |kind: usize| (totals[kind] > 0).then(|| self.bytes[kind] as f64 / totals[kind] as f64);
        let mut common = rising.clone();
        common.sort_by_key(|&(bytes, pair)| (std::cmp::Reverse(pair[0] + pair[1]), bytes));
        common.truncate(common_sizes);
        SizeDistribution {
            read_mean_bytes: mean(0),
            write_mean_bytes: mean(1),
            read_median_bytes: median(&rising, |pair| pair[0]),
            write_median_bytes: median(&rising, |pair| pair[1]),
            max_bytes: u64::from(self.max),
            bins: bins(&rising),
            common: common.into_iter().map(|(bytes, [reads, writes])| CommonSize { bytes, reads, writes }).collect(),
        }
    }
}

fn median(rising: &[(u64, Pair)], count: impl Fn(&Pair) -> u64) -> Option<u64> {
    let total: u64 = rising.iter().map(|(_, pair)| count(pair)).sum();
    let mut before = 0;
    for (bytes, pair) in rising {
        before += count(pair);
        if before * 2 >= total && total > 0 {
            return Some(*bytes);
        }
    }
    None
}

fn bins(rising: &[(u64, Pair)]) -> Vec<SizeBin> {
    // Bin 0 holds empty requests, bin i sizes from 2^(i-1) up to 2^i.
    let bin_of = |bytes: u64| (u64::BITS - bytes.leading_zeros()) as usize;
    let (Some(first), Some(last)) = (rising.first(), rising.last()) else { return Vec::new() };
    let lowest = bin_of(first.0);
    let edge = |bin: usize| if bin == 0 { 0 } else { 1u64 << (bin - 1) };
    let mut bins: Vec<SizeBin> = (lowest..=bin_of(last.0))
        .map(|bin| SizeBin { from_bytes: edge(bin), to_bytes: edge(bin + 1), reads: 0, writes: 0 })
        .collect();
    for &(bytes, [reads, writes]) in rising {
        let bin = &mut bins[bin_of(bytes) - lowest];
        bin.reads += reads;
        bin.writes += writes;
    }
    bins
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;

    use super::*;
    use crate::VolumeIndex;

    fn sizes(requests: &[(u32, Operation)]) -> Sizes {
        let mut sizes = Sizes::default();
        for &(length, operation) in requests {
            sizes.push(&Record {
                at: Nanos::ZERO,
                offset: 0,
                length,
                volume: VolumeIndex(0),
                operation,
                response: None,
            });
        }
        sizes
    }

    #[test]
    fn sizes_of_all_kinds_are_counted_exactly() {
        use Operation::{Read, Write};
        let sizes = sizes(&[(4096, Read), (4096, Write), (5_000_000, Write), (100, Read), (0, Read), (4097, Write)]);
        let distribution = sizes.finish(2);
        assert_eq!(sizes.median(), 4096);
        assert_eq!(distribution.read_median_bytes, Some(100));
        assert_eq!(distribution.write_median_bytes, Some(4097));
        assert_eq!(distribution.read_mean_bytes, Some(4196.0 / 3.0));
        assert_eq!(distribution.max_bytes, 5_000_000);
        assert_eq!(distribution.common[0], CommonSize { bytes: 4096, reads: 1, writes: 1 });
        assert_eq!(distribution.common.len(), 2);
        let first = distribution.bins[0];
        assert_eq!(first, SizeBin { from_bytes: 0, to_bytes: 1, reads: 1, writes: 0 });
        let last = distribution.bins.last().unwrap();
        assert_eq!((last.from_bytes, last.to_bytes, last.writes), (1 << 22, 1 << 23, 1));
        assert_eq!(distribution.bins.iter().map(|bin| bin.reads + bin.writes).sum::<u64>(), 6);
    }

    #[test]
    fn endless_odd_sizes_stay_bounded() {
        let mut sizes = Sizes::default();
        for length in 0..200_000 {
            sizes.push_odd(3_000_001 + 2 * length, 1);
        }
        assert!(sizes.odd.len() < ODD_SIZES_MAX + 1024, "{}", sizes.odd.len());
        let median = sizes.median() as f64;
        assert!((median / 3_200_000.0 - 1.0).abs() < 2e-3, "{median}");
    }

    #[test]
    fn nothing_has_no_median() {
        let nothing = Sizes::default().finish(5);
        assert_eq!(nothing, SizeDistribution::default());
    }
}
