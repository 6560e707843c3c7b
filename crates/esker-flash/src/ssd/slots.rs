//! Requests under way.

use esker_core::{DeviceError, Nanos, Request, RequestKind, Tag};

const NONE: u32 = u32::MAX;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) tag: Tag,
    pub(super) request: Request,
    /// Flash operations that it waits for.
    pub(super) remaining: u32,
    /// When the first of them began; [`Nanos::NEVER`] before.
    pub(super) start: Nanos,
    pub(super) result: Result<(), DeviceError>,
    /// Whether it stands in the order of writes and flushes.
    pub(super) ordered: bool,
    /// For a flush: that it is about to complete.
    pub(super) flushed: bool,
    /// Its number among the writes that the buffer began to take; 0 where it takes none of it.
    pub(super) admitted: u64,
    previous: u32,
    next: u32,
}

/// As many requests as the queue is deep; writes and flushes also in the order in which they came, as a linked list.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    depth: u32,
    first: u32,
    last: u32,
    flushes: u32,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), depth, first: NONE, last: NONE, flushes: 0 }
    }

    #[inline]
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn free(&self) -> usize {
        self.depth as usize - self.in_use()
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn take(&mut self, tag: Tag, request: Request) -> u32 {
        let ordered = request.kind.is_write() || request.kind == RequestKind::Flush;
        let mut state = Slot {
            tag,
            request,
            remaining: 0,
            start: Nanos::NEVER,
            result: Ok(()),
            ordered,
            flushed: false,
            admitted: 0,
            previous: NONE,
            next: NONE,
        };
        if ordered {
            state.previous = self.last;
            self.flushes += u32::from(request.kind == RequestKind::Flush);
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = state;
                slot
            }
            None => {
                assert!(self.slots.len() < self.depth as usize, "more requests than the queue is deep");
                self.slots.push(state);
                self.slots.len() as u32 - 1
            }
        };
        if ordered {
            match std::mem::replace(&mut self.last, slot) {
                NONE => self.first = slot,
                last => self.slots[last as usize].next = slot,
            }
        }
        slot
    }

    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let Slot { request, ordered, previous, next, .. } = self.slots[slot as usize];
        if ordered {
            self.flushes -= u32::from(request.kind == RequestKind::Flush);
            match previous {
                NONE => self.first = next,
                previous => self.slots[previous as usize].next = next,
            }
            match next {
                NONE => self.last = previous,
                next => self.slots[next as usize].previous = previous,
            }
        }
        self.free.push(slot);
    }

    /// Whether a flush is under way.
    #[inline]
    pub(super) fn any_flush(&self) -> bool {
        self.flushes > 0
    }

    /// All requests under way.
    pub(super) fn all_in_use(&self) -> Vec<u32> {
        let mut used = vec![true; self.slots.len()];
        self.free.iter().for_each(|slot| used[*slot as usize] = false);
        (0..self.slots.len() as u32).filter(|slot| used[*slot as usize]).collect()
    }

    /// The oldest write or flush under way.
    #[inline]
    pub(super) fn first_in_order(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}
