//! Journals: they keep the records of a map.

use std::io;
use std::thread::{self, JoinHandle};

use esker_tier::{MapRecord, RecordNumber};

use crate::queue::Queue;
use crate::signal::Signal;

/// Keeps the records of a map. Its methods never block.
pub trait Journal: Send {
    /// Takes a record; numbers rise by one. The record may be lost with the power until a [`harden`](Self::harden) that
    /// covers it has ended.
    fn append(&mut self, number: RecordNumber, record: MapRecord);

    /// Asks to make durable all records up to `through`, all of which have been appended.
    fn harden(&mut self, through: RecordNumber);

    /// Appends the hardenings that have ended since the last call, or the first error. Nothing ends after an error.
    fn take_ended(&mut self, ended: &mut Vec<io::Result<RecordNumber>>);
}

/// A journal whose calls return after the work. [`DirectJournal`] and [`ThreadedJournal`] turn it into a [`Journal`].
pub trait BlockingJournal: Send {
    /// Appends a record.
    fn append(&mut self, number: RecordNumber, record: MapRecord) -> io::Result<()>;

    /// Makes all records up to `through` durable.
    fn harden(&mut self, through: RecordNumber) -> io::Result<()>;
}

/// A journal in memory: for tests, and for volumes that need not survive the process.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Vec<MapRecord>,
    hardened: RecordNumber,
}

impl MemoryJournal {
    /// The records that would survive a loss of power.
    pub fn hardened(&self) -> &[MapRecord] {
        &self.records[..self.hardened.0 as usize]
    }
}

impl BlockingJournal for MemoryJournal {
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

/// A journal that does its work at once, when it is called.
#[derive(Debug, Default)]
pub struct DirectJournal<J> {
    journal: J,
    failed: bool,
    ended: Vec<io::Result<RecordNumber>>,
}

impl<J: BlockingJournal> DirectJournal<J> {
    /// A journal over `journal`.
    pub fn new(journal: J) -> Self {
        Self { journal, failed: false, ended: Vec::new() }
    }

    /// Does nothing after an error: no record may follow one that is missing.
    fn work(&mut self, work: impl FnOnce(&mut J) -> io::Result<()>, hardened: Option<RecordNumber>) {
        if self.failed {
            return;
        }
        match (work(&mut self.journal), hardened) {
            (Err(error), _) => {
                self.failed = true;
                self.ended.push(Err(error));
            }
            (Ok(()), Some(through)) => self.ended.push(Ok(through)),
            (Ok(()), None) => {}
        }
    }
}

impl<J: BlockingJournal> Journal for DirectJournal<J> {
    fn append(&mut self, number: RecordNumber, record: MapRecord) {
        self.work(|journal| journal.append(number, record), None);
    }
    fn harden(&mut self, through: RecordNumber) {
        self.work(|journal| journal.harden(through), Some(through));
    }
    fn take_ended(&mut self, ended: &mut Vec<io::Result<RecordNumber>>) {
        ended.append(&mut self.ended);
    }
}

/// A journal whose work is done by a thread.
#[derive(Debug)]
pub struct ThreadedJournal {
    work: Queue<Work>,
    ended: Queue<io::Result<RecordNumber>>,
    worker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Work {
    Append(RecordNumber, MapRecord),
    Harden(RecordNumber),
}

impl ThreadedJournal {
    /// A journal over `journal`. `signal` is given whenever an operation has ended.
    pub fn new<J: BlockingJournal + 'static>(journal: J, signal: Signal) -> Self {
        let (work, ended) = (Queue::default(), Queue::default());
        let (to_do, done) = (Queue::clone(&work), Queue::clone(&ended));
        let worker = thread::spawn(move || {
            let mut journal = DirectJournal::new(journal);
            while let Some(work) = to_do.next() {
                match work {
                    Work::Append(number, record) => journal.append(number, record),
                    Work::Harden(through) => journal.harden(through),
                }
                for ended in journal.ended.drain(..) {
                    done.push(ended);
                    signal.give();
                }
            }
        });
        Self { work, ended, worker: Some(worker) }
    }
}

impl Journal for ThreadedJournal {
    fn append(&mut self, number: RecordNumber, record: MapRecord) {
        self.work.push(Work::Append(number, record));
    }
    fn harden(&mut self, through: RecordNumber) {
        self.work.push(Work::Harden(through));
    }
    fn take_ended(&mut self, ended: &mut Vec<io::Result<RecordNumber>>) {
        self.ended.take_all(ended);
    }
}

impl Drop for ThreadedJournal {
    fn drop(&mut self) {
        self.work.close();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
