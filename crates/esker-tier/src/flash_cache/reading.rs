//! Reads of the host, and lines that are fetched for a request.

use esker_core::{DeviceError, RequestKind, Tag};

use super::part::{Step, Task};
use super::{CacheRole, FlashCacheEngine, WriteHandling};

type Errors = [Option<DeviceError>; 2];

impl FlashCacheEngine {
    /// Whether reads bring lines into the cache.
    pub(super) fn fills_reads(&self) -> bool {
        self.role != CacheRole::Write
    }

    pub(super) fn start_read(&mut self, tag: Tag) {
        let part = *self.part(tag);
        let slot = self.slots.of(part.line);
        if slot.is_some() {
            self.counts.read_hits += 1;
            self.touch(&part);
        } else {
            self.counts.read_misses += 1;
        }
        // A flash that has failed is asked for what only it has.
        match slot.filter(|_| self.slots.is_dirty(part.line) || !self.flash_failed()) {
            Some(slot) => {
                self.part(tag).step = Step::ReadFlash;
                self.send_host(tag, Some(slot), RequestKind::Read);
            }
            None if slot.is_none() && self.fills_reads() && self.admit(tag) => self.fetch(tag),
            None => self.read_backing(tag),
        }
    }

    fn read_backing(&mut self, tag: Tag) {
        self.part(tag).step = Step::ReadBacking;
        self.send_host(tag, None, RequestKind::Read);
    }

    /// The flash has answered a read of the host. A clean line that it cannot read leaves.
    pub(super) fn read_from_flash(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.part(tag).line;
        let Some(error) = error else { return self.end_part(tag, Ok(())) };
        if self.slots.is_dirty(line) {
            self.counts.lost += 1;
            return self.end_part(tag, Err(error));
        }
        self.counts.flash_errors += 1;
        if self.slots.of(line).is_some() {
            self.policy.remove(esker_cache::ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.read_backing(tag);
    }

    /// Reads the part's line into a buffer.
    pub(super) fn fetch(&mut self, tag: Tag) {
        self.counts.filled_bytes += self.line;
        self.take_buffer(tag);
        self.part(tag).step = Step::Fetch;
        self.send_line(tag, None, RequestKind::Read);
    }

    /// The line of a part is in its buffer: it goes to its slot, changed by what the host writes.
    pub(super) fn fetched(&mut self, tag: Tag, error: Option<DeviceError>) {
        let part = *self.part(tag);
        if error.is_some() {
            // The host's bytes alone may be readable.
            self.give_up_slot(tag);
            return if part.task == Task::Read { self.read_backing(tag) } else { self.go_around(tag) };
        }
        let is_read = part.task == Task::Read;
        self.copy_host(&part, is_read);
        if is_read {
            self.answer(tag, Ok(()));
        }
        self.part(tag).step = Step::Fill;
        self.send_line(tag, part.slot, RequestKind::Write { fua: false });
        if let (Task::Write(kind), WriteHandling::WriteThrough) = (part.task, self.write) {
            self.send_host(tag, None, Self::in_cache(kind));
        }
    }

    /// A new line is in its slot, or is not.
    pub(super) fn filled(&mut self, tag: Tag, errors: Errors) {
        let part = *self.part(tag);
        let through = self.write == WriteHandling::WriteThrough;
        match (errors, part.task) {
            ([None, None], task) => {
                self.part(tag).slot = None;
                self.settle_line(tag, part.slot, matches!(task, Task::Write(_)) && !through);
            }
            (_, Task::Read) => {
                self.give_up_slot(tag);
                self.end_part(tag, Ok(()));
            }
            ([_, backing], _) => {
                self.give_up_slot(tag);
                if through {
                    return self.end_part(tag, backing.map_or(Ok(()), Err));
                }
                self.go_around(tag);
            }
        }
    }

    /// The line does not come into the cache after all.
    pub(super) fn give_up_slot(&mut self, tag: Tag) {
        let part = self.part(tag);
        let (line, slot) = (part.line, part.slot.take());
        if let Some(slot) = slot {
            self.slots.put_back(slot);
            self.policy.remove(esker_cache::ObjectId(line));
        }
    }
}
