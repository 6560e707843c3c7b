//! Trims of slots that become free, so that the drive need not keep data that nobody will read.

use std::ops::Range;

use esker_core::{Bytes, Lba, Priority, Request, RequestKind};

use super::io::Io;
use super::{FLASH, FlashCacheEngine};
use crate::engine::{Effect, IoId};

impl FlashCacheEngine {
    /// Trims the slots that have become free. A slot is reused only after its trim has ended: a late trim would discard
    /// the data of its next line.
    pub(super) fn send_trims(&mut self) {
        for slots in self.slots.take_untold() {
            if self.flash_failed() || self.health.journal_failed() {
                self.slots_told(slots);
                continue;
            }
            let line = self.line;
            let start = Lba::containing(u64::from(slots.start) * line);
            let length = Bytes(u64::from(slots.end - slots.start) * line);
            self.counts.trimmed_bytes += length.0;
            #[cfg(test)]
            let slots = self.hurry(slots);
            let io = IoId(self.ios.insert(Io::Trim { slots }));
            let request = Request { priority: Priority::BACKGROUND, ..Request::new(RequestKind::Trim, start, length) };
            self.effects.push(Effect::Io { io, host: None, device: FLASH, request, data: None });
        }
    }

    /// Notes the end of a trim. A failed trim has changed nothing that anybody reads.
    pub(super) fn trim_ended(&mut self, slots: Range<u32>) {
        self.slots_told(slots);
    }

    /// Returns the slots that become free when their trim ends: none if a fault has freed them already.
    #[cfg(test)]
    fn hurry(&mut self, slots: Range<u32>) -> Range<u32> {
        if self.fault != Some(super::Fault::HurriesTrims) {
            return slots;
        }
        self.slots_told(slots);
        0..0
    }
}
