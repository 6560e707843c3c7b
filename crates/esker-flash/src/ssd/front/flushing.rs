//! Flushes of the write buffer: they wait until flash has what was written before them.

use esker_core::{DeviceError, Nanos};

use super::Front;
use super::buffering::Buffering;

impl Buffering {
    /// Returns the error of a flush if the buffer holds pages that can no longer reach flash.
    pub(in crate::ssd) fn flush_error(&self) -> Option<DeviceError> {
        self.failed.filter(|_| !self.settings.power_protected && self.memory.unwritten() > 0)
    }

    /// Makes a flush, if its turn has come, wait for the pages that flash lacks. Returns false if there is nothing to
    /// wait for.
    pub(in crate::ssd) fn delay_flush(&mut self, slot: u32) -> bool {
        if self.settings.power_protected {
            return false;
        }
        self.memory.await_all();
        let waits = self.memory.is_awaited() && self.failed.is_none();
        if waits {
            self.flush = Some(slot);
        }
        waits
    }
}

impl Front {
    /// Ends the flush that waits, if there is no more page that it waited for.
    pub(super) fn end_flush(&mut self, now: Nanos) {
        let buffering = self.buffering();
        if !buffering.memory.is_awaited()
            && let Some(flush) = buffering.flush.take()
        {
            self.ready.push_back((now, flush));
        }
    }
}
