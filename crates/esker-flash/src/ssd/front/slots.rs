//! Requests under way.

use esker_core::{DeviceError, Linked, Links, List, Nanos, Request, RequestKind, Tag};

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::ssd) struct Slot {
    pub(in crate::ssd) tag: Tag,
    pub(in crate::ssd) request: Request,
    /// Number of flash operations that it still waits for.
    pub(in crate::ssd) remaining: u32,
    /// When the first of them began; [`Nanos::NEVER`] before that.
    pub(in crate::ssd) start: Nanos,
    pub(in crate::ssd) result: Result<(), DeviceError>,
    /// Whether it is part of the order of writes and flushes.
    pub(in crate::ssd) ordered: bool,
    /// For a flush: whether its turn has come, so that it only waits for the buffer.
    pub(in crate::ssd) flushed: bool,
    /// Its number among the writes that the buffer admitted; 0 if no part of it was admitted.
    pub(in crate::ssd) admitted: u64,
    links: Links,
}

impl Linked for Slot {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// The requests under way, at most as many as the queue depth. Writes and flushes are also kept in order of arrival.
#[derive(Debug)]
pub(in crate::ssd) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    depth: u32,
    /// Writes and flushes, the oldest first.
    order: List,
    flushes: u32,
}

impl Slots {
    pub(in crate::ssd) fn new(depth: u32) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), depth, order: List::EMPTY, flushes: 0 }
    }

    #[inline]
    pub(in crate::ssd) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(in crate::ssd) fn free(&self) -> usize {
        self.depth as usize - self.in_use()
    }

    #[inline]
    pub(in crate::ssd) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(in crate::ssd) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    #[inline]
    pub(in crate::ssd) fn take(&mut self, tag: Tag, request: Request) -> u32 {
        let ordered = request.kind.is_write() || request.kind == RequestKind::Flush;
        let state = Slot {
            tag,
            request,
            remaining: 0,
            start: Nanos::NEVER,
            result: Ok(()),
            ordered,
            flushed: false,
            admitted: 0,
            links: Links::NONE,
        };
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
            self.flushes += u32::from(request.kind == RequestKind::Flush);
            self.order.push_back(&mut self.slots, slot);
        }
        slot
    }

    #[inline]
    pub(in crate::ssd) fn release(&mut self, slot: u32) {
        let Slot { request, ordered, .. } = self.slots[slot as usize];
        if ordered {
            self.flushes -= u32::from(request.kind == RequestKind::Flush);
            self.order.remove(&mut self.slots, slot);
        }
        self.free.push(slot);
    }

    /// Returns true if a flush is under way.
    #[inline]
    pub(in crate::ssd) fn any_flush(&self) -> bool {
        self.flushes > 0
    }

    /// Returns the slots of all requests under way, in ascending order.
    pub(in crate::ssd) fn all_in_use(&self) -> Vec<u32> {
        let mut used = vec![true; self.slots.len()];
        self.free.iter().for_each(|slot| used[*slot as usize] = false);
        (0..self.slots.len() as u32).filter(|slot| used[*slot as usize]).collect()
    }

    /// Returns the slot of the oldest write or flush under way.
    #[inline]
    pub(in crate::ssd) fn first_in_order(&self) -> Option<u32> {
        self.order.first()
    }

    /// Asserts that the order contains every write and flush under way exactly once, and that the count of flushes is
    /// right.
    pub(in crate::ssd) fn check(&self) {
        self.order.check(&self.slots);
        let ordered = self.all_in_use().into_iter().filter(|slot| self.get(*slot).ordered).count();
        assert_eq!(ordered, self.order.len() as usize, "a write or a flush is not in the order");
        let flushes = |slot: &u32| self.get(*slot).request.kind == RequestKind::Flush;
        assert_eq!(self.order.iter(&self.slots).filter(flushes).count(), self.flushes as usize);
    }
}
