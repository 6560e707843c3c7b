//! Which page leaves the buffer next: the least recently used page of a pool that may send one more to flash.
//!
//! Each pool may have some pages on their way to flash at any time, so that no pool idles because another one cleans.
//! While writes wait for room in the buffer, as many more pages may leave as those writes bring, from any pool: without
//! a buffer, those writes would be in the array, too. So a buffer never idles a die that would have work without it.

use esker_core::{Nanos, Timetable};

/// The pools that have pages to write, ordered by the last use of their next page.
#[derive(Debug)]
pub(super) struct Departures {
    pools: Vec<Pool>,
    /// Number of pages that a pool may have on their way at any time.
    own: u32,
    /// Number of pages on their way beyond `own`, over all pools.
    beyond: u32,
    /// When the next page of each pool was last used, as the number of the use instead of a time. Pools with `own`
    /// pages on their way come after all others: their numbers have the bit [`FULL`]. A timetable, because it changes
    /// with every page and each change has to be cheap.
    next: Timetable,
}

/// The bit of [`Departures::next`] for pools without room. No simulation uses pages that many times.
const FULL: u64 = 1 << 62;

#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// When its next page was last used; `None` if it has no page to write.
    next: Option<u64>,
    /// Number of its pages on their way to flash.
    leaving: u32,
}

impl Departures {
    /// Creates departures of `pools` pools, each of which may have `own` pages on their way at any time.
    pub(super) fn new(pools: u32, own: u32) -> Self {
        Self { pools: vec![Pool::default(); pools as usize], own, beyond: 0, next: Timetable::new(pools as usize) }
    }

    /// Returns the pool whose next page may leave. Up to `more` pages may be on their way beyond those that each pool
    /// may always have.
    pub(super) fn first(&self, more: u64) -> Option<u32> {
        let has_room = self.next.next() < Nanos(FULL) || u64::from(self.beyond) < more;
        self.next.first().filter(|_| has_room).map(|pool| pool as u32)
    }

    /// Sets when the next page of `pool` was last used; `None` if it has no page to write.
    #[inline]
    pub(super) fn set_next(&mut self, pool: u32, next: Option<u64>) {
        self.change(pool, |state| state.next = next);
    }

    /// Records that the next page of `pool` is on its way, and that the page after it was last used at `next`.
    #[inline]
    pub(super) fn began(&mut self, pool: u32, next: Option<u64>) {
        self.beyond += u32::from(self.pools[pool as usize].leaving >= self.own);
        self.change(pool, |state| {
            state.next = next;
            state.leaving += 1;
        });
    }

    /// Records that a page of `pool` is no longer on its way.
    #[inline]
    pub(super) fn ended(&mut self, pool: u32) {
        self.change(pool, |state| state.leaving -= 1);
        self.beyond -= u32::from(self.pools[pool as usize].leaving >= self.own);
    }

    /// Asserts that the pools have `leaving` pages on their way, one number per pool. Slow.
    pub(super) fn check(&self, leaving: &[u32]) {
        let counted: Vec<u32> = self.pools.iter().map(|pool| pool.leaving).collect();
        assert_eq!(counted, leaving, "pages on their way, by pool");
        let beyond = |leaving: &u32| leaving.saturating_sub(self.own);
        assert_eq!(self.beyond, counted.iter().map(beyond).sum::<u32>(), "pages beyond what pools always may have");
    }

    #[inline]
    fn change(&mut self, pool: u32, change: impl FnOnce(&mut Pool)) {
        let state = &mut self.pools[pool as usize];
        change(state);
        let full = if state.leaving >= self.own { FULL } else { 0 };
        self.next.set(pool as usize, state.next.map_or(Nanos::NEVER, |used| Nanos(used | full)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the next page leave, after which its pool has no further page.
    fn leave(departures: &mut Departures, more: u64) -> Option<u32> {
        let pool = departures.first(more)?;
        departures.began(pool, None);
        Some(pool)
    }

    #[test]
    fn the_oldest_page_leaves_whose_pool_has_room() {
        let mut departures = Departures::new(3, 1);
        assert_eq!(departures.first(9), None);
        departures.set_next(2, Some(10));
        departures.set_next(0, Some(20));
        departures.set_next(1, Some(30));
        assert_eq!(leave(&mut departures, 0), Some(2));
        departures.set_next(2, Some(11));
        // Pool 2 has the oldest page of all, but no room for it.
        assert_eq!([leave(&mut departures, 0), leave(&mut departures, 0)], [Some(0), Some(1)]);
        assert_eq!(departures.first(0), None);
        departures.ended(2);
        assert_eq!(leave(&mut departures, 0), Some(2));
    }

    #[test]
    fn as_many_pages_more_leave_as_writes_wait_for() {
        let mut departures = Departures::new(2, 2);
        let mut began = Vec::new();
        for used in 0..6 {
            departures.set_next(1, Some(used));
            began.extend(leave(&mut departures, 3));
        }
        // Two pages that it may always have, and three more. The sixth page has to wait.
        assert_eq!(began.len(), 5);
        departures.set_next(0, Some(100));
        assert_eq!(leave(&mut departures, 3), Some(0), "a pool with room goes before an older page without");
        departures.ended(1);
        assert_eq!(departures.first(2), None, "two are beyond what the pool may have");
        assert_eq!(departures.first(3), Some(1));
        (0..4).for_each(|_| departures.ended(1));
        assert_eq!((departures.beyond, departures.first(0)), (0, Some(1)));
    }
}
