//! Tracks what would survive a crash: completed writes, flushes and records. Also tracks which requests wait for each.

use std::collections::VecDeque;

use esker_core::{Request, Tag};

use super::flushes::{Flushes, NextFlush};
use super::{Effect, IoId, RecordNumber};
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent};

/// What is durable on each device and in the journal. `R` names what records are to be issued of.
#[derive(Debug)]
pub(crate) struct Durability<R = WrittenBlocks> {
    devices: Vec<DeviceBooks<R>>,
    /// The last record that was issued.
    issued: RecordNumber,
    /// The last record for which [`Effect::Harden`] was asked. While it is not durable, nothing more is asked for.
    hardening: RecordNumber,
    /// The last record that somebody needs to be durable.
    wanted: RecordNumber,
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
    flushes: Flushes,
    /// What records may be issued of once this many writes are durable; in rising order.
    records: VecDeque<(u64, R)>,
}

impl<R> Default for DeviceBooks<R> {
    fn default() -> Self {
        Self { written: 0, durable: 0, flushes: Flushes::default(), records: VecDeque::new() }
    }
}

/// Blocks that were written at a place for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrittenBlocks {
    pub(crate) extent: LogicalExtent,
    pub(crate) place: ExtentPlace,
    pub(crate) blocks: BlockRange,
}

/// What follows from the end of a flush.
pub(crate) struct FlushEnded<R> {
    /// The requests that waited for it.
    pub(crate) hosts: Vec<Tag>,
    /// What records may be issued of now.
    pub(crate) durable: Vec<R>,
    /// The flush to submit next.
    pub(crate) next: Option<NextFlush>,
}

/// What a host's flush waits for on one device.
pub(crate) enum Waiting {
    /// All completed writes are durable.
    Nothing,
    /// A flush that is under way, or the one that follows it, covers them; the host waits for that one.
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
        books.flushes.hosts_from(first)
    }
}

impl<R> Durability<R> {
    pub(crate) fn new(devices: usize, through: RecordNumber) -> Self {
        Self {
            devices: (0..devices).map(|_| DeviceBooks::default()).collect(),
            issued: through,
            hardening: through,
            wanted: through,
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

    /// How many records wait for a flush of `device`.
    pub(crate) fn records_waiting(&self, device: DeviceIndex) -> usize {
        self.devices[usize::from(device.0)].records.len()
    }

    /// Adds a device.
    pub(crate) fn add_device(&mut self) {
        self.devices.push(DeviceBooks::default());
    }

    /// Whether `device` has completed writes that no flush covers, ended or under way.
    pub(crate) fn lacks_flush(&self, device: DeviceIndex) -> bool {
        let books = &self.devices[device.0 as usize];
        books.durable < books.written && !books.flushes.will_cover(books.written)
    }

    /// Whether a flush of `device` is under way.
    pub(crate) fn is_flushing(&self, device: DeviceIndex) -> bool {
        self.devices[device.0 as usize].flushes.is_under_way()
    }

    /// Returns what a flush for `host`, or for the engine itself, has to wait for on `device`. A flush that has to
    /// follow another one is like `like`.
    pub(crate) fn wait_for_flush(&mut self, device: DeviceIndex, host: Option<Tag>, like: Request) -> Waiting {
        let books = &mut self.devices[device.0 as usize];
        if books.durable == books.written {
            return Waiting::Nothing;
        }
        match books.flushes.join(books.written, host, like) {
            true => Waiting::UnderWay,
            false => Waiting::NewFlush,
        }
    }

    /// Notes that `io` flushes `device`, on behalf of `hosts`.
    pub(crate) fn flush_begun(&mut self, device: DeviceIndex, io: IoId, hosts: Vec<Tag>) {
        let books = &mut self.devices[device.0 as usize];
        books.flushes.begin(io, books.written, hosts);
    }

    /// Ends the flush `io`.
    pub(crate) fn flush_ended(&mut self, device: DeviceIndex, io: IoId, ok: bool) -> FlushEnded<R> {
        let books = &mut self.devices[device.0 as usize];
        let (hosts, covers, next) = books.flushes.end(io, ok);
        let mut durable = Vec::new();
        if ok {
            books.durable = books.durable.max(covers);
            while let Some((_, what)) = books.records.pop_front_if(|(written, _)| *written <= covers) {
                durable.push(what);
            }
        }
        FlushEnded { hosts, durable, next }
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

    /// Asks for the records issued so far to be made durable: now, or when what was asked for before is.
    pub(crate) fn harden(&mut self, effects: &mut Vec<Effect>) {
        self.wanted = self.issued;
        self.ask(effects);
    }

    /// One [`Effect::Harden`] at a time: all who ask during one share the next.
    fn ask(&mut self, effects: &mut Vec<Effect>) {
        if self.hardening < self.wanted && self.durable >= self.hardening {
            self.hardening = self.issued;
            effects.push(Effect::Harden { through: self.issued });
        }
    }

    /// Records up to `through` are durable: returns the requests that waited for them.
    pub(crate) fn durable(&mut self, through: RecordNumber, effects: &mut Vec<Effect>) -> Vec<Tag> {
        assert!(through <= self.issued, "a record became durable before it was issued");
        self.durable = self.durable.max(through);
        let mut hosts = Vec::new();
        while let Some((_, host)) = self.waiting.pop_front_if(|(record, _)| *record <= through) {
            hosts.push(host);
        }
        self.ask(effects);
        hosts
    }

    /// No further record becomes durable: returns all requests that waited for one.
    pub(crate) fn give_up(&mut self) -> Vec<Tag> {
        self.waiting.drain(..).map(|(_, host)| host).collect()
    }

    pub(crate) fn check(&self) {
        assert!(self.hardening <= self.issued && self.wanted <= self.issued);
        for books in &self.devices {
            assert!(books.durable <= books.written);
            assert!(books.records.iter().is_sorted_by_key(|(written, ..)| *written));
        }
        assert!(self.waiting.iter().is_sorted_by_key(|(record, _)| *record));
    }
}
