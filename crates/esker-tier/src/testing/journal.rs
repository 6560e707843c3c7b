//! The journal of a test's world.

use std::collections::BTreeMap;

use esker_core::Rng;

use crate::engine::{Checkpoint, Record, RecordNumber};

/// A journal that begins from a checkpoint. Records reach it in any order.
#[derive(Debug, Default)]
pub struct Journal {
    pub base: Checkpoint,
    /// All records that the engine has issued, in order, whether they have reached the journal or not.
    pub issued: Vec<Record>,
    /// The records that have reached the journal.
    pub appended: BTreeMap<RecordNumber, Record>,
    /// The last record that is durable together with all before it.
    pub hardened: RecordNumber,
    /// One in this many attempts to make records durable fails, and the journal with it; none if 0.
    pub failures: u64,
    pub failed: bool,
}

impl Journal {
    /// A journal that begins from `base`.
    pub fn after(base: Checkpoint, failures: u64) -> Self {
        Self { hardened: base.through, base, failures, ..Self::default() }
    }

    /// Notes that the engine has issued a record.
    pub fn issue(&mut self, number: RecordNumber, record: Record) {
        self.issued.push(record);
        assert_eq!(number.0, self.base.through.0 + self.issued.len() as u64, "numbers follow each other");
    }

    pub fn append(&mut self, number: RecordNumber, record: Record) {
        assert!(self.appended.insert(number, record).is_none(), "a number was given twice");
    }

    /// Returns the records from the base to `through`.
    pub fn issued_through(&self, through: RecordNumber) -> &[Record] {
        &self.issued[..(through.0 - self.base.through.0) as usize]
    }

    /// Returns true if all records up to `through` have reached the journal.
    pub fn has_all(&self, through: RecordNumber) -> bool {
        (self.base.through.0 + 1..=through.0).all(|number| self.appended.contains_key(&RecordNumber(number)))
    }

    /// Returns the records that survive a loss of power: the durable ones, and perhaps some that follow them.
    pub fn survivors(&self, rng: &mut Rng) -> Vec<Record> {
        let mut through = self.hardened;
        while self.appended.contains_key(&RecordNumber(through.0 + 1)) && rng.chance(1, 2) {
            through.0 += 1;
        }
        self.issued_through(through).to_vec()
    }
}
