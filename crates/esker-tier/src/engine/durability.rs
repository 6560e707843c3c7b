//! Tracks which completed writes and which records would survive a crash, and which requests wait for a flush or a
//! record.

use std::collections::VecDeque;

use esker_core::{Request, Tag};

use super::flushes::{Flushes, NextFlush};
use super::{Effect, IoId, RecordNumber};
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent};

/// What is durable on each device and in the journal. `R` identifies data whose record may be issued only after a flush
/// of their device.
#[derive(Debug)]
pub struct Durability<R = WrittenBlocks> {
    devices: Vec<DeviceDurability<R>>,
    /// The last record that was issued.
    issued: RecordNumber,
    /// The last record that an [`Effect::Harden`] has named. Until that record is durable, no other `Harden` is sent.
    hardening: RecordNumber,
    /// The last record that a request or the engine needs to be durable.
    wanted: RecordNumber,
    /// The last record that is durable.
    durable: RecordNumber,
    /// Host requests that wait for a record, each with that record, by rising number.
    waiting: VecDeque<(RecordNumber, Tag)>,
}

#[derive(Debug)]
struct DeviceDurability<R> {
    /// Number of completed writes. Writes that were durable at once (FUA) are not counted.
    written: u64,
    /// How many of the `written` writes a flush has made durable, counted from the first.
    durable: u64,
    flushes: Flushes,
    /// Data whose records may be issued once the first N writes are durable: N and the data, by rising N.
    records: VecDeque<(u64, R)>,
}

impl<R> Default for DeviceDurability<R> {
    fn default() -> Self {
        Self { written: 0, durable: 0, flushes: Flushes::default(), records: VecDeque::new() }
    }
}

/// Blocks that were written at a place for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrittenBlocks {
    /// The extent.
    pub extent: LogicalExtent,
    /// Where it is.
    pub place: ExtentPlace,
    /// The blocks in it.
    pub blocks: BlockRange,
}

/// What the engine has to do when a flush has ended.
pub struct FlushOutcome<R> {
    /// Host requests that waited for this flush.
    pub hosts: Vec<Tag>,
    /// Data that are durable now: their records may be issued.
    pub durable: Vec<R>,
    /// The flush to submit next.
    pub next: Option<NextFlush>,
}

/// What a flush has to wait for on one device.
pub enum FlushWait {
    /// Nothing: all completed writes are durable.
    Nothing,
    /// The flush under way covers all completed writes, or the flush queued behind it will. The host waits for that
    /// flush.
    UnderWay,
    /// Nothing covers the writes yet: the caller has to submit a flush.
    NewFlush,
}

impl Durability {
    /// Has the record of `blocks` wait until the writes completed so far on their device are durable.
    pub fn record_after_flush(&mut self, blocks: WrittenBlocks) {
        self.record_after_flush_of(blocks.place.device, blocks);
    }

    /// Forgets the blocks of `extent` whose records wait for a flush of `device`, because the extent is leaving that
    /// device. Returns the host requests that wait for a flush which covers those blocks.
    pub fn forget(&mut self, device: DeviceIndex, extent: LogicalExtent) -> Vec<Tag> {
        let books = &mut self.devices[device.0 as usize];
        let mut first = u64::MAX;
        books.records.retain(|(written, blocks)| {
            if blocks.extent == extent {
                first = first.min(*written);
            }
            blocks.extent != extent
        });
        books.flushes.hosts_from(first)
    }
}

impl<R> Durability<R> {
    /// What is durable on `devices` devices without a write, after the records `through` the last durable one.
    pub fn new(devices: usize, through: RecordNumber) -> Self {
        Self {
            devices: (0..devices).map(|_| DeviceDurability::default()).collect(),
            issued: through,
            hardening: through,
            wanted: through,
            durable: through,
            waiting: VecDeque::new(),
        }
    }

    /// Returns the last record that was issued.
    pub fn issued(&self) -> RecordNumber {
        self.issued
    }

    /// Takes the number of the next record.
    pub fn issue(&mut self) -> RecordNumber {
        self.issued.0 += 1;
        self.issued
    }

    /// Counts a completed write on `device`.
    pub fn written(&mut self, device: DeviceIndex) {
        self.devices[device.0 as usize].written += 1;
    }

    /// Has the records of `what` wait until the writes completed so far on `device` are durable.
    pub fn record_after_flush_of(&mut self, device: DeviceIndex, what: R) {
        let books = &mut self.devices[device.0 as usize];
        books.records.push_back((books.written, what));
    }

    /// Returns the number of writes completed so far on `device`, without those that were durable at once.
    pub fn writes(&self, device: DeviceIndex) -> u64 {
        self.devices[usize::from(device.0)].written
    }

    /// Returns how many of them are durable, counted from the first.
    pub fn durable_writes(&self, device: DeviceIndex) -> u64 {
        self.devices[usize::from(device.0)].durable
    }

    /// Returns true if a record is durable.
    pub fn is_recorded(&self, record: RecordNumber) -> bool {
        record <= self.durable
    }

    /// Returns true if all writes completed so far on `device` are durable.
    pub fn is_durable(&self, device: DeviceIndex) -> bool {
        let books = &self.devices[device.0 as usize];
        books.durable == books.written
    }

    /// Returns the number of records that wait for a flush of `device`.
    pub fn records_waiting(&self, device: DeviceIndex) -> usize {
        self.devices[usize::from(device.0)].records.len()
    }

    /// Adds a device.
    pub fn add_device(&mut self) {
        self.devices.push(DeviceDurability::default());
    }

    /// Returns true if `device` has completed writes that neither a flush that has ended nor one under way covers.
    pub fn lacks_flush(&self, device: DeviceIndex) -> bool {
        let books = &self.devices[device.0 as usize];
        books.durable < books.written && !books.flushes.will_cover(books.written)
    }

    /// Returns true while a flush of `device` is under way.
    pub fn is_flushing(&self, device: DeviceIndex) -> bool {
        self.devices[device.0 as usize].flushes.is_under_way()
    }

    /// Returns what a flush on behalf of `host`, or of the engine itself if `None`, has to wait for on `device`. If it
    /// has to be queued behind another flush, it is sent as a flush like `like`.
    pub fn wait_for_flush(&mut self, device: DeviceIndex, host: Option<Tag>, like: Request) -> FlushWait {
        let books = &mut self.devices[device.0 as usize];
        if books.durable == books.written {
            return FlushWait::Nothing;
        }
        match books.flushes.join(books.written, host, like) {
            true => FlushWait::UnderWay,
            false => FlushWait::NewFlush,
        }
    }

    /// Notes that the request `io` flushes `device` on behalf of `hosts`.
    pub fn flush_begun(&mut self, device: DeviceIndex, io: IoId, hosts: Vec<Tag>) {
        let books = &mut self.devices[device.0 as usize];
        books.flushes.begin(io, books.written, hosts);
    }

    /// Ends the flush `io` of `device`; `ok` tells whether it succeeded.
    pub fn flush_ended(&mut self, device: DeviceIndex, io: IoId, ok: bool) -> FlushOutcome<R> {
        let books = &mut self.devices[device.0 as usize];
        let (hosts, covers, next) = books.flushes.end(io, ok);
        let mut durable = Vec::new();
        if ok {
            books.durable = books.durable.max(covers);
            while let Some((_, what)) = books.records.pop_front_if(|(written, _)| *written <= covers) {
                durable.push(what);
            }
        }
        FlushOutcome { hosts, durable, next }
    }

    /// Returns true if `host` has to wait until the records issued so far are durable, and then sees to it that they
    /// are hardened.
    pub fn wait_for_records(&mut self, host: Tag, effects: &mut Vec<Effect>) -> bool {
        if self.durable >= self.issued {
            return false;
        }
        self.harden(effects);
        self.waiting.push_back((self.issued, host));
        true
    }

    /// Has the records issued so far made durable: at once, or after the hardening that is under way.
    pub fn harden(&mut self, effects: &mut Vec<Effect>) {
        self.wanted = self.issued;
        self.ask(effects);
    }

    /// Sends an [`Effect::Harden`] if one is needed and none is under way. Requests that ask during one share the next.
    fn ask(&mut self, effects: &mut Vec<Effect>) {
        if self.hardening < self.wanted && self.durable >= self.hardening {
            self.hardening = self.issued;
            effects.push(Effect::Harden { through: self.issued });
        }
    }

    /// Notes that all records up to `through` are durable. Returns the host requests that waited for them.
    pub fn durable(&mut self, through: RecordNumber, effects: &mut Vec<Effect>) -> Vec<Tag> {
        assert!(through <= self.issued, "a record became durable before it was issued");
        self.durable = self.durable.max(through);
        let mut hosts = Vec::new();
        while let Some((_, host)) = self.waiting.pop_front_if(|(record, _)| *record <= through) {
            hosts.push(host);
        }
        self.ask(effects);
        hosts
    }

    /// Notes that no further record will become durable. Returns all host requests that waited for one.
    pub fn give_up(&mut self) -> Vec<Tag> {
        self.waiting.drain(..).map(|(_, host)| host).collect()
    }

    /// Asserts the invariants.
    pub fn check(&self) {
        assert!(self.hardening <= self.issued && self.wanted <= self.issued);
        for books in &self.devices {
            assert!(books.durable <= books.written);
            assert!(books.records.iter().is_sorted_by_key(|(written, ..)| *written));
        }
        assert!(self.waiting.iter().is_sorted_by_key(|(record, _)| *record));
    }
}
