//! SIEVE with a list whose oldest object is first.

use super::Naive;
use crate::Access;

pub(crate) struct NaiveSieve {
    pub(crate) capacity: usize,
    /// The objects in the cache, each with its bit.
    pub(crate) held: Vec<(u32, bool)>,
    /// Index of the next object that the hand checks.
    pub(crate) hand: usize,
}

impl Naive for NaiveSieve {
    fn access(&mut self, access: &Access) -> bool {
        if let Some((_, used)) = self.held.iter_mut().find(|(object, _)| *object == access.object.0) {
            *used = true;
            return true;
        }
        if self.held.len() == self.capacity {
            loop {
                // A hand that has passed the newest object begins again at the oldest.
                self.hand = if self.hand == self.held.len() { 0 } else { self.hand };
                if !self.held[self.hand].1 {
                    break;
                }
                self.held[self.hand].1 = false;
                self.hand += 1;
            }
            self.held.remove(self.hand);
            // A hand after the newest object must not check the object that is inserted now.
            if self.hand == self.held.len() {
                self.hand = 0;
            }
        }
        self.held.push((access.object.0, false));
        false
    }
}
