//! A cache in memory before a placement engine: it holds the extents that were read last, as a whole, and every write
//! goes through it (Wu 2011, section III.B, figures 11 and 12).

mod below;
#[cfg(test)]
mod fault;
mod slots;
mod writes;

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Ratio, Request, RequestKind, Tag, TagSlab};

use super::PlacementEngine;
use crate::engine::{
    BufferId, BufferPlace, BufferStep, CacheCounts, Checkpoint, Effect, Engine, Hosts, Input, Layout, Movements,
    Reshape, ReshapeError,
};
use crate::extent::{DeviceIndex, LogicalExtent};
use below::Below;
#[cfg(test)]
pub(super) use fault::Fault;
use slots::{Found, Slots, Waiter};
use writes::WritesUnderWay;

/// Serves reads of cached extents from memory, and fetches the whole extent for any other. A write to a cached extent
/// that the policy wants elsewhere becomes a write of all that the extent holds, which the engine below redirects: the
/// extent has moved, and nothing was read for that.
///
/// What is in memory is what the volume holds, or what a write under way is about to make of it. An extent is dropped
/// when that cannot be told: after a failed write, or while writes to the same bytes are under way together.
#[derive(Debug)]
pub struct MemoryCache {
    pub(super) engine: PlacementEngine,
    extent: u64,
    slots: Slots,
    hosts: Hosts,
    /// Requests to the engine below.
    requests: TagSlab<Below>,
    /// Extents with writes under way.
    writes: WritesUnderWay,
    effects: Vec<Effect>,
    /// Memory for the parts of reads that waited for an extent.
    waiting: Vec<Waiter>,
    counts: CacheCounts,
    /// A fault for tests.
    #[cfg(test)]
    pub(super) fault: Option<Fault>,
}

impl MemoryCache {
    /// A cache of `extents` extents before `engine`, which has not taken any input yet.
    pub fn new(engine: PlacementEngine, extents: u32) -> Self {
        Self {
            extent: engine.extent,
            engine,
            slots: Slots::new(extents),
            hosts: Hosts::default(),
            requests: TagSlab::default(),
            writes: WritesUnderWay::default(),
            effects: Vec::new(),
            waiting: Vec::new(),
            counts: CacheCounts::default(),
            #[cfg(test)]
            fault: None,
        }
    }

    fn host(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        self.hosts.begin(tag, request.kind);
        let lies_within = request.length > Bytes::ZERO && request.end_byte() <= self.engine.capacity().0;
        match request.kind {
            RequestKind::Read if lies_within => self.read(now, tag, &request, effects),
            RequestKind::Write { .. } if lies_within && self.widen(now, tag, &request, effects) => {}
            RequestKind::Write { .. } if lies_within => self.write(now, tag, request, effects),
            RequestKind::Trim | RequestKind::WriteZeroes { .. } if lies_within => {
                self.note_writes(&request);
                self.drop_trimmed(&request);
                self.send(now, Below::Whole { host: tag, request }, request, effects);
            }
            _ => self.send(now, Below::Whole { host: tag, request }, request, effects),
        }
    }

    /// The extents that `request` touches, each with these bytes of the volume.
    fn extents(&self, request: &Request) -> impl Iterator<Item = (LogicalExtent, Range<u64>)> + use<> {
        let (start, end, extent) = (request.start.byte_offset(), request.end_byte(), self.extent);
        (start / extent..=(end - 1) / extent).map(move |number| {
            (LogicalExtent(number as u32), start.max(number * extent)..end.min((number + 1) * extent))
        })
    }

    fn read(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) {
        // The host is answered when all its parts have ended, and its own is the last one to begin.
        self.hosts.wait(tag);
        for (extent, bytes) in self.extents(request) {
            let part = Waiter {
                host: tag,
                offset: bytes.start - request.start.byte_offset(),
                at: bytes.start % self.extent,
                length: bytes.end - bytes.start,
            };
            match self.slots.find(extent) {
                Found::Here(slot) | Found::Lent(slot) => {
                    self.counts.hits += 1;
                    self.slots.touch(slot);
                    effects.push(Self::serve(slot, &part));
                }
                Found::Fetched(slot) => {
                    self.counts.hits += 1;
                    self.slots.wait(slot, part);
                    self.hosts.wait(tag);
                }
                Found::Nothing => {
                    self.counts.misses += 1;
                    self.hosts.wait(tag);
                    self.fetch(now, request, extent, part, effects);
                }
            }
        }
        self.part_ended(tag, 0, Ok(()), effects);
    }

    /// Reads the extent of `part` into a buffer, or if that may not be, `part` alone.
    fn fetch(&mut self, now: Nanos, request: &Request, extent: LogicalExtent, part: Waiter, effects: &mut Vec<Effect>) {
        let start = u64::from(extent.0) * self.extent;
        let read = |at: u64, length: u64| Request { start: Lba::containing(at), length: Bytes(length), ..*request };
        let is_written = self.writes.any(extent);
        #[cfg(test)]
        let is_written = is_written && self.fault != Some(Fault::OverlooksWrites);
        match if is_written { None } else { self.slots.fetch(extent, part) } {
            Some(slot) => {
                let request = read(start, self.extent);
                self.send(now, Below::Fetch { slot, request }, request, effects);
            }
            None => self.read_part(now, &part, &read(start, self.extent), effects),
        }
    }

    /// Reads the bytes of `part` alone, past the cache. `extent` is a read of all that its extent holds.
    fn read_part(&mut self, now: Nanos, part: &Waiter, extent: &Request, effects: &mut Vec<Effect>) {
        let &Waiter { host, offset, at, length } = part;
        let start = Lba::containing(extent.start.byte_offset() + at);
        self.send(now, Below::Part { host, offset }, Request { start, length: Bytes(length), ..*extent }, effects);
    }

    const fn serve(slot: u32, part: &Waiter) -> Effect {
        let from = BufferPlace::new(BufferId::Cache(slot), Bytes(part.at));
        let into = BufferPlace::new(BufferId::Host(part.host), Bytes(part.offset));
        Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(part.length) })
    }

    const fn keep(slot: u32, at: u64, tag: Tag, offset: u64, length: u64) -> Effect {
        let from = BufferPlace::new(BufferId::Host(tag), Bytes(offset));
        let into = BufferPlace::new(BufferId::Cache(slot), Bytes(at));
        Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(length) })
    }

    fn write(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        for (extent, bytes) in self.extents(&request) {
            match self.slots.find(extent) {
                #[cfg(test)]
                Found::Here(_) if self.fault == Some(Fault::WritesAround) => {}
                Found::Here(slot) if !self.writes.overlap(extent, &bytes) => {
                    let offset = bytes.start - request.start.byte_offset();
                    effects.push(Self::keep(slot, bytes.start % self.extent, tag, offset, bytes.end - bytes.start));
                }
                #[cfg(test)]
                Found::Fetched(_) if self.fault == Some(Fault::OverlooksWrites) => {}
                _ => self.slots.drop_extent(extent),
            }
        }
        self.note_writes(&request);
        self.send(now, Below::Whole { host: tag, request }, request, effects);
    }

    /// Makes `request` a write of all that its extent holds, if that is cached and the policy wants it elsewhere.
    /// Returns whether it was.
    fn widen(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) -> bool {
        let extent = LogicalExtent((request.start.byte_offset() / self.extent) as u32);
        let Found::Here(slot) = self.slots.find(extent) else { return false };
        if self.writes.any(extent) {
            return false;
        }
        let Some(widened) = self.engine.widened(request) else { return false };
        let start = u64::from(extent.0) * self.extent;
        let at = request.start.byte_offset() - start;
        effects.push(Self::keep(slot, at, tag, 0, request.length.0));
        self.slots.lend(slot);
        self.counts.widened += 1;
        self.note_writes(&widened);
        let below = Below::Widened { host: tag, slot, at: widened.start.byte_offset() - start, request: widened };
        self.send(now, below, widened, effects);
        true
    }

    fn drop_trimmed(&mut self, request: &Request) {
        #[cfg(test)]
        if self.fault == Some(Fault::OverlooksTrims) {
            return;
        }
        self.extents(request).for_each(|(extent, _)| self.slots.drop_extent(extent));
    }

    fn note_writes(&mut self, request: &Request) {
        for (extent, bytes) in self.extents(request) {
            self.writes.begin(extent, bytes);
        }
    }

    /// Notes the end of a write. If it has failed, nobody knows what the volume holds.
    fn end_writes(&mut self, request: &Request, ok: bool) {
        let changes = !matches!(request.kind, RequestKind::Read | RequestKind::Flush);
        if !changes || request.length == Bytes::ZERO || request.end_byte() > self.engine.capacity().0 {
            return;
        }
        for (extent, _) in self.extents(request) {
            self.writes.end(extent);
            #[cfg(test)]
            let ok = ok || self.fault == Some(Fault::KeepsFailedWrites);
            if !ok {
                self.slots.drop_extent(extent);
            }
        }
    }

    fn part_ended(&mut self, host: Tag, order: u64, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        if self.hosts.child_ended(host, order, result) {
            let result = self.hosts.result(host);
            self.hosts.reply(host, result, effects);
        }
    }
}

impl Engine for MemoryCache {
    fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Host { tag, request } => self.host(now, tag, request, effects),
            input => self.tell(now, input, effects),
        }
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.engine.device_state(device)
    }

    fn state(&self) -> DeviceState {
        self.engine.state()
    }

    fn checkpoint(&self) -> Checkpoint {
        self.engine.checkpoint()
    }

    fn begin_checkpoint(&mut self) -> Checkpoint {
        self.engine.begin_checkpoint()
    }

    fn continue_checkpoint(&mut self, most: u32, into: &mut Checkpoint) -> bool {
        self.engine.continue_checkpoint(most, into)
    }

    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let mut own = std::mem::take(&mut self.effects);
        let result = self.engine.reshape(now, reshape, &mut own);
        self.pass_on(now, &mut own, effects);
        self.effects = own;
        result
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        self.engine.telemetry_period()
    }

    fn fill(&mut self, share: Ratio) {
        self.engine.fill(share);
    }

    fn movements(&self) -> Option<Movements> {
        self.engine.movements()
    }

    fn layout(&self) -> Option<Layout> {
        self.engine.layout()
    }

    fn visit_extents(&self, visit: &mut dyn FnMut(Option<DeviceIndex>)) {
        self.engine.visit_extents(visit);
    }

    fn cache_counts(&self) -> Option<CacheCounts> {
        Some(self.counts)
    }

    fn check(&self) {
        self.engine.check();
        self.slots.check();
    }
}
