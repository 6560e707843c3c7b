//! Copies that move an extent: read its data from the old place, write them durably to the new one, and only then
//! change the map. Meanwhile the host's writes still go to the old place, and make the copy stale. An extent that is
//! written all the time would never move: after some time, its writes wait for the copy.

use std::collections::BTreeMap;

use esker_core::Priority;

use crate::extent::{ExtentPlace, LogicalExtent};

/// Most copies under way at a time; each needs a buffer of one extent.
pub(super) const COPIES_MAX: usize = 24;

/// Most merges under way at a time (see `merges.rs`); each needs a buffer of one extent, too.
pub(super) const MERGES_MAX: usize = 24;

/// How often a copy is tried if the host keeps writing to the extent. The last time, these writes wait.
const TRIES_MAX: u8 = 4;

/// How many of the host's writes pass a copy that waits for earlier ones to end. Those after them wait.
const PASSED_MAX: u8 = 16;

/// A copy under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtentCopy {
    pub(super) extent: LogicalExtent,
    pub(super) from: ExtentPlace,
    pub(super) to: ExtentPlace,
    pub(super) priority: Priority,
    pub(super) purpose: CopyPurpose,
    stage: CopyStage,
    /// Whether the host has written to the extent since the copy began.
    stale: bool,
    tries: u8,
    /// Writes of the host that were sent while the copy waited for earlier ones to end; at most [`PASSED_MAX`].
    passed: u8,
}

impl ExtentCopy {
    /// Returns true if the host's writes to the extent have to wait.
    fn holds_writes(&self) -> bool {
        match self.stage {
            CopyStage::Waiting => self.passed == PASSED_MAX,
            CopyStage::Reading | CopyStage::Writing => self.is_last_try(),
        }
    }

    fn is_last_try(&self) -> bool {
        self.tries == TRIES_MAX
    }
}

/// Why an extent is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyPurpose {
    /// The policy wants it on another device.
    Move,
    /// The policy wants a second copy on another device.
    Mirror,
    /// Its device is being drained.
    Drain,
    /// An earlier policy wanted a second copy, and no one does any more.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyStage {
    /// Waits until the host's writes to the extent have ended.
    Waiting,
    /// Reads the data.
    Reading,
    /// Writes the data.
    Writing,
}

/// The next step of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyStep {
    /// Wait for a request that is under way.
    Nothing,
    /// Read the data.
    Read,
    /// Write the data that were read.
    Write,
    /// The copy is complete: change the map.
    Switch,
}

/// All copies under way, by the number of their buffer.
#[derive(Debug, Default)]
pub(super) struct Copies {
    slots: Vec<Option<ExtentCopy>>,
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

    /// Returns the number of copies under way.
    pub(super) fn count(&self) -> u32 {
        self.by_extent.len() as u32
    }

    /// Returns the number of copies under way that the policy asked for.
    pub(super) fn of_policy(&self) -> u32 {
        self.slots.iter().flatten().filter(|copy| copy.purpose != CopyPurpose::Drain).count() as u32
    }

    pub(super) fn of(&self, extent: LogicalExtent) -> Option<u32> {
        self.by_extent.get(&extent).copied()
    }

    pub(super) fn get(&self, slot: u32) -> &ExtentCopy {
        self.slots[slot as usize].as_ref().expect("the copy is under way")
    }

    /// Returns the places to which copies are written.
    pub(super) fn targets(&self) -> impl Iterator<Item = ExtentPlace> {
        self.slots.iter().flatten().map(|copy| copy.to)
    }

    /// Notes that nobody wants the second copies any more that are under way.
    pub(super) fn give_mirrors_up(&mut self) {
        for copy in self.slots.iter_mut().flatten().filter(|copy| copy.purpose == CopyPurpose::Mirror) {
            copy.purpose = CopyPurpose::Nothing;
        }
    }

    /// Begins a copy of `extent` from one place to another. No other copy of it may be under way (asserted). Returns
    /// the number of its buffer.
    pub(super) fn begin(
        &mut self,
        extent: LogicalExtent,
        (from, to): (ExtentPlace, ExtentPlace),
        priority: Priority,
        purpose: CopyPurpose,
    ) -> u32 {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(ExtentCopy {
            extent,
            from,
            to,
            priority,
            purpose,
            stage: CopyStage::Waiting,
            stale: false,
            tries: 0,
            passed: 0,
        });
        let earlier = self.by_extent.insert(extent, slot as u32);
        assert!(earlier.is_none(), "the extent is being copied");
        slot as u32
    }

    /// Removes the copy in `slot`, which has ended.
    pub(super) fn end(&mut self, slot: u32) -> ExtentCopy {
        let copy = self.slots[slot as usize].take().expect("the copy is under way");
        self.by_extent.remove(&copy.extent);
        copy
    }

    /// Notes that the host has sent a write to `extent`, which is being copied.
    pub(super) fn host_wrote(&mut self, extent: LogicalExtent) {
        #[cfg(test)]
        if self.overlooks_writes {
            return;
        }
        let slot = self.of(extent).expect("it is copied");
        let copy = self.slots[slot as usize].as_mut().expect("the copy is under way");
        copy.stale = true;
        if copy.stage == CopyStage::Waiting {
            copy.passed = (copy.passed + 1).min(PASSED_MAX);
        }
    }

    /// Returns true if the host's writes to `extent` have to wait for a copy of it.
    pub(super) fn holds_writes(&self, extent: LogicalExtent) -> bool {
        self.of(extent).is_some_and(|slot| self.get(slot).holds_writes())
    }

    /// Returns the next step of the copy in `slot`, which the caller takes. Called when one of the copy's own requests
    /// (`own`) or a write of the host has ended, while `writes` writes of the host to the extent are under way.
    pub(super) fn step(&mut self, slot: u32, own: bool, writes: u32) -> CopyStep {
        let copy = self.slots[slot as usize].as_mut().expect("the copy is under way");
        match copy.stage {
            CopyStage::Waiting if writes > 0 => CopyStep::Nothing,
            CopyStage::Waiting => {
                copy.tries = (copy.tries + 1).min(TRIES_MAX);
                // Others wait for it now.
                if copy.is_last_try() {
                    copy.priority = Priority::USER;
                }
                copy.stale = false;
                copy.stage = CopyStage::Reading;
                CopyStep::Read
            }
            CopyStage::Reading | CopyStage::Writing if !own => CopyStep::Nothing,
            CopyStage::Reading | CopyStage::Writing if copy.stale => {
                copy.stage = CopyStage::Waiting;
                self.step(slot, false, writes)
            }
            CopyStage::Reading => {
                copy.stage = CopyStage::Writing;
                CopyStep::Write
            }
            CopyStage::Writing => CopyStep::Switch,
        }
    }
}
