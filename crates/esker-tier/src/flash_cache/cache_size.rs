//! The size of the cache: how many lines it may hold.

use esker_core::{Nanos, Telemetry};

use super::{FlashCacheEngine, modes};

/// How often a cache that chooses its size asks the flash for its erases. Assumed.
pub(super) const TELEMETRY: Nanos = Nanos::from_millis(100);

impl FlashCacheEngine {
    /// Leaves the share `over_provisioning` of the flash to cleaning. The lines beyond the new size leave in the
    /// policy's order, dirty ones after they are copied back, and their slots are trimmed.
    pub(super) fn leave_to_cleaning(&mut self, over_provisioning: f64) {
        let slots = self.slots.limit();
        let lines = ((f64::from(slots) * (1.0 - over_provisioning)) as u32).max(2);
        self.limit_slots(lines);
    }

    /// Returns how many more slots new lines may take now.
    pub(super) fn free_slots(&self) -> usize {
        let free = self.slots.free_in_order().min(self.room_for_valid() as usize);
        self.budget.as_ref().map_or(free, |budget| free.min(budget.left(self.slots.used()) as usize))
    }

    /// Limits the cache to `lines` slots, and adjusts the limits of dirty lines. The policy may hold fewer lines, by
    /// the reserve. If it holds more now, it evicts them.
    pub(super) fn limit_slots(&mut self, lines: u32) {
        let (used, reserve) = (self.slots.used(), modes::reserve(lines));
        if let Some(budget) = &mut self.budget {
            budget.resize(lines, used, reserve);
        }
        let room = lines - reserve;
        let [low, high] = self.dirty_marks.map(|mark| mark.of(lines.into()) as u32);
        (self.dirty_low, self.dirty_high) = (low, high);
        if let Some(controller) = &mut self.controller {
            controller.resize(room);
        }
        self.policy.set_capacity(room);
        self.admission.set_capacity(room);
        while self.policy.len() > room
            && let Some(object) = self.policy.evict()
        {
            self.to_evict.push_back(object.0);
        }
    }

    /// Tells the controller how many erases the flash has reported, and what it was written for them.
    pub(super) fn learn_wear(&mut self, telemetry: &Telemetry) {
        let bytes = self.written_before + self.counts.flash_written_bytes;
        if let Some(controller) = &mut self.controller {
            controller.learn_wear(telemetry.erases, bytes);
        }
    }
}
