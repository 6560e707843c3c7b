//! Where the procedure of a measurement asks for its reads, and gets their times.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use esker_core::{Bytes, Lba, Nanos};

/// A read that the measurement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRead {
    /// How long to wait between the end of the read before it and this one.
    pub pause: Nanos,
    /// First sector of 512 bytes.
    pub start: Lba,
    /// Length in bytes, whole blocks of the disk.
    pub length: Bytes,
}

/// When a read began and ended, by any clock that goes on steadily.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimes {
    /// When it was handed to the disk.
    pub began: Nanos,
    /// When its data had come.
    pub ended: Nanos,
}

/// How far a measurement is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureProgress {
    /// What it is looking for.
    pub stage: &'static str,
    /// Reads so far.
    pub reads: u64,
    /// Reads that it takes in all; an estimate, zero at first.
    pub expected: u64,
}

/// Where the procedure leaves its request, and the driver the answer.
#[derive(Debug, Default)]
pub(super) struct Desk {
    asked: Cell<Option<ProbeRead>>,
    told: Cell<Option<ReadTimes>>,
    progress: Cell<MeasureProgress>,
}

impl Desk {
    /// The read that the procedure waits for.
    pub(super) fn asked(&self) -> Option<ProbeRead> {
        self.asked.get()
    }

    /// Tells the times of that read.
    pub(super) fn tell(&self, times: ReadTimes) {
        self.told.set(Some(times));
    }

    /// How far the procedure is.
    pub(super) fn progress(&self) -> MeasureProgress {
        self.progress.get()
    }

    /// Has `read` performed.
    pub(super) async fn read(&self, read: ProbeRead) -> ReadTimes {
        self.told.set(None);
        self.asked.set(Some(read));
        let answer = poll_fn(|_| self.told.take().map_or(Poll::Pending, Poll::Ready)).await;
        let progress = self.progress.get();
        self.progress.set(MeasureProgress { reads: progress.reads + 1, ..progress });
        answer
    }

    /// Begins another part of the work, of about `reads` reads; `then` are those behind it.
    pub(super) fn begin(&self, stage: &'static str, reads: usize, then: usize) {
        let progress = self.progress.get();
        let expected = if reads == 0 { 0 } else { progress.reads + (reads + then) as u64 };
        self.progress.set(MeasureProgress { stage, expected, ..progress });
    }
}
