//! Which page leaves the buffer next: the one that was used longest ago, of those whose pool has room for it.
//!
//! Each pool may have some pages on their way to flash at any time, so that no pool idles because another one cleans.
//! While writes wait for room in the buffer, so many pages more may leave, whatever their pools: those would be in the
//! array, too, if there were no buffer. So a buffer never keeps dies idle that would have work without it.

use esker_core::{Nanos, Timetable};

/// The pools that have something to write, by what their next page is.
#[derive(Debug)]
pub(super) struct Departures {
    pools: Vec<Pool>,
    /// Pages that a pool may have on their way at any time.
    own: u32,
    /// Pages on their way beyond that, in all pools together.
    beyond: u32,
    /// When the next page of each pool was last used, by number instead of time: of pools that have room, and of those
    /// that do not. All of it changes with every page, and in a timetable that takes a few steps.
    next: [Timetable; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// When the page was last used that is next.
    next: Option<u64>,
    leaving: u32,
}

impl Departures {
    /// For `pools` pools, of which each may always have `own` pages on their way.
    pub(super) fn new(pools: u32, own: u32) -> Self {
        let next = [Timetable::new(pools as usize), Timetable::new(pools as usize)];
        Self { pools: vec![Pool::default(); pools as usize], own, beyond: 0, next }
    }

    /// The pool whose next page may leave, where `more` pages may be on their way beyond those that each pool always
    /// may have.
    pub(super) fn first(&self, more: u64) -> Option<u32> {
        let [room, full] = &self.next;
        let first = room.first().or_else(|| full.first().filter(|_| u64::from(self.beyond) < more));
        first.map(|pool| pool as u32)
    }

    /// The next page of `pool` is one that was last used at `next`; `None` where there is none.
    #[inline]
    pub(super) fn set_next(&mut self, pool: u32, next: Option<u64>) {
        self.change(pool, |state| state.next = next);
    }

    /// The next page of `pool` is on its way, and the one after it was last used at `next`.
    #[inline]
    pub(super) fn began(&mut self, pool: u32, next: Option<u64>) {
        self.beyond += u32::from(self.pools[pool as usize].leaving >= self.own);
        self.change(pool, |state| {
            state.next = next;
            state.leaving += 1;
        });
    }

    /// A page of `pool` is no longer on its way.
    #[inline]
    pub(super) fn ended(&mut self, pool: u32) {
        self.change(pool, |state| state.leaving -= 1);
        self.beyond -= u32::from(self.pools[pool as usize].leaving >= self.own);
    }

    /// Asserts that pools have `leaving` pages on their way, which takes long.
    pub(super) fn check(&self, leaving: &[u32]) {
        let counted: Vec<u32> = self.pools.iter().map(|pool| pool.leaving).collect();
        assert_eq!(counted, leaving, "pages on their way, by pool");
        let beyond = |leaving: &u32| leaving.saturating_sub(self.own);
        assert_eq!(self.beyond, counted.iter().map(beyond).sum::<u32>(), "pages beyond what pools always may have");
    }

    #[inline]
    fn change(&mut self, pool: u32, change: impl FnOnce(&mut Pool)) {
        let state = &mut self.pools[pool as usize];
        let was_full = state.leaving >= self.own;
        change(state);
        let (full, next) = (state.leaving >= self.own, state.next.map_or(Nanos::NEVER, Nanos));
        if full != was_full {
            self.next[usize::from(was_full)].set(pool as usize, Nanos::NEVER);
        }
        self.next[usize::from(full)].set(pool as usize, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the next page of the pool that may send one, as of now without another one behind it.
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
        // Pool 2 has the oldest page of all, but no room.
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
        // Two that it always may have, and three more; the sixth has to wait.
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
