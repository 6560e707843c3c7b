//! Moving an extent: its data are read from where they are, written durably to where they go, and only then does the
//! map change. What the host writes meanwhile goes to the old place and makes the copy worthless.

use std::collections::BTreeMap;

use crate::extent::{LogicalExtent, Place};

/// Copies under way at most; each needs a buffer of an extent.
pub(super) const COPIES_MAX: usize = 16;

/// How often a copy is begun anew because the host wrote to the extent.
const TRIES_MAX: u8 = 4;

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) extent: LogicalExtent,
    pub(super) from: Place,
    pub(super) to: Place,
    stage: Stage,
    /// Writes of the host that go to `from`.
    writes: u32,
    /// Whether the host has written since the copy was begun.
    stale: bool,
    tries: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Until the host's writes to the extent have ended.
    Waiting,
    /// Being read.
    Reading,
    /// Being written.
    Writing,
}

/// What a copy needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The end of something that is under way.
    Nothing,
    /// Its data are to be read.
    Read,
    /// What was read is to be written.
    Write,
    /// It is whole: the map can change.
    Switch,
    /// It was begun anew too often.
    GiveUp,
}

/// All copies under way, by the number of their buffer.
#[derive(Debug, Default)]
pub(super) struct Copies {
    slots: Vec<Option<Copy>>,
    by_extent: BTreeMap<LogicalExtent, u32>,
    /// Whether writes of the host are overlooked, as a wrong twin for the tests.
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

    /// Places that copies go to.
    pub(super) fn targets(&self) -> impl Iterator<Item = Place> {
        self.slots.iter().flatten().map(|copy| copy.to)
    }

    /// Begins a copy of `extent`, which none is of (asserted), with `writes` of the host under way to it.
    pub(super) fn begin(&mut self, extent: LogicalExtent, from: Place, to: Place, writes: u32) -> u32 {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(Copy { extent, from, to, stage: Stage::Waiting, writes, stale: false, tries: 0 });
        let earlier = self.by_extent.insert(extent, slot as u32);
        assert!(earlier.is_none(), "the extent is being copied");
        slot as u32
    }

    /// The copy in `slot` is over.
    pub(super) fn end(&mut self, slot: u32) -> Copy {
        let copy = self.slots[slot as usize].take().expect("the copy is under way");
        self.by_extent.remove(&copy.extent);
        copy
    }

    /// A write of the host to `extent` was sent, or ended.
    pub(super) fn host_write(&mut self, extent: LogicalExtent, sent: bool) {
        #[cfg(test)]
        if self.overlooks_writes {
            return;
        }
        let Some(slot) = self.of(extent) else { return };
        let copy = self.slots[slot as usize].as_mut().expect("the copy is under way");
        if sent {
            copy.writes += 1;
            copy.stale = true;
        } else {
            copy.writes -= 1;
        }
    }

    /// What the copy in `slot` needs next, now that one of its own requests (`own`) or a write of the host has ended.
    /// The caller sees to it.
    pub(super) fn step(&mut self, slot: u32, own: bool) -> Next {
        let copy = self.slots[slot as usize].as_mut().expect("the copy is under way");
        match copy.stage {
            Stage::Waiting if copy.writes > 0 => Next::Nothing,
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
                self.step(slot, false)
            }
            Stage::Reading => {
                copy.stage = Stage::Writing;
                Next::Write
            }
            Stage::Writing => Next::Switch,
        }
    }
}
