//! The address arithmetic of RAID-0.

use esker_core::{Bytes, Lba, Tag};

use super::StripeError;
use crate::engine::{BufferId, DataRef, Spread};

/// Stripe units go to the children in turn: unit u lies on child u mod n, as that child's unit u div n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripes {
    children: u64,
    unit: u64,
    capacity: Bytes,
}

/// The range of a request that lies on one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildRange {
    pub(crate) child: usize,
    pub(crate) start: Lba,
    pub(crate) length: Bytes,
    /// Offset of its first byte in the request.
    pub(crate) offset: u64,
}

impl Stripes {
    /// Creates the arithmetic for `children` devices, the smallest of which holds `smallest`. Only its whole units are
    /// used.
    pub(crate) fn new(children: u64, unit: Bytes, smallest: Bytes) -> Result<Self, StripeError> {
        if unit == Bytes::ZERO || !unit.0.is_multiple_of(Bytes::SECTOR.0) {
            return Err(StripeError::Unit(unit));
        }
        let capacity = (smallest.0 / unit.0).checked_mul(unit.0).and_then(|bytes| bytes.checked_mul(children));
        match capacity {
            Some(0) => Err(StripeError::Small { unit, smallest }),
            Some(capacity) => Ok(Self { children, unit: unit.0, capacity: Bytes(capacity) }),
            None => Err(StripeError::Vast),
        }
    }

    pub(crate) fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Returns where the data are of the range that begins `offset` bytes into a request from byte `start`.
    #[inline]
    pub(super) fn data_of(&self, tag: Tag, start: u64, offset: u64) -> DataRef {
        let spread = Spread::Striped {
            first: Bytes(self.unit - (start + offset) % self.unit),
            unit: Bytes(self.unit),
            round: Bytes(self.unit * self.children),
        };
        DataRef { spread, ..DataRef::new(BufferId::Host(tag), Bytes(offset)) }
    }

    /// Returns the offset in the host's request of byte `at` of a range that begins at `start` on its child, and
    /// `offset` bytes into the request.
    pub(super) fn offset_in_host(&self, offset: u64, start: Lba, at: u64) -> u64 {
        let first = self.unit - start.byte_offset() % self.unit;
        match at.checked_sub(first) {
            None => offset + at,
            Some(rest) => {
                let rounds = rest / self.unit + 1;
                offset + first + rounds * self.unit * self.children - self.unit + rest % self.unit
            }
        }
    }

    /// Returns the range of the `length` bytes (at least one) from byte `start`, if they lie in one unit, as with most
    /// requests.
    #[inline]
    pub(super) fn only_child_range(&self, start: u64, length: u64) -> Option<ChildRange> {
        let (unit, within) = (start / self.unit, start % self.unit);
        if within + length > self.unit {
            return None;
        }
        let (round, child) = (unit / self.children, unit % self.children);
        let start = Lba::containing(round * self.unit + within);
        Some(ChildRange { child: child as usize, start, length: Bytes(length), offset: 0 })
    }

    /// Returns the ranges of the `length` bytes (at least one) from byte `start`, at most one for each child, by the
    /// address of their first bytes. On each child, the units of the request are contiguous, so one range is enough.
    #[inline]
    pub(crate) fn split(self, start: u64, length: u64) -> impl Iterator<Item = ChildRange> {
        let (end, first) = (start + length, start / self.unit);
        let last = (end - 1) / self.unit;
        (first..=last.min(first + self.children - 1)).map(move |unit| {
            let (round, child) = (unit / self.children, unit % self.children);
            let begin = start.max(unit * self.unit);
            let begin_here = round * self.unit + (begin - unit * self.unit);
            let stop_here = match last - unit {
                0 => begin_here + (end - begin),
                more => {
                    let rounds = more / self.children;
                    let stop = end.min((unit + rounds * self.children + 1) * self.unit);
                    (round + rounds) * self.unit + (stop - (unit + rounds * self.children) * self.unit)
                }
            };
            ChildRange {
                child: child as usize,
                start: Lba::containing(begin_here),
                length: Bytes(stop_here - begin_here),
                offset: begin - start,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each byte of a child's range is where its data are in the host's buffer.
        #[test]
        fn places_in_a_range_are_found_in_the_request(
            (children, unit) in (1u64..6, 1u64..5),
            (start, sectors) in (0u64..40, 1u64..40),
        ) {
            let stripes = Stripes::new(children, Bytes(unit * 512), Bytes(100 * unit * 512)).unwrap();
            let start = start * 512;
            for range in stripes.split(start, sectors * 512) {
                let data = stripes.data_of(Tag::new(0, 0), start, range.offset);
                let mut at = 0;
                for segment in data.segments(range.length) {
                    let begin = segment.place.unwrap().offset.0;
                    for byte in [0, 511, segment.length.0 - 1] {
                        prop_assert_eq!(stripes.offset_in_host(range.offset, range.start, at + byte), begin + byte);
                    }
                    at += segment.length.0;
                }
            }
        }

        /// Every sector of the array lies on a different sector of a child, and every usable sector of a child is used.
        #[test]
        fn placement_is_a_bijection(children in 1u64..6, unit in 1u64..5, units in 1u64..6) {
            let stripes = Stripes::new(children, Bytes(unit * 512), Bytes(units * unit * 512 + 100)).unwrap();
            let sectors = stripes.capacity().0 / 512;
            prop_assert_eq!(sectors, children * unit * units);
            let mut seen = BTreeMap::new();
            for sector in 0..sectors {
                let pieces: Vec<_> = stripes.split(sector * 512, 512).collect();
                prop_assert_eq!(pieces.len(), 1);
                prop_assert_eq!(stripes.only_child_range(sector * 512, 512), Some(pieces[0]));
                prop_assert!(pieces[0].start.0 < unit * units);
                prop_assert_eq!(seen.insert((pieces[0].child, pieces[0].start), sector), None);
            }
            prop_assert_eq!(seen.len() as u64, sectors);
        }

        /// The ranges of a request cover exactly the places of its sectors, with at most one range for each child.
        #[test]
        fn parts_cover_the_range(
            children in 1u64..6,
            unit in 1u64..5,
            units in 1u64..9,
            from in 0u64..1000,
            length in 1u64..1000,
        ) {
            let stripes = Stripes::new(children, Bytes(unit * 512), Bytes(units * unit * 512)).unwrap();
            let sectors = stripes.capacity().0 / 512;
            let from = from % sectors;
            let length = 1 + (length - 1) % (sectors - from);
            let mut expected: Vec<_> = (from..from + length)
                .map(|sector| stripes.split(sector * 512, 512).next().unwrap())
                .map(|piece| (piece.child, piece.start.0))
                .collect();
            let pieces: Vec<_> = stripes.split(from * 512, length * 512).collect();
            let mut covered: Vec<_> = pieces
                .iter()
                .flat_map(|piece| (0..piece.length.0 / 512).map(|sector| (piece.child, piece.start.0 + sector)))
                .collect();
            expected.sort_unstable();
            covered.sort_unstable();
            prop_assert_eq!(covered, expected);
            let mut owners: Vec<_> = pieces.iter().map(|piece| piece.child).collect();
            owners.sort_unstable();
            owners.dedup();
            prop_assert_eq!(owners.len(), pieces.len());
            prop_assert_eq!(pieces[0].offset, 0);
        }
    }
}
