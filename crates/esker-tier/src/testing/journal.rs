//! The journal of a test's world.

use std::collections::BTreeMap;

use esker_core::Rng;

use crate::engine::{Checkpoint, Record, RecordNumber};

/// A journal that begins from a checkpoint. Records reach it in any order.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) base: Checkpoint,
    /// All records that the engine has issued, in order, whether they have reached the journal or not.
    pub(crate) issued: Vec<Record>,
    /// The records that have reached the journal.
    pub(crate) appended: BTreeMap<RecordNumber, Record>,
    /// The last record that is durable together with all before it.
    pub(crate) hardened: RecordNumber,
    /// One in this many attempts to make records durable fails, and the journal with it; none if 0.
    pub(crate) failures: u64,
    pub(crate) failed: bool,
}

impl Journal {
    /// A journal that begins from `base`.
    pub(crate) fn after(base: Checkpoint, failures: u64) -> Self {
        Self { hardened: base.through, base, failures, ..Self::default() }
    }

    /// Notes that the engine has issued a record.
    pub(crate) fn issue(&mut self, number: RecordNumber, record: Record) {
        self.issued.push(record);
        assert_eq!(number.0, self.base.through.0 + self.issued.len() as u64, "numbers follow each other");
    }

    pub(crate) fn append(&mut self, number: RecordNumber, record: Record) {
        assert!(self.appended.insert(number, record).is_none(), "a number was given twice");
    }

    /// Returns the records from the base to `through`.
    pub(crate) fn issued_through(&self, through: RecordNumber) -> &[Record] {
        &self.issued[..(through.0 - self.base.through.0) as usize]
    }

    /// Returns true if all records up to `through` have reached the journal.
    pub(crate) fn has_all(&self, through: RecordNumber) -> bool {
        (self.base.through.0 + 1..=through.0).all(|number| self.appended.contains_key(&RecordNumber(number)))
    }

    /// Returns the records that survive a loss of power: the durable ones, and perhaps some that follow them.
    pub(crate) fn survivors(&self, rng: &mut Rng) -> Vec<Record> {
        let mut through = self.hardened;
        while self.appended.contains_key(&RecordNumber(through.0 + 1)) && rng.chance(1, 2) {
            through.0 += 1;
        }
        self.issued_through(through).to_vec()
    }
}
