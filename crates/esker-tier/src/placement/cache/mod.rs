//! A cache in memory in front of a placement engine: it holds the most recently read extents as a whole, and every
//! write goes through it (Wu 2011, section III.B, figures 11 and 12).

mod below;
mod buffers;
#[cfg(test)]
mod fault;
mod writes;

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Machine, Nanos, Ratio, Request, RequestKind, Tag, TagSlab};
use esker_results::{DeviceReport, ExtentPlaces, MemoryCacheReport};

use super::PlacementEngine;
use crate::engine::{
    BackgroundReport, BufferId, BufferPlace, BufferStep, Effect, Engine, Hosts, Input, LiveSettings, LiveSettingsError,
    Record, RecordNumber, Reshape, ReshapeError,
};
use crate::extent::{DeviceIndex, LogicalExtent};
use below::SubRequest;
use buffers::{BufferState, CacheBuffers, ReadPart};
#[cfg(test)]
pub(super) use fault::CacheFault;
use writes::WritesUnderWay;

/// Serves reads of cached extents from memory, and fetches the whole extent for any other read. If the policy wants a
/// cached extent on another device, the cache widens a write to that extent to all of its data, which the engine below
/// redirects: so the extent moves without having to be read.
///
/// The cached data are what the volume holds, or what a write under way will make of it. An extent is dropped if
/// neither is certain: after a failed write, or while several writes to the same bytes are under way.
#[derive(Debug)]
pub struct MemoryCache {
    pub(super) engine: PlacementEngine,
    extent: u64,
    slots: CacheBuffers,
    hosts: Hosts,
    /// Requests to the engine below.
    requests: TagSlab<SubRequest>,
    /// Extents with writes under way.
    writes: WritesUnderWay,
    effects: Vec<Effect>,
    /// Memory for the parts of reads that waited for an extent.
    waiting: Vec<ReadPart>,
    counts: MemoryCacheReport,
    /// A fault for tests.
    #[cfg(test)]
    pub(super) fault: Option<CacheFault>,
}

impl MemoryCache {
    /// Creates a cache of `extents` extents in front of `engine`, which has not taken any input yet.
    pub fn new(engine: PlacementEngine, extents: u32) -> Self {
        Self {
            extent: engine.extent,
            engine,
            slots: CacheBuffers::new(extents),
            hosts: Hosts::default(),
            requests: TagSlab::default(),
            writes: WritesUnderWay::default(),
            effects: Vec::new(),
            waiting: Vec::new(),
            counts: MemoryCacheReport::default(),
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
                self.send(now, SubRequest::Whole { host: tag, request }, request, effects);
            }
            _ => self.send(now, SubRequest::Whole { host: tag, request }, request, effects),
        }
    }

    /// Returns the extents that `request` touches, each with the bytes of the volume that it touches there.
    fn extents(&self, request: &Request) -> impl Iterator<Item = (LogicalExtent, Range<u64>)> + use<> {
        let (start, end, extent) = (request.start.byte_offset(), request.end_byte(), self.extent);
        (start / extent..=(end - 1) / extent).map(move |number| {
            (LogicalExtent(number as u32), start.max(number * extent)..end.min((number + 1) * extent))
        })
    }

    fn read(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) {
        // This extra wait ends last, so that parts served from memory cannot answer the host too early.
        self.hosts.wait(tag);
        for (extent, bytes) in self.extents(request) {
            let part = ReadPart {
                host: tag,
                offset: bytes.start - request.start.byte_offset(),
                at: bytes.start % self.extent,
                length: bytes.end - bytes.start,
            };
            match self.slots.find(extent) {
                BufferState::Here(slot) | BufferState::Lent(slot) => {
                    self.counts.hits += 1;
                    self.slots.touch(slot);
                    effects.push(Self::serve(slot, &part));
                }
                BufferState::Fetched(slot) => {
                    self.counts.hits += 1;
                    self.slots.wait(slot, part);
                    self.hosts.wait(tag);
                }
                BufferState::Nothing => {
                    self.counts.misses += 1;
                    self.hosts.wait(tag);
                    self.fetch(now, request, extent, part, effects);
                }
            }
        }
        self.part_ended(tag, 0, Ok(()), effects);
    }

    /// Fetches the extent of `part` into a buffer, or if that is not possible, reads only `part`.
    fn fetch(
        &mut self,
        now: Nanos,
        request: &Request,
        extent: LogicalExtent,
        part: ReadPart,
        effects: &mut Vec<Effect>,
    ) {
        let start = u64::from(extent.0) * self.extent;
        let read = |at: u64, length: u64| Request { start: Lba::containing(at), length: Bytes(length), ..*request };
        let is_written = self.writes.any(extent);
        #[cfg(test)]
        let is_written = is_written && self.fault != Some(CacheFault::OverlooksWrites);
        match if is_written { None } else { self.slots.fetch(extent, part) } {
            Some(slot) => {
                let request = read(start, self.extent);
                self.send(now, SubRequest::Fetch { slot, request }, request, effects);
            }
            None => self.read_part(now, &part, &read(start, self.extent), effects),
        }
    }

    /// Reads only the bytes of `part`, past the cache. `extent` is a read of the whole extent.
    fn read_part(&mut self, now: Nanos, part: &ReadPart, extent: &Request, effects: &mut Vec<Effect>) {
        let &ReadPart { host, offset, at, length } = part;
        let start = Lba::containing(extent.start.byte_offset() + at);
        self.send(
            now,
            SubRequest::Part { host, offset, length },
            Request { start, length: Bytes(length), ..*extent },
            effects,
        );
    }

    const fn serve(slot: u32, part: &ReadPart) -> Effect {
        let from = BufferPlace::new(BufferId::Cache(slot), Bytes(part.at));
        let into = BufferPlace::new(BufferId::Host(part.host), Bytes(part.offset));
        Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(part.length) })
    }

    const fn keep(slot: u32, at: u64, tag: Tag, offset: u64, length: u64) -> Effect {
        let from = BufferPlace::new(BufferId::Host(tag), Bytes(offset));
        let into = BufferPlace::new(BufferId::Cache(slot), Bytes(at));
        Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(length) })
    }

    pub(super) fn write(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        for (extent, bytes) in self.extents(&request) {
            let overlaps = self.writes.overlap(extent, &bytes);
            #[cfg(test)]
            let overlaps = overlaps && self.fault != Some(CacheFault::OverlooksOverlaps);
            match self.slots.find(extent) {
                #[cfg(test)]
                BufferState::Here(_) if self.fault == Some(CacheFault::WritesAround) => {}
                BufferState::Here(slot) if !overlaps => {
                    let offset = bytes.start - request.start.byte_offset();
                    effects.push(Self::keep(slot, bytes.start % self.extent, tag, offset, bytes.end - bytes.start));
                }
                #[cfg(test)]
                BufferState::Fetched(_) if self.fault == Some(CacheFault::OverlooksWrites) => {}
                _ => self.slots.drop_extent(extent),
            }
        }
        self.note_writes(&request);
        self.send(now, SubRequest::Whole { host: tag, request }, request, effects);
    }

    /// Widens `request` to a write of all data of its extent, if the extent is cached and the policy wants it on
    /// another device. Returns true if it did.
    fn widen(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) -> bool {
        let extent = LogicalExtent((request.start.byte_offset() / self.extent) as u32);
        let BufferState::Here(slot) = self.slots.find(extent) else { return false };
        if self.writes.any(extent) {
            return false;
        }
        let Some(widened) = self.engine.widened(now, request) else { return false };
        let start = u64::from(extent.0) * self.extent;
        let at = request.start.byte_offset() - start;
        effects.push(Self::keep(slot, at, tag, 0, request.length.0));
        self.slots.lend(slot);
        self.counts.widened_writes += 1;
        self.note_writes(&widened);
        let at = widened.start.byte_offset() - start;
        let below = SubRequest::Widened { host: tag, slot, at, request: widened, narrow: *request };
        self.send(now, below, widened, effects);
        true
    }

    fn drop_trimmed(&mut self, request: &Request) {
        #[cfg(test)]
        if self.fault == Some(CacheFault::OverlooksTrims) {
            return;
        }
        self.extents(request).for_each(|(extent, _)| self.slots.drop_extent(extent));
    }

    fn note_writes(&mut self, request: &Request) {
        for (extent, bytes) in self.extents(request) {
            self.writes.begin(extent, bytes);
        }
    }

    /// Notes the end of a write. If the write has failed, the content of the volume is unknown.
    fn end_writes(&mut self, request: &Request, ok: bool) {
        let changes = !matches!(request.kind, RequestKind::Read | RequestKind::Flush);
        if !changes || request.length == Bytes::ZERO || request.end_byte() > self.engine.capacity().0 {
            return;
        }
        for (extent, _) in self.extents(request) {
            self.writes.end(extent);
            #[cfg(test)]
            let ok = ok || self.fault == Some(CacheFault::KeepsFailedWrites);
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

impl Machine for MemoryCache {
    type Input = Input;
    type Effect = Effect;

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Host { tag, request } => self.host(now, tag, request, effects),
            input => self.tell(now, input, effects),
        }
    }

    fn look_period(&self) -> Option<Nanos> {
        self.engine.look_period()
    }
}

impl Engine for MemoryCache {
    fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.engine.device_state(device)
    }

    fn state(&self) -> DeviceState {
        self.engine.state()
    }

    fn begin_checkpoint(&mut self) -> RecordNumber {
        self.engine.begin_checkpoint()
    }

    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        self.engine.continue_checkpoint(most, visit)
    }

    fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        self.engine.written_run(start, length)
    }

    fn capacity_max(&self) -> Bytes {
        self.engine.capacity_max()
    }

    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.engine.check_reshape(reshape)
    }

    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let mut own = std::mem::take(&mut self.effects);
        let result = self.engine.reshape(now, reshape, &mut own);
        self.pass_on(now, &mut own, effects);
        self.effects = own;
        result
    }

    fn check_set(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        self.engine.check_set(settings)
    }

    fn set(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) -> Result<(), LiveSettingsError> {
        let mut own = std::mem::take(&mut self.effects);
        let result = self.engine.set(now, settings, &mut own);
        self.pass_on(now, &mut own, effects);
        self.effects = own;
        result
    }

    fn background(&self, now: Nanos) -> Option<BackgroundReport> {
        self.engine.background(now)
    }

    fn fill(&mut self, share: Ratio) {
        self.engine.fill(share);
    }

    fn start_measuring(&mut self) {
        self.counts = MemoryCacheReport::default();
        self.engine.start_measuring();
    }

    fn report(&self, into: &mut DeviceReport) {
        self.engine.report(into);
        let MemoryCacheReport { hits, misses, .. } = self.counts;
        let hit_ratio = hits as f64 / (hits + misses).max(1) as f64;
        into.memory_cache = Some(MemoryCacheReport { hit_ratio, ..self.counts });
    }

    fn extent_places(&self) -> Option<&dyn ExtentPlaces> {
        self.engine.extent_places()
    }

    fn check(&self) {
        self.engine.check();
        self.slots.check();
    }
}
