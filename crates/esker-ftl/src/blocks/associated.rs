//! A table of logical blocks that have more than their data block: a log block, or a chain of replacement blocks.

use crate::roomy::Roomy;
use esker_core::{Linked, Links, List};

/// A value for each of a few logical blocks, ordered from least to most recently used.
#[derive(Clone, Debug)]
pub(crate) struct Associated<T> {
    /// Slot plus one per logical block; zero if it has none.
    slot_of: Vec<u32>,
    slots: Roomy<Vec<Slot<T>>>,
    unused: Vec<u32>,
    by_use: List,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    block: u32,
    value: Option<T>,
    links: Links,
}

impl<T> Linked for Slot<T> {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl<T> Associated<T> {
    /// An empty table for `logical` logical blocks.
    pub(crate) fn new(logical: u32) -> Self {
        let slot_of = esker_nand::memory::zeroed(logical as usize);
        Self { slot_of, slots: Roomy::default(), unused: Vec::new(), by_use: List::EMPTY }
    }

    /// Returns the number of blocks with a value.
    pub(crate) fn len(&self) -> u32 {
        (self.slots.len() - self.unused.len()) as u32
    }

    /// Returns the value of `block`.
    #[inline]
    pub(crate) fn get(&self, block: u32) -> Option<&T> {
        let slot = self.slot_of[block as usize].checked_sub(1)?;
        self.slots[slot as usize].value.as_ref()
    }

    /// Returns the value of `block`.
    #[inline]
    pub(crate) fn get_mut(&mut self, block: u32) -> Option<&mut T> {
        let slot = self.slot_of[block as usize].checked_sub(1)?;
        self.slots[slot as usize].value.as_mut()
    }

    /// Returns the least recently used block.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.by_use.first().map(|index| self.slots[index as usize].block)
    }

    /// Iterates over blocks and values, least recently used first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.by_use.iter(&self.slots).map(|index| {
            let slot = &self.slots[index as usize];
            (slot.block, slot.value.as_ref().expect("linked slots are in use"))
        })
    }

    /// Adds `block`, which has no value yet, as the most recently used.
    pub(crate) fn insert(&mut self, block: u32, value: T) {
        debug_assert_eq!(self.slot_of[block as usize], 0);
        let slot = Slot { block, value: Some(value), links: Links::NONE };
        let index = match self.unused.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.slot_of[block as usize] = index + 1;
        self.by_use.push_back(&mut self.slots, index);
    }

    /// Makes `block`, which has a value, the most recently used.
    #[inline]
    pub(crate) fn touch(&mut self, block: u32) {
        let index = self.slot_of[block as usize] - 1;
        if Some(index) != self.by_use.last() {
            self.by_use.remove(&mut self.slots, index);
            self.by_use.push_back(&mut self.slots, index);
        }
    }

    /// Removes `block` and returns its value.
    pub(crate) fn remove(&mut self, block: u32) -> Option<T> {
        let index = std::mem::take(&mut self.slot_of[block as usize]).checked_sub(1)?;
        self.by_use.remove(&mut self.slots, index);
        self.unused.push(index);
        self.slots[index as usize].value.take()
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slot_of) + self.slots.capacity() * size_of::<Slot<T>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_keeps_the_order_of_use(steps in prop::collection::vec((0u32..8, 0u32..3), 0..60)) {
            let mut associated = Associated::new(8);
            let mut model: Vec<(u32, usize)> = Vec::new();
            for (index, (block, step)) in steps.into_iter().enumerate() {
                let known = model.iter().position(|(known, _)| *known == block);
                prop_assert_eq!(associated.get(block).copied(), known.map(|at| model[at].1));
                match (step, known) {
                    (0, None) => {
                        associated.insert(block, index);
                        model.push((block, index));
                    }
                    (1, Some(at)) => {
                        associated.touch(block);
                        let entry = model.remove(at);
                        model.push(entry);
                    }
                    (2, known) => {
                        prop_assert_eq!(associated.remove(block), known.map(|at| model.remove(at).1));
                    }
                    _ => {}
                }
                prop_assert_eq!(associated.iter().map(|(block, value)| (block, *value)).collect::<Vec<_>>(), model.clone());
                prop_assert_eq!(associated.oldest(), model.first().map(|(block, _)| *block));
                prop_assert_eq!(associated.len() as usize, model.len());
            }
        }
    }
}
