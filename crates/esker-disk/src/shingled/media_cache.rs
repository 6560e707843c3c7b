//! The media cache: a circular log on the platters, and the map of its contents.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Writes that could not go to their zones, one after another, and the place of the newest copy of each sector.
///
/// Space is freed from the oldest entry on, once none of its sectors are needed any more: because they were written
/// again, or because their zone was cleaned.
#[derive(Clone, Debug)]
pub(super) struct MediaCache {
    sectors: u64,
    /// Entries from the oldest to the newest; `first` is the number of the oldest.
    log: VecDeque<Entry>,
    first: u64,
    /// Where the next entry goes, and where the oldest one begins. Positions only rise; modulo the size of the cache,
    /// they are its sectors.
    head: u64,
    tail: u64,
    /// Sectors whose newest copy lies in the cache, by the host's address. Pieces do not overlap.
    map: BTreeMap<u64, Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    begin: u64,
    /// Number of sectors of the entry that are still needed.
    live: u64,
    /// The host's address of the first sector.
    address: u64,
}

/// Consecutive sectors of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) sectors: u64,
    /// Position of its first sector.
    begin: u64,
    /// Number of its entry.
    entry: u64,
}

impl MediaCache {
    pub(super) fn new(sectors: u64) -> Self {
        Self { sectors, log: VecDeque::new(), first: 0, head: 0, tail: 0, map: BTreeMap::new() }
    }

    /// Returns the number of sectors that are not free.
    pub(super) fn used(&self) -> u64 {
        self.head - self.tail
    }

    /// Returns the number that the next entry will have.
    pub(super) fn next_entry(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// Appends the host's sectors from `address`. Returns the sector of the cache where they go, or `None` if there is
    /// no room.
    pub(super) fn append(&mut self, address: u64, sectors: u64) -> Option<u64> {
        // An entry does not continue at the start of the cache: the sectors left at the end stay empty.
        let at = self.head % self.sectors;
        let begin = if at + sectors > self.sectors { self.head - at + self.sectors } else { self.head };
        if begin + sectors - self.tail > self.sectors {
            return None;
        }
        let entry = self.next_entry();
        self.log.push_back(Entry { begin, live: sectors, address });
        self.head = begin + sectors;
        self.forget(address..address + sectors, entry);
        self.map.insert(address, Piece { sectors, begin, entry });
        Some(begin % self.sectors)
    }

    /// Drops the host's sectors `range` from the entries before number `before`.
    pub(super) fn forget(&mut self, range: Range<u64>, before: u64) {
        for (address, piece) in self.pieces(range.clone()) {
            if piece.entry >= before {
                continue;
            }
            // `piece` is the part within the range. The parts around it stay.
            let (from, whole) =
                self.map.range(..=address).next_back().map(|(from, whole)| (*from, *whole)).expect("it is there");
            self.map.remove(&from);
            if from < address {
                self.map.insert(from, Piece { sectors: address - from, ..whole });
            }
            let (end, whole_end) = (address + piece.sectors, from + whole.sectors);
            if end < whole_end {
                self.map.insert(end, Piece { sectors: whole_end - end, begin: whole.begin + (end - from), ..whole });
            }
            self.log[(piece.entry - self.first) as usize].live -= piece.sectors;
        }
        while self.log.front().is_some_and(|oldest| oldest.live == 0) {
            self.log.pop_front();
            self.first += 1;
        }
        self.tail = self.log.front().map_or(self.head, |oldest| oldest.begin);
    }

    /// Returns the pieces of the host's sectors `range` that lie in the cache, by address.
    pub(super) fn pieces(&self, range: Range<u64>) -> Vec<(u64, Piece)> {
        let before = self.map.range(..range.start).next_back();
        let inside = before.into_iter().chain(self.map.range(range.clone()));
        inside
            .filter_map(|(&address, piece)| {
                let (from, end) = (address.max(range.start), (address + piece.sectors).min(range.end));
                let begin = piece.begin + (from.saturating_sub(address));
                (from < end).then(|| (from, Piece { sectors: end - from, begin, ..*piece }))
            })
            .collect()
    }

    /// Returns the sector of the cache where a piece begins.
    pub(super) fn sector(&self, piece: &Piece) -> u64 {
        piece.begin % self.sectors
    }

    /// Returns the host's address of the oldest entry.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.log.front().map(|oldest| oldest.address)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the sectors of the cache where the host's sectors lie.
    fn found(cache: &MediaCache, range: Range<u64>) -> BTreeMap<u64, u64> {
        let pieces = cache.pieces(range);
        let sectors = pieces.iter().flat_map(|(address, piece)| {
            let first = cache.sector(piece);
            (0..piece.sectors).map(move |index| (address + index, first + index))
        });
        sectors.collect()
    }

    proptest! {
        /// Compares the cache with a map of single sectors: the last append is found, and no append overwrites needed
        /// sectors.
        #[test]
        fn what_was_written_last_is_found_where_it_lies(
            steps in prop::collection::vec((0..64u64, 1..12u64, 0..5u8), 1..200),
            size in 24..60u64,
        ) {
            let mut cache = MediaCache::new(size);
            let mut model = BTreeMap::<u64, u64>::new();
            for (address, sectors, action) in steps {
                let range = address..address + sectors;
                if action == 0 {
                    cache.forget(range.clone(), u64::MAX);
                    range.for_each(|sector| { model.remove(&sector); });
                } else if let Some(first) = cache.append(address, sectors) {
                    for index in 0..sectors {
                        let needed = model.iter().any(|(other, at)| *at == first + index && !range.contains(other));
                        prop_assert!(!needed, "sector {} is needed still", first + index);
                        model.insert(address + index, first + index);
                    }
                } else {
                    prop_assert!(cache.used() + 2 * sectors > size, "there was room");
                }
                prop_assert_eq!(&found(&cache, 0..100), &model);
                prop_assert!(cache.used() <= size);
            }
            cache.forget(0..100, u64::MAX);
            prop_assert_eq!((cache.used(), cache.oldest()), (0, None));
        }
    }

    #[test]
    fn a_zone_that_is_cleaned_keeps_what_came_meanwhile() {
        let mut cache = MediaCache::new(100);
        cache.append(10, 8);
        cache.append(50, 4);
        let began = cache.next_entry();
        cache.append(14, 2);
        cache.forget(0..30, began);
        assert_eq!(found(&cache, 0..100).into_iter().collect::<Vec<_>>().len(), 6);
        assert_eq!(found(&cache, 0..30), BTreeMap::from([(14, 12), (15, 13)]));
        // The oldest entry is freed. The entry of another zone is now the oldest.
        assert_eq!((cache.oldest(), cache.used()), (Some(50), 6));
    }
}
