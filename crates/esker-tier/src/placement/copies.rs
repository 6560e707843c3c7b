//! Moving an extent: read its data from the old place, write them durably to the new one, and only then change the map.
//! Writes of the host meanwhile go to the old place and make the copy worthless.

use std::collections::BTreeMap;

use esker_core::Priority;

use crate::extent::{ExtentPlace, LogicalExtent};

/// Most copies under way at a time; each needs a buffer of one extent.
pub(super) const COPIES_MAX: usize = 24;

/// How often a copy is started over because the host wrote to the extent.
const TRIES_MAX: u8 = 4;

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) extent: LogicalExtent,
    pub(super) from: ExtentPlace,
    pub(super) to: ExtentPlace,
    pub(super) priority: Priority,
    /// Whether it empties a device that is drained, instead of being the policy's wish.
    pub(super) drains: bool,
    stage: Stage,
    /// Whether the host has written to the extent since the copy began.
    stale: bool,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits until the host's writes to the extent have ended.
    Waiting,
    /// Reads the data.
    Reading,
    /// Writes the data.
    Writing,
}

/// The next step of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Wait for a request that is under way.
    Nothing,
    /// Read the data.
    Read,
    /// Write the data that were read.
    Write,
    /// The copy is complete: change the map.
    Switch,
    /// Give up: it was started over too often.
    GiveUp,
}

/// All copies under way, by the number of their buffers.
#[derive(Debug, Default)]
pub(super) struct Copies {
    slots: Vec<Option<Copy>>,
    by_extent: BTreeMap<LogicalExtent, u32>,
    /// A fault for tests: writes of the host are overlooked.
    #[cfg(test)]
    pub(super) overlooks_writes: bool,
}

impl Copies {
    pub(super) fn is_empty(&self) -> bool {
        self.by_extent.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.by_extent.len() >= COPIES_MAX
    }

    pub(super) fn of(&self, extent: LogicalExtent) -> Option<u32> {
        self.by_extent.get(&extent).copied()
    }

    pub(super) fn get(&self, slot: u32) -> &Copy {
        self.slots[slot as usize].as_ref().expect("the copy is under way")
    }

    /// The places that copies are written to.
    pub(super) fn targets(&self) -> impl Iterator<Item = ExtentPlace> {
        self.slots.iter().flatten().map(|copy| copy.to)
    }

    /// Begins a copy of `extent`, of which no other copy is under way (asserted).
    pub(super) fn begin(
        &mut self,
        extent: LogicalExtent,
        (from, to): (ExtentPlace, ExtentPlace),
        priority: Priority,
        drains: bool,
    ) -> u32 {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] =
            Some(Copy { extent, from, to, priority, drains, stage: Stage::Waiting, stale: false, tries: 0 });
        let earlier = self.by_extent.insert(extent, slot as u32);
        assert!(earlier.is_none(), "the extent is being copied");
        slot as u32
    }

    /// Removes the copy in `slot`, which is over.
    pub(super) fn end(&mut self, slot: u32) -> Copy {
        let copy = self.slots[slot as usize].take().expect("the copy is under way");
        self.by_extent.remove(&copy.extent);
        copy
    }

    /// Notes that a write of the host to `extent`, which is being copied, was sent.
    pub(super) fn host_wrote(&mut self, extent: LogicalExtent) {
        #[cfg(test)]
        if self.overlooks_writes {
            return;
        }
        let slot = self.of(extent).expect("it is copied");
        self.slots[slot as usize].as_mut().expect("the copy is under way").stale = true;
    }

    /// Returns the next step of the copy in `slot`, after one of its own requests (`own`) or a write of the host has
    /// ended, while `writes` writes of the host to the extent are under way. The caller takes that step.
    pub(super) fn step(&mut self, slot: u32, own: bool, writes: u32) -> Next {
        let copy = self.slots[slot as usize].as_mut().expect("the copy is under way");
        match copy.stage {
            Stage::Waiting if writes > 0 => Next::Nothing,
            Stage::Waiting => {
                copy.tries += 1;
                if copy.tries > TRIES_MAX {
                    return Next::GiveUp;
                }
                copy.stale = false;
                copy.stage = Stage::Reading;
                Next::Read
            }
            Stage::Reading | Stage::Writing if !own => Next::Nothing,
            Stage::Reading | Stage::Writing if copy.stale => {
                copy.stage = Stage::Waiting;
                self.step(slot, false, writes)
            }
            Stage::Reading => {
                copy.stage = Stage::Writing;
                Next::Write
            }
            Stage::Writing => Next::Switch,
        }
    }
}
