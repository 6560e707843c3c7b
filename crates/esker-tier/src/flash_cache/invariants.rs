//! The invariants of a cache.

use esker_cache::ObjectId;

use super::FlashCacheEngine;

impl FlashCacheEngine {
    pub(super) fn check_all(&self) {
        self.slots.check();
        self.check_owned();
        self.durability.check();
        let at_rest = self.jobs.is_empty();
        assert!(!at_rest || (self.locks.is_empty() && self.buffers.is_empty()), "an idle cache works on a line");
        assert!(self.announced.iter().is_sorted_by_key(|(record, _)| *record));
        if at_rest {
            let held = self.slots.held().filter(|(line, ..)| self.policy.holds(ObjectId(*line))).count();
            assert_eq!(held, self.policy.len() as usize, "the policy holds what has no slot");
        }
        if let Some(parts) = self.policy.parts() {
            assert_eq!(parts.shares().sum::<u32>(), self.policy.capacity(), "shares are not those of the cache");
        }
    }
}
