//! Where the map's records are.

use std::io;

use esker_tier::{MapRecord, RecordNumber};

/// Keeps the records of a map.
pub trait Journal: Send {
    /// Appends a record; numbers rise by one. It may be lost with the power until [`harden`](Self::harden) covers it.
    fn append(&mut self, number: RecordNumber, record: MapRecord) -> io::Result<()>;

    /// Makes all records up to `through` durable, which have been appended.
    fn harden(&mut self, through: RecordNumber) -> io::Result<()>;
}

/// Records in memory: for tests, and for volumes that nobody wants back.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Vec<MapRecord>,
    hardened: RecordNumber,
}

impl MemoryJournal {
    /// The records that would survive losing the power.
    pub fn hardened(&self) -> &[MapRecord] {
        &self.records[..self.hardened.0 as usize]
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, number: RecordNumber, record: MapRecord) -> io::Result<()> {
        self.records.push(record);
        assert_eq!(number.0, self.records.len() as u64, "records come in order");
        Ok(())
    }
    fn harden(&mut self, through: RecordNumber) -> io::Result<()> {
        assert!(through.0 <= self.records.len() as u64, "only what was appended can be made durable");
        self.hardened = self.hardened.max(through);
        Ok(())
    }
}
