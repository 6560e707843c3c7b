//! Maps sparse address spaces to a dense one.
//!
//! A trace of a large volume touches a small part of it. Kim 2009 (section 3.5) simulates only that part, the *active
//! region*. Here every touched 1 MiB area gets a place in a dense address space, by volume and address.

use crate::analyze::AREA_BYTES;
use crate::{AreaSet, VolumeIndex};

/// Maps (volume, byte) to a byte of a dense address space.
///
/// The order is kept: of two bytes of one volume the lower one stays lower, and all bytes of a volume lie below those
/// of the next volume. No two bytes share a place. A request whose areas were added stays contiguous, because all areas
/// that it touches are there.
///
/// ```
/// use esker_trace::{AreaSet, DenseMap, Operation, Record, VolumeIndex};
/// # use esker_core::Nanos;
/// # let record = |offset| Record { at: Nanos::ZERO, offset, length: 4096, volume: VolumeIndex(0),
/// #     operation: Operation::Read, response: None };
/// let mut touched = AreaSet::default();
/// touched.add(&record(5 << 20));
/// touched.add(&record((900 << 20) + 8192));
/// let map = DenseMap::new(&touched);
/// assert_eq!(map.map(VolumeIndex(0), 5 << 20), Some(0));
/// assert_eq!(map.map(VolumeIndex(0), (900 << 20) + 8192), Some((1 << 20) + 8192));
/// assert_eq!(map.map(VolumeIndex(0), 0), None);
/// assert_eq!(map.footprint(), 2 << 20);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DenseMap {
    base: u64,
    /// Numbers of the touched areas, volume by volume, rising within each.
    areas: Vec<u64>,
    volumes: Vec<VolumeRange>,
    /// See [`VolumeRange::directory`].
    directory: Vec<u32>,
    /// Untouched areas between the lowest and the highest one of each volume.
    gaps: u64,
}

/// Where the areas of one volume are.
#[derive(Clone, Copy, Debug, Default)]
struct VolumeRange {
    /// The volume's part of `areas`.
    from: u32,
    to: u32,
    /// Number of the lowest area.
    lowest: u64,
    /// Untouched areas between the lowest and the highest one of each volume before this one.
    gaps_before: u64,
    /// Start of the volume's part of the directory. Entry `i` is the position of the first area at or above `lowest +
    /// (i << shift)`, so that a look-up searches only between two neighbouring entries.
    directory: u32,
    shift: u32,
}

impl VolumeRange {
    /// Untouched areas before the one with this number, which has this place among all touched ones.
    #[inline]
    fn gaps(&self, position: usize, number: u64) -> u64 {
        self.gaps_before + (number - self.lowest) - (position as u64 - u64::from(self.from))
    }
}

impl DenseMap {
    /// Lays the touched areas out one after another from address zero.
    pub fn new(touched: &impl AsRef<AreaSet>) -> Self {
        Self::starting_at(touched, 0)
    }

    /// Lays the touched areas out from address `base`, a multiple of 1 MiB (asserted). Several traces lie side by side
    /// if each one begins at the [`end`](Self::end) of the one before.
    pub fn starting_at(touched: &impl AsRef<AreaSet>, base: u64) -> Self {
        assert!(base.is_multiple_of(AREA_BYTES), "a dense map begins at a multiple of {AREA_BYTES}, not at {base}");
        let mut map = Self { base, ..Self::default() };
        for (volume, number) in touched.as_ref().sorted() {
            if map.volumes.len() <= volume as usize {
                let at = map.areas.len() as u32;
                map.volumes.resize(volume as usize + 1, VolumeRange { from: at, to: at, ..VolumeRange::default() });
            }
            map.areas.push(number);
            map.volumes[volume as usize].to = map.areas.len() as u32;
        }
        let mut gaps_before = 0;
        for volume in 0..map.volumes.len() {
            map.build_directory(volume);
            map.volumes[volume].gaps_before = gaps_before;
            let VolumeRange { from, to, lowest, .. } = map.volumes[volume];
            if let Some(&highest) = map.areas[from as usize..to as usize].last() {
                gaps_before += highest - lowest + 1 - u64::from(to - from);
            }
        }
        map.gaps = gaps_before;
        map
    }

    fn build_directory(&mut self, volume: usize) {
        let range = &mut self.volumes[volume];
        let areas = &self.areas[range.from as usize..range.to as usize];
        let (Some(&lowest), Some(&highest)) = (areas.first(), areas.last()) else { return };
        // About one area per bucket if areas are spread evenly.
        let buckets_max = areas.len().next_power_of_two() as u64;
        let bits = |value: u64| u64::BITS - value.leading_zeros();
        range.shift = bits(highest - lowest).saturating_sub(bits(buckets_max - 1));
        range.lowest = lowest;
        range.directory = self.directory.len() as u32;
        let mut position = 0;
        for bucket in 0..=(highest - lowest) >> range.shift {
            while areas[position] < lowest + (bucket << range.shift) {
                position += 1;
            }
            self.directory.push(range.from + position as u32);
        }
        self.directory.push(range.to);
    }

    /// The dense address of byte `offset` of `volume`; `None` if its area was not touched. O(1) if areas are spread
    /// evenly, never worse than O(log n).
    #[inline]
    pub fn map(&self, volume: VolumeIndex, offset: u64) -> Option<u64> {
        self.map_with_gaps(volume, offset).map(|(dense, _)| dense)
    }

    /// The dense address of a byte, and how many untouched areas come before it in its volume and those before.
    #[inline]
    pub(crate) fn map_with_gaps(&self, volume: VolumeIndex, offset: u64) -> Option<(u64, u64)> {
        let range = self.volumes.get(volume.0 as usize)?;
        let number = offset / AREA_BYTES;
        if range.from == range.to || number < range.lowest {
            return None;
        }
        let bucket = ((number - range.lowest) >> range.shift) as usize;
        let first = range.directory as usize + bucket;
        // The last entry of this volume's directory is `range.to`, so nothing beyond the highest area is found.
        if number > self.areas[range.to as usize - 1] {
            return None;
        }
        let (from, to) = (self.directory[first] as usize, self.directory[first + 1] as usize);
        let position = from + self.areas[from..to].partition_point(|&area| area < number);
        (self.areas.get(position) == Some(&number) && position < to).then(|| {
            let dense = self.base + position as u64 * AREA_BYTES + offset % AREA_BYTES;
            (dense, range.gaps(position, number))
        })
    }

    /// The parts of a range that have dense addresses, as (dense address, length), each as long as possible. A read or
    /// write whose areas were added is one part; a trim may be none or many.
    pub fn parts(&self, volume: VolumeIndex, offset: u64, length: u64) -> Vec<(u64, u64)> {
        self.parts_at(volume, offset, length, |dense, _| dense)
    }

    /// Returns the same parts at the addresses that `place` returns. It gets a dense address, and the number of
    /// untouched areas before it.
    pub(crate) fn parts_at(
        &self,
        volume: VolumeIndex,
        offset: u64,
        length: u64,
        place: impl Fn(u64, u64) -> u64,
    ) -> Vec<(u64, u64)> {
        let mut parts: Vec<(u64, u64)> = Vec::new();
        let Some(range) = self.volumes.get(volume.0 as usize) else { return parts };
        let end = offset.saturating_add(length);
        let areas = &self.areas[range.from as usize..range.to as usize];
        let first = areas.partition_point(|&area| area < offset / AREA_BYTES);
        for (position, &number) in areas.iter().enumerate().skip(first) {
            let from = offset.max(number * AREA_BYTES);
            let to = end.min((number + 1).saturating_mul(AREA_BYTES));
            if from >= to {
                break;
            }
            let index = range.from as usize + position;
            let dense = self.base + index as u64 * AREA_BYTES + from % AREA_BYTES;
            let place = place(dense, range.gaps(index, number));
            match parts.last_mut() {
                Some((start, length))
                    if *start + *length == place && number > 0 && areas[position - 1] == number - 1 =>
                {
                    *length += to - from;
                }
                _ => parts.push((place, to - from)),
            }
        }
        parts
    }

    /// The bytes that have the `length` dense addresses from `start` on, as (volume, first byte, bytes), each as long
    /// as possible. Dense addresses that are none of this map are left out.
    pub fn sparse(&self, start: u64, length: u64) -> Vec<(VolumeIndex, u64, u64)> {
        let mut parts: Vec<(VolumeIndex, u64, u64)> = Vec::new();
        let end = start.saturating_add(length).min(self.end());
        let mut at = start.max(self.base);
        while at < end {
            let position = ((at - self.base) / AREA_BYTES) as usize;
            let within = (at - self.base) % AREA_BYTES;
            let bytes = (AREA_BYTES - within).min(end - at);
            let volume = self.volumes.partition_point(|range| range.to as usize <= position);
            let (volume, offset) = (VolumeIndex(volume as u32), self.areas[position] * AREA_BYTES + within);
            match parts.last_mut() {
                Some((last, first, length)) if *last == volume && *first + *length == offset => *length += bytes,
                _ => parts.push((volume, offset, bytes)),
            }
            at += bytes;
        }
        parts
    }

    /// Size of the dense address space: the number of touched areas times 1 MiB.
    pub fn footprint(&self) -> u64 {
        self.areas.len() as u64 * AREA_BYTES
    }

    /// Bytes from the lowest touched area of each volume to its highest, of all volumes together.
    pub fn span(&self) -> u64 {
        (self.areas.len() as u64 + self.gaps).saturating_mul(AREA_BYTES)
    }

    /// The first dense address beyond this map. The map of the next trace may begin here.
    pub fn end(&self) -> u64 {
        self.base + self.footprint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use esker_core::Nanos;
    use proptest::prelude::*;

    use super::*;
    use crate::{Operation, Record};

    fn record((volume, offset, length): (u32, u64, u32)) -> Record {
        Record {
            at: Nanos::ZERO,
            offset,
            length,
            volume: VolumeIndex(volume),
            operation: Operation::Write,
            response: None,
        }
    }

    /// Addresses close together and far apart, on few volumes.
    fn request() -> impl Strategy<Value = (u32, u64, u32)> {
        let offset = prop_oneof![0u64..20 << 20, (1u64 << 40)..(1 << 40) + (50 << 20), 0u64..1 << 50];
        (0u32..4, offset, 1u32..5_000_000)
    }

    proptest! {
        #[test]
        fn order_is_kept_no_two_share_a_place_and_requests_stay_whole(
            requests in prop::collection::vec(request(), 1..60), base in 0u64..5,
        ) {
            let mut touched = AreaSet::default();
            requests.iter().for_each(|&request| touched.add(&record(request)));
            let base = base * AREA_BYTES;
            let map = DenseMap::starting_at(&touched, base);
            let mut places = BTreeMap::new();
            for request in requests.iter().map(|&request| record(request)) {
                let start = map.map(request.volume, request.offset).unwrap();
                let last = map.map(request.volume, request.end() - 1).unwrap();
                prop_assert_eq!(last - start, u64::from(request.length) - 1);
                let parts = map.parts(request.volume, request.offset, u64::from(request.length));
                prop_assert_eq!(parts, vec![(start, u64::from(request.length))]);
                let back = map.sparse(start, request.length.into());
                prop_assert_eq!(back, vec![(request.volume, request.offset, request.length.into())]);
                prop_assert!(base <= start && last < map.end());
                places.insert((request.volume, request.offset), start);
                places.insert((request.volume, request.end() - 1), last);
            }
            let dense: Vec<u64> = places.values().copied().collect();
            prop_assert!(dense.windows(2).all(|pair| pair[0] < pair[1]), "order of volumes and addresses");
            prop_assert_eq!(map.end() - base, touched.len() as u64 * AREA_BYTES);
        }

        #[test]
        fn only_touched_areas_have_a_place(
            requests in prop::collection::vec(request(), 1..30), probes in prop::collection::vec(request(), 1..100),
        ) {
            let mut touched = AreaSet::default();
            requests.iter().for_each(|&request| touched.add(&record(request)));
            let map = DenseMap::new(&touched);
            let areas = touched.sorted();
            for (volume, offset, length) in probes {
                let rank = areas.binary_search(&(volume, offset / AREA_BYTES)).ok();
                let expected = rank.map(|rank| rank as u64 * AREA_BYTES + offset % AREA_BYTES);
                prop_assert_eq!(map.map(VolumeIndex(volume), offset), expected);
                // Parts cover exactly the mapped bytes: compare lengths by area.
                let end = offset + u64::from(length);
                let covered: u64 = areas
                    .iter()
                    .filter(|(of, _)| *of == volume)
                    .map(|(_, number)| end.min((number + 1) << 20).saturating_sub(offset.max(number << 20)))
                    .sum();
                let parts = map.parts(VolumeIndex(volume), offset, u64::from(length));
                prop_assert_eq!(parts.iter().map(|(_, length)| length).sum::<u64>(), covered);
            }
        }
    }

    #[test]
    fn traces_lie_side_by_side() {
        let mut touched = AreaSet::default();
        touched.add(&record((0, 7 << 20, 1 << 20)));
        let first = DenseMap::new(&touched);
        let second = DenseMap::starting_at(&touched, first.end());
        assert_eq!(first.map(VolumeIndex(0), 7 << 20), Some(0));
        assert_eq!(second.map(VolumeIndex(0), 7 << 20), Some(1 << 20));
        assert_eq!(second.end(), 2 << 20);
        assert_eq!(DenseMap::default().map(VolumeIndex(3), 0), None);
    }

    #[test]
    fn the_last_area_of_all_has_a_place() {
        let mut touched = AreaSet::default();
        touched.add(&record((0, u64::MAX - 100, 4096)));
        let map = DenseMap::new(&touched);
        assert_eq!(map.map(VolumeIndex(0), u64::MAX - 100), Some(AREA_BYTES - 101));
        assert_eq!(map.parts(VolumeIndex(0), u64::MAX - 100, 4096), [(AREA_BYTES - 101, 100)]);
    }
}
