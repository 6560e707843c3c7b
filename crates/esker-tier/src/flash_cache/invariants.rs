//! The invariants of a cache, and its current counts.

use esker_cache::ObjectId;

use super::FlashCacheEngine;
use crate::engine::FlashCacheCounts;

impl FlashCacheEngine {
    pub(super) fn counts_now(&self) -> FlashCacheCounts {
        let suspects = u64::from(self.suspects());
        let held = self.slots.held().count() as u64 - suspects;
        let dirty = self.slots.held().filter(|(.., dirty)| *dirty).count() as u64;
        let (limit, slots) = (self.slots.limit(), u64::from(self.most_valid()));
        let beyond = match self.owned {
            Some(_) => held.saturating_sub(slots),
            None => self.slots.held().filter(|(_, slot, ..)| *slot >= limit).count() as u64,
        };
        FlashCacheCounts { held, dirty, slots, beyond, suspects, ..self.counts }
    }

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
