//! Buffers of one extent each, and which extents they hold.

use esker_core::{IdMap, Linked, Links, List, Tag};

use crate::extent::LogicalExtent;

/// Part of a host's read that waits for an extent to be fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) host: Tag,
    /// Offset in the host's buffer.
    pub(super) offset: u64,
    /// Offset in the extent.
    pub(super) at: u64,
    pub(super) length: u64,
}

/// A buffer.
#[derive(Debug, Default)]
struct Slot {
    links: Links,
    /// The extent whose data it holds, or will when they have been fetched; `None` if its data are of no use any more.
    extent: Option<LogicalExtent>,
    fetches: bool,
    waiting: Vec<Waiter>,
    /// Writes under way that take their data from here.
    lent: u32,
}

impl Linked for Slot {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// What is in memory of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it, in this buffer.
    Here(u32),
    /// All of it, in this buffer, which a write under way reads: it must not change now.
    Lent(u32),
    /// It is being fetched into this buffer.
    Fetched(u32),
    /// Nothing.
    Nothing,
}

/// All buffers.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// Buffers without data that no request uses.
    free: Vec<u32>,
    /// Buffers with an extent that no request works on, first those that were not used for longest.
    idle: List,
    /// The buffer of each extent in memory.
    by_extent: IdMap,
}

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        let slots = (0..count).map(|_| Slot::default()).collect();
        Self { slots, free: (0..count).rev().collect(), idle: List::EMPTY, by_extent: IdMap::default() }
    }

    fn slot_of(&self, extent: LogicalExtent) -> Option<u32> {
        self.by_extent.get(extent.0.into()).map(|slot| slot as u32)
    }

    pub(super) fn find(&self, extent: LogicalExtent) -> Found {
        let Some(slot) = self.slot_of(extent) else { return Found::Nothing };
        match &self.slots[slot as usize] {
            Slot { fetches: true, .. } => Found::Fetched(slot),
            Slot { lent: 0, .. } => Found::Here(slot),
            Slot { .. } => Found::Lent(slot),
        }
    }

    /// Notes that the data in `slot` were used.
    pub(super) fn touch(&mut self, slot: u32) {
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
            self.idle.push_back(&mut self.slots, slot);
        }
    }

    /// Takes the buffer that was not used for longest, for `extent`, which is fetched for `waiter`; `None` if requests
    /// work on all of them.
    pub(super) fn fetch(&mut self, extent: LogicalExtent, waiter: Waiter) -> Option<u32> {
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

    /// Lets `waiter` wait for the data that `slot` fetches.
    pub(super) fn wait(&mut self, slot: u32, waiter: Waiter) {
        self.slots[slot as usize].waiting.push(waiter);
    }

    /// The request of the host for which `slot` fetches, the first of them.
    pub(super) fn fetches_for(&self, slot: u32) -> Tag {
        self.slots[slot as usize].waiting[0].host
    }

    /// The data that `slot` fetches have come, or will not if not `ok`. Moves the parts of reads that wait for them to
    /// `waiting`.
    pub(super) fn fetched(&mut self, slot: u32, ok: bool, waiting: &mut Vec<Waiter>) {
        let buffer = &mut self.slots[slot as usize];
        buffer.fetches = false;
        waiting.append(&mut buffer.waiting);
        if !ok {
            self.forget(slot);
        }
        self.release(slot);
    }

    /// A write takes its data from `slot`.
    pub(super) fn lend(&mut self, slot: u32) {
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
        }
        self.slots[slot as usize].lent += 1;
    }

    /// A write that took its data from `slot` has ended.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.slots[slot as usize].lent -= 1;
        self.release(slot);
    }

    /// What is in memory of `extent` is not what the volume holds any more. Who waits for it still gets it: these reads
    /// are as old as the write that makes it so.
    pub(super) fn drop_extent(&mut self, extent: LogicalExtent) {
        let Some(slot) = self.slot_of(extent) else { return };
        self.forget(slot);
        if !self.is_used(slot) {
            self.idle.remove(&mut self.slots, slot);
            self.free.push(slot);
        }
    }

    /// Whether a request works on `slot`.
    fn is_used(&self, slot: u32) -> bool {
        let Slot { fetches, lent, .. } = self.slots[slot as usize];
        fetches || lent > 0
    }

    fn forget(&mut self, slot: u32) {
        if let Some(extent) = self.slots[slot as usize].extent.take() {
            self.by_extent.remove(extent.0.into());
        }
    }

    /// Puts `slot` where it belongs after a request to it has ended.
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
