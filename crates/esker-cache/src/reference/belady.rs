//! Belady's optimum: searches all objects of the cache for the latest next use.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveBelady {
    pub(crate) capacity: usize,
    /// The objects in the cache, each with its next use.
    pub(crate) held: Vec<(u32, u32)>,
}

impl Naive for NaiveBelady {
    fn access(&mut self, access: &Access) -> bool {
        let found = self.held.iter().position(|(object, _)| *object == access.object.0);
        match found {
            Some(at) => {
                self.held.remove(at);
            }
            None if self.held.len() == self.capacity => {
                let latest = (0..self.held.len()).max_by_key(|at| self.held[*at].1);
                latest.map(|at| self.held.remove(at));
            }
            None => (),
        }
        self.held.push((access.object.0, access.next_use));
        found.is_some()
    }
}
