//! Ranges of addresses apart from each other.

use std::collections::BTreeSet;

use esker_core::Bytes;

use crate::extent::DeviceIndex;
use crate::range_map::PinnedRange;

/// Ranges apart from each other, in order of address: there may be as many as extents.
#[derive(Debug)]
pub(super) struct RangesApart(Vec<PinnedRange>);

/// The addresses of `ranges` as ranges apart from each other. Where several overlap, the first one counts.
pub(super) fn apart(ranges: &[PinnedRange]) -> RangesApart {
    // At each address where ranges begin or end: their numbers, and whether they begin.
    let begins = ranges.iter().enumerate().map(|(number, range)| (range.start.0, number, true));
    let ends = ranges.iter().enumerate().map(|(number, range)| (end(range), number, false));
    let mut changes: Vec<(u64, usize, bool)> = begins.chain(ends).collect();
    changes.sort_unstable();
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut found: Vec<PinnedRange> = Vec::new();
    let mut from = 0;
    for (at, number, begins) in changes {
        if let Some(&first) = open.first().filter(|_| from < at) {
            let (device, length) = (ranges[first].device, Bytes(at - from));
            match found.last_mut().filter(|last| last.device == device && end(last) == from) {
                Some(last) => last.length.0 += length.0,
                None => found.push(PinnedRange { start: Bytes(from), length, device }),
            }
        }
        from = at;
        if begins {
            open.insert(number)
        } else {
            open.remove(&number)
        };
    }
    RangesApart(found)
}

fn end(range: &PinnedRange) -> u64 {
    range.start.0.saturating_add(range.length.0)
}

impl RangesApart {
    /// Returns the device to which the extent that begins at `start` belongs.
    pub(super) fn device(&self, start: Bytes) -> Option<DeviceIndex> {
        let after = self.0.partition_point(|range| range.start <= start);
        let range = &self.0[after.checked_sub(1)?];
        (start.0 - range.start.0 < range.length.0).then_some(DeviceIndex(range.device))
    }

    /// Divides the first `extents` extents, of `extent` bytes each, into runs that belong to the same device or to
    /// none: the first extent of each, the one behind it, and the device.
    pub(super) fn runs(&self, extents: u32, extent: Bytes) -> Vec<(u32, u32, Option<DeviceIndex>)> {
        // Number of the first extent that begins at this byte or later.
        let at = |byte: u64| byte.div_ceil(extent.0).min(u64::from(extents)) as u32;
        let ends = |range: &PinnedRange| [at(range.start.0), at(end(range))];
        let mut bounds: Vec<u32> = self.0.iter().flat_map(ends).chain([0, extents]).collect();
        bounds.sort_unstable();
        let runs = bounds.iter().zip(&bounds[1..]).filter(|(first, end)| first < end);
        runs.map(|(&first, &end)| (first, end, self.device(Bytes(u64::from(first) * extent.0)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges that overlap at random are found as one after the other finds them.
    #[test]
    fn the_first_range_with_an_address_counts() {
        let mut rng = esker_core::Rng::new(7);
        for _ in 0..200 {
            let range = |_| PinnedRange {
                start: Bytes(rng.below(40)),
                length: Bytes(1 + rng.below(12)),
                device: rng.below(3) as u16,
            };
            let ranges: Vec<PinnedRange> = (0..6).map(range).collect();
            let one_by_one = |at: u64| {
                let holds = |range: &&PinnedRange| at.checked_sub(range.start.0).is_some_and(|to| to < range.length.0);
                ranges.iter().find(holds).map(|range| DeviceIndex(range.device))
            };
            let found = apart(&ranges);
            for at in 0..60 {
                assert_eq!(found.device(Bytes(at)), one_by_one(at), "{at} of {ranges:?}");
            }
        }
    }

    /// As many ranges as a large volume has extents: each look-up is a search by halves.
    #[test]
    fn a_million_ranges_are_no_more_than_a_million() {
        let range = |number: u64| PinnedRange {
            start: Bytes::mib(2 * number),
            length: Bytes::mib(1),
            device: (number % 2) as u16,
        };
        let ranges: Vec<PinnedRange> = (0..1_000_000).map(range).collect();
        let text = crate::RangeMap::new(ranges.clone(), ["a", "b"]).to_string();
        let read = crate::RangeMap::parse(&text).unwrap().on(["a", "b"]).unwrap();
        assert_eq!(read[..], ranges[..]);
        let apart = apart(&read);
        for number in 0..1_000_000 {
            assert_eq!(apart.device(Bytes::mib(2 * number)), Some(DeviceIndex((number % 2) as u16)));
            assert_eq!(apart.device(Bytes::mib(2 * number + 1)), None);
        }
        assert_eq!(apart.runs(2_000_000, Bytes::mib(1)).len(), 2_000_000);
    }
}
