//! Where the procedure of a measurement requests its reads, and receives their times.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use esker_core::{Bytes, Lba, Nanos};

/// A read that the measurement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRead {
    /// How long to wait from the end of the previous read to the start of this one.
    pub pause: Nanos,
    /// First sector of 512 bytes.
    pub start: Lba,
    /// Length in bytes, whole blocks of the disk.
    pub length: Bytes,
}

/// When a read began and ended, by any monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimes {
    /// When the read was handed to the disk.
    pub began: Nanos,
    /// When the data had arrived.
    pub ended: Nanos,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureProgress {
    /// What the measurement is looking for.
    pub stage: &'static str,
    /// Reads so far.
    pub reads: u64,
    /// Estimated number of reads in all; zero at first.
    pub expected: u64,
}

/// Where the procedure leaves its request, and the driver its answer.
#[derive(Debug, Default)]
pub(super) struct Desk {
    asked: Cell<Option<ProbeRead>>,
    told: Cell<Option<ReadTimes>>,
    progress: Cell<MeasureProgress>,
}

impl Desk {
    /// Returns the read that the procedure waits for.
    pub(super) fn asked(&self) -> Option<ProbeRead> {
        self.asked.get()
    }

    /// Provides the times of that read.
    pub(super) fn tell(&self, times: ReadTimes) {
        self.told.set(Some(times));
    }

    /// Returns the progress of the procedure.
    pub(super) fn progress(&self) -> MeasureProgress {
        self.progress.get()
    }

    /// Requests `read` and waits for its times.
    pub(super) async fn read(&self, read: ProbeRead) -> ReadTimes {
        self.told.set(None);
        self.asked.set(Some(read));
        let answer = poll_fn(|_| self.told.take().map_or(Poll::Pending, Poll::Ready)).await;
        let progress = self.progress.get();
        self.progress.set(MeasureProgress { reads: progress.reads + 1, ..progress });
        answer
    }

    /// Begins another stage of the work, which takes about `reads` reads. The stages after it take about `then`.
    pub(super) fn begin(&self, stage: &'static str, reads: usize, then: usize) {
        let progress = self.progress.get();
        let expected = if reads == 0 { 0 } else { progress.reads + (reads + then) as u64 };
        self.progress.set(MeasureProgress { stage, expected, ..progress });
    }
}
