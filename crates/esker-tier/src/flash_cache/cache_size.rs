//! The size of the cache: how many lines it may hold, and how it follows the allocator.

use esker_core::{Nanos, Telemetry};

use super::job::{Job, JobTask};
use super::{CacheRole, FlashCacheEngine, modes};

/// How often a cache with an allocator asks the flash for its erases. Assumed.
pub(super) const TELEMETRY: Nanos = Nanos::from_millis(100);

impl FlashCacheEngine {
    /// Counts the access of a job of the host, and changes the size of the cache if the allocator decides so.
    pub(super) fn follow_allocator(&mut self, job: &Job) {
        let Some(allocator) = &mut self.allocator else { return };
        let is_write = match job.task {
            JobTask::Write(kind) if kind.has_data() => true,
            JobTask::Read => false,
            _ => return,
        };
        let counts = match self.role {
            CacheRole::Read => !is_write,
            CacheRole::Write => is_write,
            CacheRole::Unified => true,
        };
        if counts && let Some(over_provisioning) = allocator.access(self.now, job.line, is_write) {
            self.leave_to_cleaning(over_provisioning);
        }
    }

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
        self.allocator.as_ref().map_or(free, |allocator| free.min(allocator.budget.left(self.slots.used()) as usize))
    }

    /// Limits the cache to `lines` slots, and adjusts the limits of dirty lines. The policy may hold fewer lines, by
    /// the reserve. If it holds more now, it evicts them.
    pub(super) fn limit_slots(&mut self, lines: u32) {
        let (used, reserve) = (self.slots.used(), modes::reserve(lines));
        if let Some(allocator) = &mut self.allocator {
            allocator.budget.resize(lines, used, reserve);
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

    /// Tells the allocator how many erases the flash has reported.
    pub(super) fn learn_wear(&mut self, telemetry: &Telemetry) {
        let bytes = self.counts.flash_written_bytes;
        if let Some(allocator) = &mut self.allocator {
            allocator.learn(telemetry.erases, bytes);
        }
    }
}
