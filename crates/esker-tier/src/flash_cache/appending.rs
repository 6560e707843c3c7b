//! Changes of an append-only log: the changed line goes to the next slot.

use esker_cache::ObjectId;
use esker_core::{DeviceError, RequestKind, Tag};

use super::part::{Step, Task};
use super::slots::Recorded;
use super::{FLASH, FlashCacheEngine};

impl FlashCacheEngine {
    /// Writes a line that the host changes to another slot. If there is none, it is changed where it is.
    pub(super) fn append(&mut self, tag: Tag) {
        let part = *self.part(tag);
        let is_whole = part.length == self.line;
        let Task::Write(kind) = part.task else { unreachable!("it is a write") };
        // Zeroes have no data that could be merged into a line.
        let can_move = is_whole || kind.has_data();
        if !can_move || self.flash_failed() || self.health.journal_failed() || self.slots.free() == 0 {
            return self.change(tag);
        }
        let mut reached = Vec::new();
        let slot = self.slots.take(&mut reached);
        // Its own slot may be among those that the log has reached.
        for line in reached.into_iter().filter(|&line| line != part.line) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.renew(tag);
        self.part(tag).slot = slot;
        if is_whole {
            self.part(tag).step = Step::Append;
            self.send_host(tag, slot, Self::in_cache(kind));
        } else {
            self.take_buffer(tag);
            self.part(tag).step = Step::Merge;
            self.send_line(tag, self.slots.of(part.line), RequestKind::Read);
        }
    }

    /// The line is the last one of the log now, and so of the policy.
    fn renew(&mut self, tag: Tag) {
        let access = Self::access(self.part(tag));
        self.policy.remove(access.object);
        self.policy.hit(&access);
        let left = self.policy.insert(&access);
        self.to_evict.extend(left.map(|object| object.0));
    }

    /// The line of a part is in its buffer: it goes to its new slot, changed by what the host writes.
    pub(super) fn merged(&mut self, tag: Tag, error: Option<DeviceError>) {
        if error.is_some() {
            self.give_back(tag);
            return self.change(tag);
        }
        let part = *self.part(tag);
        self.copy_host(&part, false);
        self.part(tag).step = Step::Append;
        self.send_line(tag, part.slot, RequestKind::Write { fua: false });
    }

    /// A changed line is in its new slot, or is not.
    pub(super) fn appended(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.part(tag).line;
        if let Some(error) = error {
            self.give_back(tag);
            if !self.slots.is_dirty(line) {
                // The backing device has all that the flash had of it.
                return self.go_around(tag);
            }
            self.counts.lost += 1;
            return self.end_part(tag, Err(error));
        }
        let slot = self.part(tag).slot.take().expect("it was taken");
        if self.slots.recorded(line) == Recorded::Clean {
            // The backing device has what the journal names: the line leaves there, and comes in anew.
            let record = self.record_left(line);
            self.slots.unmap(line, Some(record));
            self.slots.map(line, slot, true);
        } else {
            #[cfg(test)]
            if self.fault == Some(super::Fault::HurriesOutdated) {
                self.slots.set_recorded(line, Recorded::No);
            }
            let is_flushing = self.durability.is_flushing(FLASH);
            #[cfg(test)]
            let is_flushing = is_flushing && self.fault != Some(super::Fault::ForgetsPromises);
            self.slots.remap(line, slot, is_flushing);
        }
        self.unrecorded += 1;
        self.durability.record_after_flush_of(FLASH, self.slots.state(line));
        if self.slots.has_to_leave(line) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.end_part(tag, Ok(()));
    }

    /// The line stays where it is.
    fn give_back(&mut self, tag: Tag) {
        let slot = self.part(tag).slot.take();
        slot.into_iter().for_each(|slot| self.slots.put_back(slot));
    }
}
