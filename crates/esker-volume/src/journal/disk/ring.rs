//! Where batches lie in the journal's ring.

use crate::format::{BLOCK, JournalPlace};

/// The ring of a journal: batches lie one behind the other; one that does not fit before the end begins at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    pub(crate) length: u64,
    /// Number of the next batch.
    pub(crate) next: u64,
    /// Where the last batch ends.
    pub(crate) head: u64,
    /// Bytes that hold batches which are still needed, with gaps.
    pub(crate) used: u64,
}

/// The most bytes of a batch.
const BATCH: u64 = 256 << 10;

impl Ring {
    /// A ring whose batches behind `place` are needed, and which ends at `head` with batch `next - 1`.
    pub(crate) fn new(length: u64, place: JournalPlace, next: u64, head: u64) -> Self {
        let mut ring = Self { length, next, head, used: 0 };
        ring.free(place);
        ring
    }

    /// The most bytes of a batch: several fit into the ring.
    pub(crate) fn batch_max(&self) -> usize {
        (BATCH.min(self.length / 4) / BLOCK as u64 * BLOCK as u64) as usize
    }

    /// Takes the place of the next batch, of `length` bytes. Returns its number and its place; `None` if there is no
    /// room until a checkpoint is complete.
    pub(crate) fn take(&mut self, length: u64) -> Option<(u64, u64)> {
        let left = self.length - self.head;
        let (gap, at) = if length <= left { (0, self.head) } else { (left, 0) };
        if self.used + gap + length > self.length {
            return None;
        }
        let number = self.next;
        (self.next, self.head, self.used) = (number + 1, at + length, self.used + gap + length);
        Some((number, at))
    }

    /// Frees the batches before `place`.
    pub(crate) fn free(&mut self, place: JournalPlace) {
        self.used = match (place.batch == self.next, self.head.checked_sub(place.offset)) {
            (true, _) => 0,
            (false, Some(used)) if used > 0 => used,
            (false, _) => self.length - (place.offset - self.head),
        };
    }

    /// Returns true if a checkpoint should make room.
    pub(crate) fn is_filling(&self) -> bool {
        self.used > self.length / 2
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use esker_tier::RecordNumber;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Batches that are needed never overlap, and there is room as long as they leave some.
        #[test]
        fn needed_batches_never_overlap(steps in prop::collection::vec((1u64..9, prop::bool::weighted(0.1)), 1..200)) {
            let block = BLOCK as u64;
            let start = JournalPlace { through: RecordNumber(0), batch: 1, offset: 0 };
            let mut ring = Ring::new(32 * block, start, 1, 0);
            let mut needed: VecDeque<(u64, u64)> = VecDeque::new();
            for (blocks, checkpoint) in steps {
                if checkpoint {
                    let place = JournalPlace { through: RecordNumber(0), batch: ring.next, offset: ring.head };
                    needed.clear();
                    ring.free(place);
                    prop_assert_eq!(ring, Ring::new(ring.length, place, ring.next, ring.head));
                }
                let Some((_, at)) = ring.take(blocks * block) else {
                    prop_assert!(ring.used + 2 * blocks * block > ring.length);
                    continue;
                };
                let end = at + blocks * block;
                prop_assert!(end <= ring.length);
                prop_assert!(needed.iter().all(|&(from, to)| end <= from || to <= at), "{needed:?} {at} {end}");
                needed.push_back((at, end));
            }
        }
    }
}
