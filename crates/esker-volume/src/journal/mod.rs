//! Journals, which keep the records of maps.

pub(crate) mod disk;
mod shared;

use std::io;
use std::thread::{self, JoinHandle};

use esker_core::Nanos;
use esker_tier::{Record, RecordNumber};

pub use shared::{JournalShare, share};

use crate::queue::Queue;
use crate::signal::Signal;

/// Keeps the records of a map. Its methods never block.
pub trait Journal: Send {
    /// Takes a record of the engine in `layer`: 0 for a single engine, or its place in a stack ([`share`]). Numbers
    /// rise by one. A loss of power may lose the record until a [`harden`](Self::harden) that covers it has ended.
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record);

    /// Starts to make all records up to `through` durable. All of them have been appended.
    fn harden(&mut self, through: RecordNumber);

    /// Hands the journal's operations to its devices, for journals on back ends that collect them.
    fn send(&mut self) {}

    /// Appends to `ended` the hardenings that have ended by `now`, since the last call, or the first error. After an
    /// error nothing more ends.
    fn take_ended(&mut self, now: Nanos, ended: &mut Vec<io::Result<RecordNumber>>);

    /// Returns when [`Self::take_ended`] has to be called next, at the latest, even if nothing ends: never for a
    /// journal that has no limit for its devices.
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }

    /// Returns true while it has work that ends later.
    fn is_busy(&self) -> bool {
        false
    }

    /// Returns what the journal needs of a checkpoint now. One without checkpoints needs nothing.
    fn checkpoint_need(&mut self) -> CheckpointNeed {
        CheckpointNeed::Nothing
    }

    /// Begins a checkpoint that includes the records up to `through`, after [`CheckpointNeed::Begin`].
    fn begin_checkpoint(&mut self, through: RecordNumber) {
        let _ = through;
    }

    /// Adds a record to the checkpoint under way, after [`CheckpointNeed::More`].
    fn add_to_checkpoint(&mut self, layer: u8, record: Record) {
        let _ = (layer, record);
    }

    /// Notes that the checkpoint under way has all of its records.
    fn end_checkpoint(&mut self) {}
}

/// What a journal needs of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointNeed {
    /// Nothing now.
    Nothing,
    /// A checkpoint has to be begun, to make room.
    Begin,
    /// The next records of the checkpoint under way.
    More,
}

/// A journal whose calls block until their work is done. [`DirectJournal`] and [`ThreadedJournal`] turn it into a
/// [`Journal`].
pub trait BlockingJournal: Send {
    /// Appends a record of the engine in `layer`.
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) -> io::Result<()>;

    /// Makes all records up to `through` durable.
    fn harden(&mut self, through: RecordNumber) -> io::Result<()>;
}

/// A journal in memory, for tests and for volumes that need not outlive the process.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Vec<(u8, Record)>,
    hardened: RecordNumber,
}

impl MemoryJournal {
    /// Returns the records of the engine in `layer` that would survive a loss of power.
    pub fn hardened(&self, layer: u8) -> impl Iterator<Item = Record> {
        let survive = self.records[..self.hardened.0 as usize].iter();
        survive.filter(move |(of, _)| *of == layer).map(|&(_, record)| record)
    }
}

impl BlockingJournal for MemoryJournal {
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) -> io::Result<()> {
        self.records.push((layer, record));
        assert_eq!(number.0, self.records.len() as u64, "records come in order");
        Ok(())
    }
    fn harden(&mut self, through: RecordNumber) -> io::Result<()> {
        assert!(through.0 <= self.records.len() as u64, "only what was appended can be made durable");
        self.hardened = self.hardened.max(through);
        Ok(())
    }
}

/// A journal that does its work during the call.
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

    /// Does `work`, unless there has been an error: no record may follow a missing one.
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
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) {
        self.work(|journal| journal.append(number, layer, record), None);
    }
    fn harden(&mut self, through: RecordNumber) {
        self.work(|journal| journal.harden(through), Some(through));
    }
    fn take_ended(&mut self, _: Nanos, ended: &mut Vec<io::Result<RecordNumber>>) {
        ended.append(&mut self.ended);
    }
}

/// A journal that does its work in a thread.
#[derive(Debug)]
pub struct ThreadedJournal {
    work: Queue<Work>,
    ended: Queue<io::Result<RecordNumber>>,
    worker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Work {
    Append(RecordNumber, u8, Record),
    Harden(RecordNumber),
}

impl ThreadedJournal {
    /// Creates a journal that runs `journal` in a thread of its own. The `signal` is given whenever an operation has
    /// ended.
    pub fn new<J: BlockingJournal + 'static>(journal: J, signal: Signal) -> Self {
        let (work, ended) = (Queue::default(), Queue::default());
        let (to_do, done) = (Queue::clone(&work), Queue::clone(&ended));
        let worker = thread::spawn(move || {
            let mut journal = DirectJournal::new(journal);
            while let Some(work) = to_do.next() {
                match work {
                    Work::Append(number, layer, record) => journal.append(number, layer, record),
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
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) {
        self.work.push(Work::Append(number, layer, record));
    }
    fn harden(&mut self, through: RecordNumber) {
        self.work.push(Work::Harden(through));
    }
    fn take_ended(&mut self, _: Nanos, ended: &mut Vec<io::Result<RecordNumber>>) {
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
