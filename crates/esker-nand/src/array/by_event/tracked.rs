//! Tracks which changes of the cells were performed, to compute the state after a power failure.

use std::collections::VecDeque;

use esker_core::Nanos;

use super::control::Control;
use super::op::{How, NO_CHANGE, Op};
use super::phases::Die;
use super::{ByEvent, Deliveries, NEVER};
use crate::state::{ChangeFate, FlashOp, FlashOpKind};

/// Programs and erases that were pushed, in order. Here, changes that must wait for all earlier ones of their pool
/// really do so, while elsewhere the order is only assumed (see `state/journal.rs`).
#[derive(Debug)]
pub(super) struct TrackedChanges {
    /// Number of blocks of a pool, over all parts.
    pub(super) blocks_per_pool: u32,
    /// The number of the first change that is kept. All changes before it were performed.
    first: u64,
    changes: VecDeque<Change>,
    /// For each of the next changes to be pushed, whether it has to wait.
    waits: VecDeque<bool>,
    /// Number of operations that ended on dies.
    operations: u64,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    parts_left: u32,
    begun: bool,
}

impl TrackedChanges {
    /// Adds a change with `parts` parts. Returns its number, and whether it waits.
    pub(super) fn push(&mut self, parts: u32) -> (u64, bool) {
        self.changes.push_back(Change { parts_left: parts, begun: false });
        let waits = self.waits.pop_front().expect("it was told of each change whether it waits");
        (self.pushed() - 1, waits)
    }

    fn pushed(&self) -> u64 {
        self.first + self.changes.len() as u64
    }

    pub(super) fn begun(&mut self, op: &Op) {
        if op.change != NO_CHANGE {
            self.changes[(op.change - self.first) as usize].begun = true;
        }
    }

    pub(super) fn ended(&mut self, op: &Op) {
        self.operations += 1;
        if op.change == NO_CHANGE {
            return;
        }
        self.changes[(op.change - self.first) as usize].parts_left -= 1;
        while self.changes.front().is_some_and(|change| change.parts_left == 0) {
            self.changes.pop_front();
            self.first += 1;
        }
    }
}

impl FlashOp {
    /// Returns true if the operation changes the content of the cells.
    pub fn is_change(&self) -> bool {
        !matches!(self.kind, FlashOpKind::Read { .. } | FlashOpKind::ReadSpare { .. })
    }
}

impl ByEvent {
    /// Starts to track changes. Nothing must be under way.
    pub(in crate::array) fn track_changes(&mut self, blocks_per_pool: u32) {
        self.tracked = Some(TrackedChanges {
            blocks_per_pool: blocks_per_pool * self.layout.parts(),
            first: 0,
            changes: VecDeque::new(),
            waits: VecDeque::new(),
            operations: 0,
        });
    }

    /// Sets, for each change of the next push, whether it waits for all earlier changes of its pool.
    pub(in crate::array) fn set_waits(&mut self, waits: impl Iterator<Item = bool>) {
        self.tracked.as_mut().expect("changes are tracked").waits.extend(waits);
    }

    /// Returns how many tracked changes were pushed, and how many come before the first that was not performed.
    pub(in crate::array) fn changes(&self) -> (u64, u64) {
        self.tracked.as_ref().map_or((0, 0), |tracked| (tracked.pushed(), tracked.first))
    }

    /// Returns the number of operations that ended since tracking began.
    pub(in crate::array) fn operations(&self) -> u64 {
        self.tracked.as_ref().map_or(0, |tracked| tracked.operations)
    }

    /// Returns how long after `now` the dies need to finish the programs and erases that they have begun, not counting
    /// waits for the bus.
    pub(in crate::array) fn rest(&self, now: Nanos) -> Nanos {
        let rest = |die: &Die| {
            let ends = die.group.first().filter(|op| self.ops[*op].touches.how != How::Read);
            let ahead = ends.map_or(0, |op| self.ahead(die, op));
            let works = ends.is_some() || die.suspended.is_some();
            if works { die.rest(now.0) + ahead } else { 0 }
        };
        Nanos(self.dies.iter().map(rest).max().unwrap_or(0))
    }

    /// Loses power: all dies stop, and their operations are dropped. Busy times include phases under way in full.
    /// Returns what became of each change after those that [`Self::changes`] counts as performed. Stops tracking
    /// changes.
    pub(in crate::array) fn lose_power(&mut self) -> Vec<ChangeFate> {
        for index in 0..self.dies.len() {
            self.dies[index] = self.dies[index].stopped();
        }
        self.ends.clear();
        for bus in &mut self.buses {
            bus.taken = false;
            bus.asks.clear();
            bus.awake.clear();
            bus.undecided = false;
        }
        self.controls.fill(Control::default());
        self.to_decide.clear();
        self.decide_at = NEVER;
        self.ops.clear();
        self.ended.clear();
        self.decoded = Deliveries::new();
        self.change = (NO_CHANGE, false);
        let tracked = self.tracked.take().expect("changes are tracked");
        let fate = |change: Change| match change {
            Change { parts_left: 0, .. } => ChangeFate::Performed,
            Change { begun: true, .. } => ChangeFate::Interrupted,
            Change { begun: false, .. } => ChangeFate::NotBegun,
        };
        tracked.changes.into_iter().map(fate).collect()
    }
}
