//! Checkpoints of an engine's map: records that make the map anew, taken in steps.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Engine, Record, RecordNumber};

/// The map at one moment, in memory. An engine is restored from a checkpoint and the records that follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last record that the checkpoint includes.
    pub through: RecordNumber,
    /// Records that make the map, by rising extent or line.
    pub records: Vec<Record>,
}

/// Extents or lines that go into a [`Checkpoint`] in one step.
const STEP: u32 = 1 << 16;

impl Checkpoint {
    /// Takes a checkpoint of `engine` as it is now. A checkpoint that was being taken in steps is given up.
    pub fn of<E: Engine + ?Sized>(engine: &mut E) -> Self {
        let (through, mut records) = (engine.begin_checkpoint(), Vec::new());
        while !engine.continue_checkpoint(STEP, &mut |record| records.push(record)) {}
        Self { through, records }
    }
}

/// A checkpoint that is taken in steps. It shows the map as it was when the checkpoint began: if a record changes an
/// extent or a line before the checkpoint has reached it, the records that it had are kept.
#[derive(Debug)]
pub struct Snapshot {
    next: u32,
    end: u32,
    kept: BTreeMap<u32, Vec<Record>>,
}

impl Snapshot {
    /// Begins a checkpoint of the extents or lines below `end`.
    pub fn new(end: u32) -> Self {
        Self { next: 0, end, kept: BTreeMap::new() }
    }

    /// Returns true if the records of `number` have to be kept before they change.
    pub fn needs(&self, number: u32) -> bool {
        (self.next..self.end).contains(&number) && !self.kept.contains_key(&number)
    }

    /// Keeps the records that `number` had when the checkpoint began.
    pub fn keep(&mut self, number: u32, records: Vec<Record>) {
        self.kept.insert(number, records);
    }

    /// Returns up to `most` further numbers, which the checkpoint takes now.
    pub fn advance(&mut self, most: u32) -> Range<u32> {
        let numbers = self.next..self.next.saturating_add(most).min(self.end);
        self.next = numbers.end;
        numbers
    }

    /// Returns the records that `number` had when the checkpoint began; `None` if they have not changed since.
    pub fn take_kept(&mut self, number: u32) -> Option<Vec<Record>> {
        self.kept.remove(&number)
    }

    /// Returns true if the checkpoint has taken all numbers.
    pub fn is_complete(&self) -> bool {
        self.next == self.end
    }
}
