//! Flushes and records.

use esker_core::{Bytes, DeviceError, Lba, Priority, Request, RequestKind, Tag};

use super::io::Io;
use super::slots::{Recorded, State};
use super::{BACKING, FLASH, FlashCacheEngine};
use crate::engine::{Effect, FlushEnded, IoId, MapRecord, NextFlush, RecordNumber, Waiting};
use crate::extent::{DeviceIndex, LogicalExtent, PhysicalExtent};

/// A flush of this priority.
fn like(priority: Priority) -> Request {
    Request { priority, ..Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO) }
}

impl FlashCacheEngine {
    /// Handles a flush of the host, or the flush at the end of a durable write. It waits for a flush of each device
    /// with completed writes that no flush covers yet, and then for the records.
    pub(super) fn flush(&mut self, tag: Tag) {
        self.progress.get_mut(tag).flushing = true;
        // The request's own wait, so that it does not end before all devices were asked.
        self.hosts.wait(tag);
        for device in [FLASH, BACKING] {
            if self.health.has_failed(device) {
                if !self.is_dispensable(device) {
                    self.hosts.note(tag, u64::from(device.0), DeviceError::Failed);
                }
                continue;
            }
            match self.durability.wait_for_flush(device, Some(tag), like(Priority::USER)) {
                Waiting::Nothing => continue,
                Waiting::UnderWay => {}
                Waiting::NewFlush => self.send_flush(device, vec![tag], like(Priority::USER)),
            }
            self.hosts.wait(tag);
        }
        if self.hosts.child_ended(tag, 0, Ok(())) {
            self.end_host(tag);
        }
    }

    /// Whether nothing that the host was promised is on `device` alone.
    fn is_dispensable(&self, device: DeviceIndex) -> bool {
        device == FLASH && !self.health.journal_failed() && !self.slots.any_dirty()
    }

    /// Flushes `device` for the cache itself: now, or after the flush under way.
    fn flush_for_itself(&mut self, device: DeviceIndex) {
        let request = like(Priority::BACKGROUND);
        if let Waiting::NewFlush = self.durability.wait_for_flush(device, None, request) {
            self.send_flush(device, Vec::new(), request);
        }
    }

    fn send_flush(&mut self, device: DeviceIndex, hosts: Vec<Tag>, request: Request) {
        let io = IoId(self.ios.insert(Io::Flush { device }));
        self.durability.flush_begun(device, io, hosts);
        self.effects.push(Effect::Io { io, host: None, device, request, data: None });
    }

    pub(super) fn flush_ended(&mut self, device: DeviceIndex, io: IoId, result: Result<(), DeviceError>) {
        let FlushEnded { hosts, durable, next } = self.durability.flush_ended(device, io, result.is_ok());
        if let Some(NextFlush { hosts, like }) = next {
            self.send_flush(device, hosts, like);
        }
        for state in durable {
            self.data_durable(device, state);
        }
        if device == FLASH && !self.durability.is_flushing(FLASH) {
            self.slots.forget_promises();
        }
        for host in hosts {
            let result = if self.is_dispensable(device) { Ok(()) } else { result };
            if self.hosts.child_ended(host, u64::from(device.0), result) {
                self.end_host(host);
            }
        }
        if self.syncing && result.is_ok() && device == BACKING && self.durability.lacks_flush(FLASH) {
            return self.flush_for_itself(FLASH);
        }
        self.syncing = false;
    }

    /// A state of a line's data is durable on `device`: the record is brought up to date.
    fn data_durable(&mut self, device: DeviceIndex, state: State) {
        if self.health.journal_failed() {
            return;
        }
        if !self.slots.is_here(state) {
            return if device == FLASH {
                self.keep_promise(state)
            };
        }
        if device == BACKING {
            if self.slots.is_unchanged(state) && !self.slots.is_dirty(state.line) {
                match self.durability.is_durable(FLASH) {
                    true => self.data_durable(FLASH, state),
                    false => self.durability.record_after_flush_of(FLASH, state),
                }
            }
            return;
        }
        let is_dirty = self.slots.is_dirty(state.line);
        let unchanged = self.slots.is_unchanged(state);
        #[cfg(test)]
        let unchanged = unchanged || self.fault == Some(super::Fault::OverlooksChanges);
        match (is_dirty, self.slots.recorded(state.line)) {
            (true, Recorded::Dirty) | (false, Recorded::Clean) => {}
            // What is durable are these data or later ones of the host.
            (true, _) => drop(self.record_line(state.line, true)),
            (false, _) if unchanged => drop(self.record_line(state.line, false)),
            (false, _) => {}
        }
    }

    /// The data of `state` are durable in a slot that its line has left while they were flushed. Those in the new slot
    /// may yet be lost, and the host waits for these: the journal names them until it can name the new slot.
    fn keep_promise(&mut self, state: State) {
        if let Some(slot) = self.slots.keep_promise(state) {
            let (line, at) = (LogicalExtent(state.line), PhysicalExtent(slot));
            let record = self.issue(MapRecord::Cached { line, slot: at, dirty: true });
            self.slots.name_former(state.line, slot, record);
        }
    }

    /// Whether a request has to wait for records that are not durable yet.
    pub(super) fn waits_for_records(&mut self, tag: Tag) -> bool {
        #[cfg(test)]
        if self.fault == Some(super::Fault::AnswersEarly) {
            return false;
        }
        if self.health.journal_failed() {
            self.hosts.note(tag, 0, DeviceError::Failed);
            return false;
        }
        self.durability.wait_for_records(tag, &mut self.effects)
    }

    pub(super) fn records_durable(&mut self, through: RecordNumber) {
        self.slots.durable(through);
        self.clean_durable(through);
        for host in self.durability.durable(through, &mut self.effects) {
            self.end_host(host);
        }
        while let Some((_, part)) = self.announced.pop_front_if(|(record, _)| *record <= through) {
            self.announced(part, true);
        }
    }

    pub(super) fn journal_failed(&mut self) {
        self.health.fail_journal();
        for host in self.durability.give_up() {
            self.end_host(host);
        }
        for (_, part) in std::mem::take(&mut self.announced) {
            self.announced(part, false);
        }
        self.leave_failed_flash();
    }

    /// Begins a flush of the cache's own if many clean lines are not recorded, so that a restart finds them. Also if
    /// slots are short and some wait for a record.
    pub(super) fn sync_if_due(&mut self) {
        let due = (self.slots.limit() / 16).max(64);
        // Slots that wait for a record are none for new lines.
        let is_short = !self.slots.former_named().is_empty() && self.slots.free_in_order() <= self.few();
        // Lines that the journal names as dirty could not be dropped.
        let is_short = is_short || self.is_short_of_room();
        if (self.unrecorded < due && !is_short)
            || self.syncing
            || self.flash_failed()
            || self.health.has_failed(BACKING)
        {
            return;
        }
        self.unrecorded = 0;
        let device = if self.durability.is_durable(BACKING) { FLASH } else { BACKING };
        if self.durability.lacks_flush(device) {
            self.syncing = true;
            self.flush_for_itself(device);
        }
    }
}
