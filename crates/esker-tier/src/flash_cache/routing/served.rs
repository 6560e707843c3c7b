//! Reads that hit and that the backing device serves.

use esker_core::{DeviceError, DeviceState, Nanos, Request, RequestKind, Tag};

use super::super::job::{JobStep, JobTask};
use super::super::{BACKING, FLASH, FlashCacheEngine};

impl FlashCacheEngine {
    /// Tells the router that the host reads a line, which the cache may hold.
    pub(in super::super) fn note_lookup(&mut self, is_hit: bool) {
        if let Some(router) = &mut self.router {
            router.policy.looked_up(is_hit);
        }
    }

    /// Tells the router that a request of the host, which came at `began`, has succeeded.
    pub(in super::super) fn note_end(&mut self, request: &Request, began: Nanos) {
        let now = self.now;
        if let Some(router) = self.router.as_mut().filter(|_| request.kind.has_data()) {
            router.ended(now, request.length, now.saturating_sub(began));
        }
    }

    /// Returns true if the router keeps lines that reads miss out of the cache.
    pub(in super::super) fn keeps_out(&mut self, task: JobTask) -> bool {
        let Some(router) = self.router.as_mut().filter(|_| task == JobTask::Read) else { return false };
        let keeps_out = !router.policy.admits();
        router.counts.kept_out += u64::from(keeps_out);
        keeps_out
    }

    /// Returns true if the backing device is to serve this read of a held line. Only the flash has the data of a dirty
    /// line, also while they are being copied back. A backing device that has failed may have lost data of clean lines.
    /// The clean lines of one request go the same way.
    pub(in super::super) fn is_routed(&mut self, tag: Tag) -> bool {
        let job = *self.job(tag);
        let Some(router) = &mut self.router else { return false };
        if self.slots.is_dirty(job.line) || self.health.device(BACKING) == DeviceState::Failed {
            return false;
        }
        let host = job.host.expect("it is the host's");
        let is_routed = *self.progress.get_mut(host).routed.get_or_insert_with(|| router.policy.routes());
        router.counts.routed += u64::from(is_routed);
        is_routed
    }

    pub(in super::super) fn read_routed(&mut self, tag: Tag) {
        self.job(tag).step = JobStep::ReadRouted;
        self.send_host(tag, None, RequestKind::Read);
    }

    /// Handles the backing device's answer to a read that hit: if it cannot read the line, or has failed meanwhile and
    /// may have lost its data, the flash serves the read.
    pub(in super::super) fn routed_ended(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.job(tag).line;
        let slot = self.slots.of(line);
        let has_failed = error.is_some() || self.health.device(BACKING) == DeviceState::Failed;
        match slot.filter(|_| has_failed && self.health.device(FLASH) != DeviceState::Failed) {
            Some(slot) => {
                if let Some(router) = &mut self.router {
                    router.counts.fell_back += 1;
                }
                self.read_flash(tag, slot);
            }
            None => self.end_job(tag, error.map_or(Ok(()), Err)),
        }
    }
}
