//! Maps a trace's addresses to a disk on which its volumes lie one after another.
//!
//! How far an arm has to go depends on the distances between data. A [`DenseMap`] has none: it suits what has no arm.

use crate::analyze::AREA_BYTES;
use crate::{DenseMap, VolumeIndex};

/// Maps (volume, byte) to a byte of a disk. Volumes lie one after another, each from its lowest touched area of 1 MiB
/// to its highest. The untouched areas between are made larger or smaller, all in the same proportion, so that
/// everything together fills a given space. Touched areas that are neighbours stay neighbours, so that no request is
/// torn.
///
/// ```
/// use esker_trace::{DenseMap, Operation, Record, SpreadMap, TouchedAreas, VolumeIndex};
/// # use esker_core::Nanos;
/// # let record = |offset| Record { at: Nanos::ZERO, offset, length: 4096, volume: VolumeIndex(0),
/// #     operation: Operation::Read, response: None };
/// let mut touched = TouchedAreas::default();
/// touched.add(&record(5 << 20));
/// touched.add(&record((8 << 20) + 8192));
/// let dense = DenseMap::new(&touched);
/// // Two areas lie between them; where there is room for six in all, four do.
/// assert_eq!(dense.span(), 4 << 20);
/// let map = SpreadMap::new(&dense, 6 << 20);
/// assert_eq!(map.map(VolumeIndex(0), 5 << 20), Some(0));
/// assert_eq!(map.map(VolumeIndex(0), (8 << 20) + 8192), Some((5 << 20) + 8192));
/// assert_eq!(map.map(VolumeIndex(0), 6 << 20), None);
/// ```
#[derive(Clone, Debug)]
pub struct SpreadMap<'a> {
    areas: &'a DenseMap,
    /// Untouched areas between touched ones in the trace, and how many take their place.
    gaps: u64,
    room: u64,
}

impl<'a> SpreadMap<'a> {
    /// Spreads the areas of `areas` over `space` bytes; without gaps if there is no more than they take.
    pub fn new(areas: &'a DenseMap, space: u64) -> Self {
        let gaps = (areas.span() - areas.footprint()) / AREA_BYTES;
        let room = space.saturating_sub(areas.footprint()) / AREA_BYTES;
        Self { areas, gaps, room: if gaps == 0 { 0 } else { room } }
    }

    /// The place of an area that comes after `gaps` untouched ones and has the dense address `dense`.
    fn place(&self, dense: u64, gaps: u64) -> u64 {
        let before = u128::from(gaps) * u128::from(self.room) / u128::from(self.gaps.max(1));
        // No more than `room`, which is a number of areas that fit into 64 bits of bytes.
        dense + before as u64 * AREA_BYTES
    }

    /// The place of byte `offset` of `volume`; `None` if its area was not touched.
    #[inline]
    pub fn map(&self, volume: VolumeIndex, offset: u64) -> Option<u64> {
        let (dense, gaps) = self.areas.map_with_gaps(volume, offset)?;
        Some(self.place(dense, gaps))
    }

    /// The parts of a range that have places, as (place, length), like [`DenseMap::parts`].
    pub fn parts(&self, volume: VolumeIndex, offset: u64, length: u64) -> Vec<(u64, u64)> {
        self.areas.parts_at(volume, offset, length, |dense, gaps| self.place(dense, gaps))
    }

    /// The first address beyond the last area.
    pub fn end(&self) -> u64 {
        self.areas.end() + self.room * AREA_BYTES
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;
    use proptest::prelude::*;

    use super::*;
    use crate::{Operation, Record, TouchedAreas};

    const MIB: u64 = 1 << 20;

    fn record((volume, offset, length): (u32, u64, u32)) -> Record {
        let volume = VolumeIndex(volume);
        Record { at: Nanos::ZERO, offset, length, volume, operation: Operation::Write, response: None }
    }

    fn dense(requests: &[(u32, u64, u32)]) -> DenseMap {
        let mut touched = TouchedAreas::default();
        requests.iter().for_each(|&request| touched.add(&record(request)));
        DenseMap::new(&touched)
    }

    fn request() -> impl Strategy<Value = (u32, u64, u32)> {
        let offset = prop_oneof![0u64..20 << 20, (1u64 << 34)..(1 << 34) + (50 << 20), 0u64..1 << 36];
        (0u32..4, offset, 1u32..5_000_000)
    }

    proptest! {
        /// In as much space as they span, volumes have all distances of the trace; with twice the gaps, twice the
        /// distances but for what is touched between; with no space to spare they are dense.
        #[test]
        fn distances_are_those_of_the_trace_times_one_factor(
            requests in prop::collection::vec(request(), 1..40), times in 1u64..40,
        ) {
            let dense = dense(&requests);
            let gaps = dense.span() - dense.footprint();
            let same = SpreadMap::new(&dense, dense.span());
            let wide = SpreadMap::new(&dense, dense.footprint() + gaps * times);
            let tight = SpreadMap::new(&dense, 0);
            let mut first: Option<(u32, u64, u64)> = None;
            let mut sorted = requests.clone();
            sorted.sort_unstable();
            for &(volume, offset, length) in &sorted {
                let index = VolumeIndex(volume);
                let place = same.map(index, offset).unwrap();
                let (of, origin, begin) = *first.get_or_insert((volume, offset, place));
                if of == volume {
                    prop_assert_eq!(place - begin, offset - origin, "the trace's distances");
                } else {
                    first = Some((volume, offset, place));
                }
                let (wide_at, tight_at) = (wide.map(index, offset).unwrap(), tight.map(index, offset).unwrap());
                prop_assert_eq!(Some(tight_at), dense.map(index, offset));
                prop_assert_eq!(wide_at - tight_at, (place - tight_at) * times);
                prop_assert!(place + u64::from(length) <= same.end() && wide_at + u64::from(length) <= wide.end());
                for map in [&same, &wide, &tight] {
                    let start = map.map(index, offset).unwrap();
                    prop_assert_eq!(map.parts(index, offset, length.into()), vec![(start, u64::from(length))]);
                    let last = u64::from(length) - 1;
                    prop_assert_eq!(map.map(index, offset + last), Some(start + last));
                }
            }
            prop_assert_eq!(same.end(), dense.span());
            prop_assert_eq!(wide.end(), dense.footprint() + gaps * times);
        }
    }

    #[test]
    fn volumes_lie_one_after_another_and_the_last_ends_with_the_space() {
        let dense = dense(&[(0, 3 * MIB, 1), (0, 9 * MIB, 1), (2, 100 * MIB, 1), (2, 104 * MIB, 1)]);
        // 7 MiB and 5 MiB of addresses, 4 MiB of them touched.
        assert_eq!((dense.span(), dense.footprint()), (12 * MIB, 4 * MIB));
        let map = SpreadMap::new(&dense, 84 * MIB);
        let at = |volume, mib| map.map(VolumeIndex(volume), mib * MIB).map(|place| place / MIB);
        assert_eq!([at(0, 3), at(0, 9), at(2, 100), at(2, 104)], [Some(0), Some(51), Some(52), Some(83)]);
        assert_eq!((at(0, 4), map.end()), (None, 84 * MIB));
        // A trim over all of it reaches what is touched.
        assert_eq!(map.parts(VolumeIndex(0), 0, 20 * MIB), [(0, MIB), (51 * MIB, MIB)]);
    }

    #[test]
    fn a_volume_that_is_touched_whole_stays_whole() {
        let dense = dense(&[(0, 0, 3 << 20)]);
        let map = SpreadMap::new(&dense, 1 << 40);
        assert_eq!((map.map(VolumeIndex(0), 2 << 20), map.end()), (Some(2 << 20), 3 << 20));
    }
}
