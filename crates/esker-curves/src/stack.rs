//! LRU stack distances (Mattson, Gecsei, Slutz, Traiger 1970).

use esker_core::IdMap;

use crate::live_times::LiveTimes;

/// Computes for each access how many other objects were used since the last use of its object.
///
/// Takes 21 to 43 bytes of table and about a byte of times per object, however many accesses there are, because times
/// are renumbered when they run out.
#[derive(Clone, Debug, Default)]
pub struct StackDistances {
    last_use: IdMap,
    times: LiveTimes,
    next: u64,
}

const TIMES_MIN: u64 = 1 << 16;
/// Number of times per object after a renumbering. So its cost is spread over three times as many accesses as there are
/// objects.
const TIMES_PER_OBJECT: u64 = 4;

impl StackDistances {
    /// Adds an access to `id`. Returns the number of distinct other objects since its last use, or `None` for the first
    /// use. A least-recently-used cache of `c` objects hits if and only if the distance is below `c`.
    #[inline]
    pub fn access(&mut self, id: u64) -> Option<u64> {
        if self.next >= self.times.capacity() {
            self.renumber();
        }
        let now = self.next;
        self.next += 1;
        let distance = match self.last_use.replace(id, now) {
            Some(before) => {
                let distance = self.times.after(before);
                self.times.clear(before);
                Some(distance)
            }
            None => None,
        };
        self.times.set(now);
        distance
    }

    /// Fetches what accesses to `ids` will need into the processor's cache.
    #[inline]
    pub(crate) fn warm(&self, ids: &[u64]) {
        self.last_use.warm(ids.iter().copied());
    }

    /// Removes `id` as if it had never been used. Returns whether it was known.
    pub fn remove(&mut self, id: u64) -> bool {
        let time = self.last_use.remove(id);
        if let Some(time) = time {
            self.times.clear(time);
        }
        time.is_some()
    }

    /// Returns the number of distinct objects.
    pub fn objects(&self) -> u64 {
        self.last_use.len() as u64
    }

    #[cold]
    fn renumber(&mut self) {
        let live = self.times.live();
        let times = &self.times;
        self.last_use.renumber(|time| live - 1 - times.after(time));
        let capacity = (live * TIMES_PER_OBJECT).max(TIMES_MIN);
        self.times = LiveTimes::new(capacity as usize, live as usize);
        self.next = live;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distances_are_those_of_a_list(accesses in prop::collection::vec((0u64..60, 0u8..20), 0..400)) {
            let mut stack = StackDistances::default();
            let mut list: Vec<u64> = Vec::new();
            for (id, action) in accesses {
                let position = list.iter().position(|&known| known == id);
                if let Some(position) = position {
                    list.remove(position);
                }
                if action == 0 {
                    prop_assert_eq!(stack.remove(id), position.is_some());
                } else {
                    prop_assert_eq!(stack.access(id), position.map(|position| position as u64));
                    list.insert(0, id);
                }
                if action == 1 {
                    stack.renumber();
                }
                prop_assert_eq!(stack.objects(), list.len() as u64);
            }
        }
    }

    #[test]
    fn times_run_out_many_times_over() {
        let mut stack = StackDistances::default();
        for round in 0..5u64 {
            for id in 0..100_000 {
                assert_eq!(stack.access(id), (round > 0).then_some(99_999));
            }
        }
    }
}
