//! Flushes and records.

use esker_core::{Bytes, DeviceError, Lba, Priority, Request, RequestKind, Tag};

use super::io::Io;
use super::slots::{DataVersion, RecordedState};
use super::{BACKING, FLASH, FlashCacheEngine, FlashCacheRecord};
use crate::engine::{Effect, FlushOutcome, FlushWait, IoId, NextFlush, RecordNumber};
use crate::extent::{DeviceIndex, LogicalExtent, PhysicalExtent};

/// A flush with this priority.
fn like(priority: Priority) -> Request {
    Request { priority, ..Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO) }
}

impl FlashCacheEngine {
    /// Handles a flush of the host, or the flush at the end of a durable write. It waits for a flush of each device
    /// with completed writes that no flush covers yet, and then for the records.
    pub(super) fn flush(&mut self, tag: Tag) {
        self.progress.get_mut(tag).flushing = true;
        // Keeps the request open until all devices have been asked.
        self.hosts.wait(tag);
        for device in [FLASH, BACKING] {
            if self.health.has_failed(device) {
                if !self.is_dispensable(device) {
                    self.hosts.note(tag, u64::from(device.0), DeviceError::Failed);
                }
                continue;
            }
            match self.durability.wait_for_flush(device, Some(tag), like(Priority::USER)) {
                FlushWait::Nothing => continue,
                FlushWait::UnderWay => {}
                FlushWait::NewFlush => self.send_flush(device, vec![tag], like(Priority::USER)),
            }
            self.hosts.wait(tag);
        }
        if self.hosts.child_ended(tag, 0, Ok(())) {
            self.end_host(tag);
        }
    }

    /// Returns true if no promised data are on `device` alone, so that a failed flush of it does no harm.
    fn is_dispensable(&self, device: DeviceIndex) -> bool {
        device == FLASH && !self.health.journal_failed() && !self.slots.any_dirty() && !self.slots.any_recorded_dirty()
    }

    /// Flushes `device` for the cache itself: now, or after the flush that is under way.
    fn flush_for_itself(&mut self, device: DeviceIndex) {
        let request = like(Priority::BACKGROUND);
        if let FlushWait::NewFlush = self.durability.wait_for_flush(device, None, request) {
            self.send_flush(device, Vec::new(), request);
        }
    }

    fn send_flush(&mut self, device: DeviceIndex, hosts: Vec<Tag>, request: Request) {
        let io = IoId(self.ios.insert(Io::Flush { device }));
        self.durability.flush_begun(device, io, hosts);
        self.effects.push(Effect::Io { io, host: None, device, request, data: None });
    }

    pub(super) fn flush_ended(&mut self, device: DeviceIndex, io: IoId, result: Result<(), DeviceError>) {
        let FlushOutcome { hosts, durable, next } = self.durability.flush_ended(device, io, result.is_ok());
        if let Some(NextFlush { hosts, like }) = next {
            self.send_flush(device, hosts, like);
        }
        for version in durable {
            self.data_durable(device, version);
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

    /// Notes that a version of a line's data is durable on `device`, and issues the record that this allows.
    fn data_durable(&mut self, device: DeviceIndex, version: DataVersion) {
        if self.health.journal_failed() {
            return;
        }
        if !self.slots.is_here(version) {
            return if device == FLASH {
                self.keep_promise(version)
            };
        }
        if device == BACKING {
            if self.slots.is_unchanged(version) && !self.slots.is_dirty(version.line) {
                match self.durability.is_durable(FLASH) {
                    true => self.data_durable(FLASH, version),
                    false => self.durability.record_after_flush_of(FLASH, version),
                }
            }
            return;
        }
        let is_dirty = self.slots.is_dirty(version.line);
        let unchanged = self.slots.is_unchanged(version);
        #[cfg(test)]
        let unchanged = unchanged || self.fault == Some(super::Fault::OverlooksChanges);
        match (is_dirty, self.slots.recorded(version.line)) {
            (true, RecordedState::Dirty) | (false, RecordedState::Clean) => {}
            // These data or later ones of the host are durable.
            (true, _) => drop(self.record_line(version.line, true)),
            (false, _) if unchanged => drop(self.record_line(version.line, false)),
            (false, _) => {}
        }
    }

    /// Issues a record for data that became durable in a slot which their line has left in the meantime. The data in
    /// the new slot may still be lost, and the host waits for those in the old slot: the journal names the old slot
    /// until it can name the new one.
    fn keep_promise(&mut self, version: DataVersion) {
        self.keep_for_snapshot(version.line);
        if let Some(slot) = self.slots.keep_promise(version) {
            let (line, at) = (LogicalExtent(version.line), PhysicalExtent(slot));
            let record = self.issue(FlashCacheRecord::Cached { line, slot: at, dirty: true });
            self.slots.name_former(version.line, slot, record);
        }
    }

    /// Returns true if a request has to wait for records that are not durable yet.
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
        while let Some((_, job)) = self.announced.pop_front_if(|(record, _)| *record <= through) {
            self.announced(job, true);
        }
    }

    pub(super) fn journal_failed(&mut self) {
        self.health.fail_journal();
        for host in self.durability.give_up() {
            self.end_host(host);
        }
        for (_, job) in std::mem::take(&mut self.announced) {
            self.announced(job, false);
        }
        self.leave_failed_flash();
    }

    /// Starts a flush for the cache itself if many clean lines have no record, so that a restart finds them in the
    /// cache. Also if slots are scarce and some can become free only by a flush.
    pub(super) fn sync_if_due(&mut self) {
        let due = (self.slots.limit() / 16).max(64);
        // Former slots that wait for a record cannot take new lines.
        let is_short = !self.slots.former_named().is_empty() && self.slots.free_in_order() <= self.few();
        // Lines that the journal names as dirty could not be dropped by the flash.
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
