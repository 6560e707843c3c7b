//! Tracks what would survive a crash: completed writes, flushes and records. Also tracks which requests wait for each.

use std::collections::VecDeque;

use esker_core::Tag;

use super::{Effect, IoId, RecordNumber};
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent};

/// What is durable on each device and in the journal. `R` names what records are to be issued of.
#[derive(Debug)]
pub(crate) struct Durability<R = WrittenBlocks> {
    devices: Vec<DeviceBooks<R>>,
    /// The last record that was issued.
    issued: RecordNumber,
    /// The last record for which [`Effect::Harden`] was asked.
    hardening: RecordNumber,
    /// The last record that is durable.
    durable: RecordNumber,
    /// Host requests by the record that they wait for, in rising order.
    waiting: VecDeque<(RecordNumber, Tag)>,
}

#[derive(Debug)]
struct DeviceBooks<R> {
    /// Number of completed writes; those that were durable at once are not counted.
    written: u64,
    /// How many of them, counted from the first, a flush has made durable.
    durable: u64,
    /// Flushes under way.
    flushes: Vec<Flush>,
    /// What records may be issued of once this many writes are durable; in rising order.
    records: VecDeque<(u64, R)>,
}

impl<R> Default for DeviceBooks<R> {
    fn default() -> Self {
        Self { written: 0, durable: 0, flushes: Vec::new(), records: VecDeque::new() }
    }
}

/// Blocks that were written at a place for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrittenBlocks {
    pub(crate) extent: LogicalExtent,
    pub(crate) place: ExtentPlace,
    pub(crate) blocks: BlockRange,
}

#[derive(Debug)]
struct Flush {
    io: IoId,
    /// The number of writes that it makes durable: those that had completed when it was submitted.
    covers: u64,
    hosts: Vec<Tag>,
}

/// What a host's flush waits for on one device.
pub(crate) enum Waiting {
    /// All completed writes are durable.
    Nothing,
    /// A flush that is under way covers them; the host has joined it.
    UnderWay,
    /// A flush has to be submitted.
    NewFlush,
}

impl Durability {
    /// The record of `blocks` may be issued once the writes completed so far on their device are durable.
    pub(crate) fn record_after_flush(&mut self, blocks: WrittenBlocks) {
        self.record_after_flush_of(blocks.place.device, blocks);
    }

    /// Forgets the blocks of `extent` that wait for a flush of `device`: they are not there any more. Returns the
    /// requests that wait for a flush of them.
    pub(crate) fn forget(&mut self, device: DeviceIndex, extent: LogicalExtent) -> Vec<Tag> {
        let books = &mut self.devices[device.0 as usize];
        let mut first = u64::MAX;
        books.records.retain(|(written, blocks)| {
            if blocks.extent == extent {
                first = first.min(*written);
            }
            blocks.extent != extent
        });
        let flushes = books.flushes.iter().filter(|flush| flush.covers >= first);
        flushes.flat_map(|flush| flush.hosts.iter().copied()).collect()
    }
}

impl<R> Durability<R> {
    pub(crate) fn new(devices: usize, through: RecordNumber) -> Self {
        Self {
            devices: (0..devices).map(|_| DeviceBooks::default()).collect(),
            issued: through,
            hardening: through,
            durable: through,
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn issued(&self) -> RecordNumber {
        self.issued
    }

    /// Takes the number of the next record.
    pub(crate) fn issue(&mut self) -> RecordNumber {
        self.issued.0 += 1;
        self.issued
    }

    /// Counts a write that completed on `device`.
    pub(crate) fn written(&mut self, device: DeviceIndex) {
        self.devices[device.0 as usize].written += 1;
    }

    /// Records of `what` may be issued once the writes completed so far on `device` are durable.
    pub(crate) fn record_after_flush_of(&mut self, device: DeviceIndex, what: R) {
        let books = &mut self.devices[device.0 as usize];
        books.records.push_back((books.written, what));
    }

    /// Whether all writes completed so far on `device` are durable.
    pub(crate) fn is_durable(&self, device: DeviceIndex) -> bool {
        let books = &self.devices[device.0 as usize];
        books.durable == books.written
    }

    /// Adds a device.
    pub(crate) fn add_device(&mut self) {
        self.devices.push(DeviceBooks::default());
    }

    /// Whether `device` has completed writes that no flush covers, ended or under way.
    pub(crate) fn lacks_flush(&self, device: DeviceIndex) -> bool {
        let books = &self.devices[device.0 as usize];
        books.durable < books.written && books.flushes.iter().all(|flush| flush.covers < books.written)
    }

    /// Whether a flush of `device` is under way.
    pub(crate) fn is_flushing(&self, device: DeviceIndex) -> bool {
        !self.devices[device.0 as usize].flushes.is_empty()
    }

    /// Returns what a host's flush has to wait for on `device`.
    pub(crate) fn wait_for_flush(&mut self, device: DeviceIndex, host: Tag) -> Waiting {
        let books = &mut self.devices[device.0 as usize];
        if books.durable == books.written {
            return Waiting::Nothing;
        }
        match books.flushes.iter_mut().find(|flush| flush.covers == books.written) {
            Some(flush) => {
                flush.hosts.push(host);
                Waiting::UnderWay
            }
            None => Waiting::NewFlush,
        }
    }

    /// Notes that `io` flushes `device`, on behalf of `host` if there is one.
    pub(crate) fn flush_begun(&mut self, device: DeviceIndex, io: IoId, host: Option<Tag>) {
        let books = &mut self.devices[device.0 as usize];
        books.flushes.push(Flush { io, covers: books.written, hosts: host.into_iter().collect() });
    }

    /// Ends the flush `io`. Returns the requests that waited for it, and what records may be issued of now.
    pub(crate) fn flush_ended(&mut self, device: DeviceIndex, io: IoId, ok: bool) -> (Vec<Tag>, Vec<R>) {
        let books = &mut self.devices[device.0 as usize];
        let index = books.flushes.iter().position(|flush| flush.io == io).expect("the flush is under way");
        let flush = books.flushes.remove(index);
        let mut blocks = Vec::new();
        if ok {
            books.durable = books.durable.max(flush.covers);
            while let Some((_, written)) = books.records.pop_front_if(|(written, _)| *written <= flush.covers) {
                blocks.push(written);
            }
        }
        (flush.hosts, blocks)
    }

    /// Returns true if `host` has to wait until the records issued so far are durable, and asks for that if it was not
    /// asked for yet.
    pub(crate) fn wait_for_records(&mut self, host: Tag, effects: &mut Vec<Effect>) -> bool {
        if self.durable >= self.issued {
            return false;
        }
        self.harden(effects);
        self.waiting.push_back((self.issued, host));
        true
    }

    /// Asks for the records issued so far to be made durable, if that was not asked for yet.
    pub(crate) fn harden(&mut self, effects: &mut Vec<Effect>) {
        if self.hardening < self.issued {
            self.hardening = self.issued;
            effects.push(Effect::Harden { through: self.issued });
        }
    }

    /// Records up to `through` are durable: returns the requests that waited for them.
    pub(crate) fn durable(&mut self, through: RecordNumber) -> Vec<Tag> {
        assert!(through <= self.issued, "a record became durable before it was issued");
        self.durable = self.durable.max(through);
        let mut hosts = Vec::new();
        while let Some((_, host)) = self.waiting.pop_front_if(|(record, _)| *record <= through) {
            hosts.push(host);
        }
        hosts
    }

    /// No further record becomes durable: returns all requests that waited for one.
    pub(crate) fn give_up(&mut self) -> Vec<Tag> {
        self.waiting.drain(..).map(|(_, host)| host).collect()
    }

    pub(crate) fn check(&self) {
        assert!(self.durable <= self.hardening.max(self.durable) && self.hardening <= self.issued);
        for books in &self.devices {
            assert!(books.durable <= books.written);
            assert!(books.flushes.iter().all(|flush| flush.covers <= books.written));
            assert!(books.records.iter().is_sorted_by_key(|(written, ..)| *written));
        }
        assert!(self.waiting.iter().is_sorted_by_key(|(record, _)| *record));
    }
}
