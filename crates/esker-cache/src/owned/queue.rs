//! Queues in the order of last use that track their head half.

use esker_core::{Linked, Links, List};

/// The position of an object, in at most one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    links: Links,
    /// The number of its queue; 0 for none.
    pub(super) queue: u8,
    /// Whether it is in the head half.
    pub(super) hot: bool,
}

impl Linked for Place {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// A queue. New objects enter at its head, and leave at its tail.
#[derive(Debug)]
pub(super) struct Queue {
    number: u8,
    /// The half at the tail. The tail is the first of the list.
    cold: List,
    /// The half at the head, or less: an object that is removed is only replaced by the next one that enters.
    hot: List,
}

impl Queue {
    /// Creates an empty queue. `number`, above 0, marks the places in it.
    pub(super) const fn new(number: u8) -> Self {
        Self { number, cold: List::EMPTY, hot: List::EMPTY }
    }

    pub(super) fn len(&self) -> u32 {
        self.cold.len() + self.hot.len()
    }

    /// Adds `object`, which is in no queue, at the head.
    pub(super) fn push_head(&mut self, places: &mut [Place], object: u32) {
        self.hot.push_back(places, object);
        places[object as usize].queue = self.number;
        places[object as usize].hot = true;
        self.balance(places);
    }

    /// Removes `object`, which is in this queue.
    pub(super) fn remove(&mut self, places: &mut [Place], object: u32) {
        debug_assert_eq!(places[object as usize].queue, self.number, "{object} is in another queue");
        let half = if places[object as usize].hot { &mut self.hot } else { &mut self.cold };
        half.remove(places, object);
        places[object as usize] = Place::default();
        self.balance(places);
    }

    /// Moves `object`, which is in this queue, to its head.
    pub(super) fn renew(&mut self, places: &mut [Place], object: u32) {
        self.remove(places, object);
        self.push_head(places, object);
    }

    /// Removes the object at the tail.
    pub(super) fn pop_tail(&mut self, places: &mut [Place]) -> Option<u32> {
        let tail = self.cold.first().or(self.hot.first())?;
        self.remove(places, tail);
        Some(tail)
    }

    /// Returns the objects from the tail to the head.
    #[cfg(test)]
    pub(super) fn tail_first(&self, places: &[Place]) -> Vec<u32> {
        self.cold.iter(places).chain(self.hot.iter(places)).collect()
    }

    fn balance(&mut self, places: &mut [Place]) {
        while self.hot.len() > self.len().div_ceil(2) {
            let coldest = self.hot.first().expect("it is not empty");
            self.hot.remove(places, coldest);
            self.cold.push_back(places, coldest);
            places[coldest as usize].hot = false;
        }
    }
}
