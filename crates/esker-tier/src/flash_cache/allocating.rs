//! A cache that chooses its own size.

use esker_core::{Nanos, Telemetry};

use super::part::{Part, Task};
use super::{CacheRole, FlashCacheEngine, modes};

/// How often the flash is asked for its erases. Assumed.
pub(super) const TELEMETRY: Nanos = Nanos::from_millis(100);

impl FlashCacheEngine {
    /// Counts the access of a part of the host's, and changes the size of the cache if it is time for that.
    pub(super) fn allocate(&mut self, part: &Part) {
        let Some(allocator) = &mut self.allocator else { return };
        let is_write = match part.task {
            Task::Write(kind) if kind.has_data() => true,
            Task::Read => false,
            _ => return,
        };
        let counts = match self.role {
            CacheRole::Read => !is_write,
            CacheRole::Write => is_write,
            CacheRole::Unified => true,
        };
        if counts && let Some(over_provisioning) = allocator.access(self.now, part.line, is_write) {
            self.leave_to_cleaning(over_provisioning);
        }
    }

    /// Leaves this share of the flash to cleaning. Lines beyond the new size leave in the order of the policy, dirty
    /// ones after they are copied back, and their slots are trimmed.
    pub(super) fn leave_to_cleaning(&mut self, over_provisioning: f64) {
        let slots = self.slots.limit();
        let lines = ((f64::from(slots) * (1.0 - over_provisioning)) as u32).max(2);
        self.hold(lines);
    }

    /// How many slots lines can take now.
    pub(super) fn free_slots(&self) -> usize {
        let free = self.slots.free_in_order().min(self.room_for_valid() as usize);
        self.allocator.as_ref().map_or(free, |allocator| free.min(allocator.room.left(self.slots.used()) as usize))
    }

    /// Has lines take so many slots, of which some may be dirty. The policy holds fewer, by the reserve.
    pub(super) fn hold(&mut self, lines: u32) {
        let (used, reserve) = (self.slots.used(), modes::reserve(lines));
        if let Some(allocator) = &mut self.allocator {
            allocator.room.resize(lines, used, reserve);
        }
        let room = lines - reserve;
        let [low, high] = self.dirty_marks.map(|mark| mark.of(lines.into()) as u32);
        (self.dirty_low, self.dirty_high) = (low, high);
        self.resize_parts(room);
        self.policy.set_capacity(room);
        self.admission.set_capacity(room);
        while self.policy.len() > room
            && let Some(object) = self.policy.evict()
        {
            self.to_evict.push_back(object.0);
        }
    }

    /// Notes what the flash says of its erases.
    pub(super) fn learn_wear(&mut self, telemetry: &Telemetry) {
        let bytes = self.counts.flash_written_bytes;
        if let Some(allocator) = &mut self.allocator {
            allocator.learn(telemetry.erases, bytes);
        }
    }
}
