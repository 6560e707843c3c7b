//! Which lines the cache holds: what the replacement and the admission policy are asked and told.

use esker_cache::{Access, AccessKind, NEVER, ObjectId};
use esker_core::Tag;

use super::FlashCacheEngine;
use super::part::{Part, Task};

impl FlashCacheEngine {
    /// Tells the policies of an access to a line that is held. One that was about to leave stays.
    pub(super) fn touch(&mut self, part: &Part) {
        let access = Self::access(part);
        self.admission.hit(self.now, &access);
        if !self.policy.hit(&access) && !self.has_to_leave(part.line) && !self.flash_failed() {
            if self.end_suspicion(part.line) {
                self.counts.revived_suspects += 1;
            } else {
                self.counts.revived += 1;
            }
            let left = self.policy.insert(&access);
            self.to_evict.extend(left.map(|object| object.0));
        }
        self.warm(part.line);
    }

    /// Asks the policies for room for a line that is not held. Returns whether it has a slot now.
    pub(super) fn admit(&mut self, tag: Tag) -> bool {
        let part = *self.part(tag);
        if part.shared || self.flash_failed() || self.health.journal_failed() || self.is_used_up() {
            return false;
        }
        let access = Self::access(&part);
        let is_held = self.policy.hit(&access);
        assert!(!is_held, "the policy holds what has no slot");
        // The line is written as a whole.
        if !self.admission.admits(self.now, &Access { bytes: self.line as u32, ..access }) {
            self.counts.refused += 1;
            return false;
        }
        let is_full = (self.allocator.is_some() || self.owned.is_some()) && self.free_slots() == 0;
        if self.slots.free() == 0 || is_full {
            self.counts.without_slot += 1;
            return false;
        }
        let mut reached = Vec::new();
        let slot = self.slots.take(&mut reached);
        for line in reached {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        let left = self.policy.insert(&access).map(|object| object.0);
        if left == Some(part.line) {
            slot.into_iter().for_each(|slot| self.slots.put_back(slot));
            return false;
        }
        self.to_evict.extend(left);
        self.part(tag).slot = slot;
        true
    }

    pub(super) fn access(part: &Part) -> Access {
        let kind = if part.task == Task::Read { AccessKind::Read } else { AccessKind::Write };
        Access { object: ObjectId(part.line), bytes: part.length as u32, kind, next_use: NEVER }
    }
}
