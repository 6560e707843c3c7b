//! Pages that count as invalid but can be revived until their block is erased.

use esker_core::bits;

/// Which map entries are suspected, by slot. Takes no memory before the first suspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    marks: Vec<u64>,
    count: u64,
    /// Suspects that were revived.
    pub(crate) revived: u64,
    /// Suspects that were erased with their blocks.
    pub(crate) erased: u64,
}

impl Suspects {
    /// Returns the number of suspects.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if the page at `slot` is a suspect.
    #[inline(always)]
    pub(crate) fn has(&self, slot: u32) -> bool {
        self.count > 0 && bits::is_set(&self.marks, slot as usize)
    }

    /// Makes the page at `slot` a suspect; there are `slots` slots. It must not be one already.
    pub(crate) fn add(&mut self, slot: u32, slots: usize) {
        debug_assert!(!self.has(slot), "slot {slot} is suspected twice");
        if self.marks.is_empty() {
            self.marks = vec![0; slots.div_ceil(64)];
        }
        bits::set(&mut self.marks, slot as usize);
        self.count += 1;
    }

    /// Ends the suspicion of the page at `slot`. Returns false if it was no suspect.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let had = self.has(slot);
        if had {
            bits::clear(&mut self.marks, slot as usize);
            self.count -= 1;
        }
        had
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.marks)
    }
}
