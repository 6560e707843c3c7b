//! What lies where on the device of one server.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::{Bytes, Lba, bits};

use crate::id::{ObjectId, SliceId};
use crate::shape::ClusterShape;

/// The slots of a server, each with room for a slice.
#[derive(Debug)]
pub(super) struct ServerStore {
    shape: ClusterShape,
    slots: BTreeMap<SliceId, u32>,
    free: BTreeSet<u32>,
    /// For each object of each slot, whether it was written.
    written: Vec<u64>,
    /// Number of written objects.
    written_count: u64,
    /// Trims under way. Until they have ended, nothing else may be written there.
    trims: BTreeMap<SliceId, u32>,
}

impl ServerStore {
    /// A server with this many slots, all free.
    pub(super) fn new(shape: ClusterShape, slots: u32) -> Self {
        let written = vec![0; bits::words(slots as usize * shape.objects_per_slice as usize)];
        Self {
            shape,
            slots: BTreeMap::new(),
            free: (0..slots).collect(),
            written,
            written_count: 0,
            trims: BTreeMap::new(),
        }
    }

    /// Returns the slot of a slice.
    pub(super) fn slot(&self, slice: SliceId) -> Option<u32> {
        self.slots.get(&slice).copied()
    }

    /// Gives a slice this slot.
    pub(super) fn place(&mut self, slice: SliceId, slot: u32) {
        self.free.remove(&slot);
        self.slots.insert(slice, slot);
    }

    /// Returns whether a slice has a slot, which it may get now.
    pub(super) fn make_room(&mut self, slice: SliceId) -> bool {
        if !self.slots.contains_key(&slice) {
            let Some(slot) = self.free.pop_first() else { return false };
            self.slots.insert(slice, slot);
        }
        true
    }

    /// Takes the slot of a slice back. Nothing that was written there counts any more.
    pub(super) fn release(&mut self, slice: SliceId) {
        let Some(slot) = self.slots.remove(&slice) else { return };
        let objects = self.shape.objects_per_slice as usize;
        let first = slot as usize * objects;
        let were_written = (first..first + objects).filter(|bit| bits::is_set(&self.written, *bit)).count();
        self.written_count -= were_written as u64;
        bits::clear_all(&mut self.written, first..first + objects);
        self.free.insert(slot);
    }

    /// Takes all slots back: the device is gone.
    pub(super) fn release_all(&mut self) {
        let slices: Vec<SliceId> = self.slots.keys().copied().collect();
        slices.into_iter().for_each(|slice| self.release(slice));
    }

    /// The bit of an object, if its slice has a slot here.
    fn bit(&self, object: ObjectId) -> Option<usize> {
        let (slice, index) = self.shape.slice_of(object);
        self.slot(slice).map(|slot| slot as usize * self.shape.objects_per_slice as usize + index)
    }

    /// Returns whether an object was written here.
    pub(super) fn has(&self, object: ObjectId) -> bool {
        self.bit(object).is_some_and(|bit| bits::is_set(&self.written, bit))
    }

    /// Notes whether an object was written here.
    pub(super) fn set(&mut self, object: ObjectId, written: bool) {
        let Some(bit) = self.bit(object) else { return };
        match (bits::is_set(&self.written, bit), written) {
            (false, true) => {
                bits::set(&mut self.written, bit);
                self.written_count += 1;
            }
            (true, false) => {
                bits::clear(&mut self.written, bit);
                self.written_count -= 1;
            }
            _ => {}
        }
    }

    /// Returns where an object begins on the device. Its slice has a slot here (asserted).
    pub(super) fn start(&self, object: ObjectId) -> Lba {
        let bit = self.bit(object).expect("its slice has a slot");
        Lba::containing(bit as u64 * self.shape.object.0)
    }

    /// Notes that a trim of an object of a slice has begun.
    pub(super) fn trim_begins(&mut self, slice: SliceId) {
        *self.trims.entry(slice).or_default() += 1;
    }

    /// Notes that a trim of an object of a slice has ended. Returns true if it was the last one.
    pub(super) fn trim_ends(&mut self, slice: SliceId) -> bool {
        let Some(count) = self.trims.get_mut(&slice) else { return false };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            self.trims.remove(&slice);
        }
        is_last
    }

    /// Returns whether objects of a slice are being trimmed.
    pub(super) fn is_trimming(&self, slice: SliceId) -> bool {
        self.trims.contains_key(&slice)
    }

    /// Returns the bytes of written objects.
    pub(super) fn written_bytes(&self) -> Bytes {
        Bytes(self.written_count * self.shape.object.0)
    }
}
