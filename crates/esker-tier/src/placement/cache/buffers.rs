//! Buffers of one extent each, and the extents that they hold.

use esker_core::{IdMap, Linked, Links, List, Tag};

use crate::extent::LogicalExtent;

/// A part of a host's read within one extent, which is served from a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPart {
    pub(super) host: Tag,
    /// Offset in the host's buffer.
    pub(super) offset: u64,
    /// Offset in the extent.
    pub(super) at: u64,
    pub(super) length: u64,
}

/// A buffer for one extent.
#[derive(Debug, Default)]
struct CacheBuffer {
    links: Links,
    /// The extent that it holds or is being filled with; `None` if its data are no longer valid.
    extent: Option<LogicalExtent>,
    fetches: bool,
    waiting: Vec<ReadPart>,
    /// Number of writes under way that take their data from it.
    lent: u32,
}

impl Linked for CacheBuffer {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Whether and where an extent is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferState {
    /// The whole extent is in this buffer.
    Here(u32),
    /// The whole extent is in this buffer, which must not change now because a write under way takes its data from it.
    Lent(u32),
    /// The extent is being fetched into this buffer.
    Fetched(u32),
    /// It is not in memory.
    Nothing,
}

/// All buffers.
#[derive(Debug)]
pub(super) struct CacheBuffers {
    slots: Vec<CacheBuffer>,
    /// Buffers without valid data that no request uses.
    free: Vec<u32>,
    /// Buffers with an extent that no request uses, the least recently used first.
    idle: List,
    /// The buffer of each extent in memory.
    by_extent: IdMap,
}

impl CacheBuffers {
    pub(super) fn new(count: u32) -> Self {
        let slots = (0..count).map(|_| CacheBuffer::default()).collect();
        Self { slots, free: (0..count).rev().collect(), idle: List::EMPTY, by_extent: IdMap::default() }
    }

    fn slot_of(&self, extent: LogicalExtent) -> Option<u32> {
        self.by_extent.get(extent.0.into()).map(|slot| slot as u32)
    }

    pub(super) fn find(&self, extent: LogicalExtent) -> BufferState {
        let Some(slot) = self.slot_of(extent) else { return BufferState::Nothing };
        match &self.slots[slot as usize] {
            CacheBuffer { fetches: true, .. } => BufferState::Fetched(slot),
            CacheBuffer { lent: 0, .. } => BufferState::Here(slot),
            CacheBuffer { .. } => BufferState::Lent(slot),
        }
    }

    /// Notes a use of the data in `slot`.
    pub(super) fn touch(&mut self, slot: u32) {
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
            self.idle.push_back(&mut self.slots, slot);
        }
    }

    /// Takes the least recently used buffer for `extent`, which is fetched for `waiter`. `None` if requests use all
    /// buffers.
    pub(super) fn fetch(&mut self, extent: LogicalExtent, waiter: ReadPart) -> Option<u32> {
        let slot = self.free.pop().or_else(|| {
            let oldest = self.idle.first()?;
            self.idle.remove(&mut self.slots, oldest);
            Some(oldest)
        })?;
        let buffer = &mut self.slots[slot as usize];
        if let Some(before) = buffer.extent.replace(extent) {
            self.by_extent.remove(before.0.into());
        }
        buffer.fetches = true;
        buffer.waiting.push(waiter);
        let earlier = self.by_extent.replace(extent.0.into(), slot.into());
        assert!(earlier.is_none(), "an extent has one buffer");
        Some(slot)
    }

    /// Has `waiter` wait for the data that `slot` is fetching.
    pub(super) fn wait(&mut self, slot: u32, waiter: ReadPart) {
        self.slots[slot as usize].waiting.push(waiter);
    }

    /// Returns the first host request for which `slot` is fetching.
    pub(super) fn fetches_for(&self, slot: u32) -> Tag {
        self.slots[slot as usize].waiting[0].host
    }

    /// Ends the fetch of `slot`; `ok` tells whether it succeeded. Moves the parts of reads that waited for it to
    /// `waiting`.
    pub(super) fn fetched(&mut self, slot: u32, ok: bool, waiting: &mut Vec<ReadPart>) {
        let buffer = &mut self.slots[slot as usize];
        buffer.fetches = false;
        waiting.append(&mut buffer.waiting);
        if !ok {
            self.forget(slot);
        }
        self.release(slot);
    }

    /// Notes that a write takes its data from `slot`.
    pub(super) fn lend(&mut self, slot: u32) {
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
        }
        self.slots[slot as usize].lent += 1;
    }

    /// Notes the end of a write that took its data from `slot`.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.slots[slot as usize].lent -= 1;
        self.release(slot);
    }

    /// Drops `extent`, because what is in memory is not what the volume holds any more. Reads that wait for a fetch
    /// still get its data: they are as old as the write that made the data stale.
    pub(super) fn drop_extent(&mut self, extent: LogicalExtent) {
        let Some(slot) = self.slot_of(extent) else { return };
        self.forget(slot);
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
            self.free.push(slot);
        }
    }

    /// Returns true if a request uses `slot`.
    fn is_used(&self, slot: u32) -> bool {
        let CacheBuffer { fetches, lent, .. } = self.slots[slot as usize];
        fetches || lent > 0
    }

    fn forget(&mut self, slot: u32) {
        if let Some(extent) = self.slots[slot as usize].extent.take() {
            self.by_extent.remove(extent.0.into());
        }
    }

    /// Returns `slot` to the free or idle buffers if no request uses it any more.
    fn release(&mut self, slot: u32) {
        if self.is_used(slot) {
            return;
        }
        match self.slots[slot as usize].extent {
            Some(_) => drop(self.idle.push_back(&mut self.slots, slot)),
            None => self.free.push(slot),
        }
    }

    pub(super) fn check(&self) {
        self.idle.check(&self.slots);
        let held = self.slots.iter().filter(|slot| slot.extent.is_some()).count();
        assert_eq!(held, self.by_extent.len());
        for (slot, extent) in self.slots.iter().enumerate().filter_map(|(slot, held)| Some((slot, held.extent?))) {
            assert_eq!(self.slot_of(extent), Some(slot as u32));
        }
        let unused = (0..self.slots.len() as u32).filter(|&slot| !self.is_used(slot)).count();
        assert_eq!(unused, self.idle.len() as usize + self.free.len());
    }
}
