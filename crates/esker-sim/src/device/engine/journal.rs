//! The time that a journal on the children takes.

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind};
use esker_tier::{Input, Record, RecordNumber};

use super::child_io::{EngineChildren, Whose};
use super::syncs::ChildSyncs;

/// Children that keep the journal, as of a volume.
const KEEPERS: usize = 2;
/// A batch is written in whole blocks of this size, and begins with a header.
const BLOCK: u64 = 4096;
const HEADER: u64 = 64;
/// Batches are written one after the other into this many bytes at the beginning of a child, and then from there again.
const RING: u64 = 1 << 20;

/// A journal as volumes have it, without its checkpoints: a batch is written to two children, which are then flushed.
/// Engines ask for one batch at a time; meanwhile the next one collects records.
#[derive(Debug)]
pub(super) struct ChildJournal {
    /// The last record, and how many are in no batch yet.
    last: RecordNumber,
    waiting: u64,
    /// Where the next batch goes.
    offset: u64,
    batch: Option<Batch>,
    /// Whether no child keeps it any more.
    failed: bool,
    /// Which children have joined and not failed.
    present: Vec<bool>,
    /// Which children may keep it.
    may_keep: Vec<bool>,
    pub(super) syncs: ChildSyncs,
    /// What the engine has not been told yet.
    pub(super) answers: VecDeque<Input>,
}

#[derive(Debug)]
struct Batch {
    through: RecordNumber,
    is_flushing: bool,
    /// Number of writes, then of flushes, under way.
    left: usize,
    /// Children that have done theirs.
    done: Vec<usize>,
}

impl ChildJournal {
    /// Of children of which some may keep it. The first `joined` are there.
    pub(super) fn new(may_keep: Vec<bool>, joined: usize) -> Self {
        let children = may_keep.len();
        Self {
            may_keep,
            last: RecordNumber::default(),
            waiting: 0,
            offset: 0,
            batch: None,
            failed: false,
            present: (0..children).map(|child| child < joined).collect(),
            syncs: ChildSyncs::of(children),
            answers: VecDeque::new(),
        }
    }

    /// A child joins, or fails.
    pub(super) fn set_present(&mut self, child: usize, is_present: bool) {
        self.present[child] = is_present;
    }

    pub(super) fn append(&mut self, number: RecordNumber) {
        self.last = number;
        self.waiting += 1;
    }

    /// Makes all records so far durable. None of this may be under way (asserted).
    pub(super) fn harden(&mut self, children: &mut EngineChildren, now: Nanos) {
        assert!(self.batch.is_none(), "an engine waits for the answer before it asks again");
        if self.failed {
            return;
        }
        let length = (HEADER + self.waiting * Record::ENCODED as u64).next_multiple_of(BLOCK);
        let start = Lba::containing(if self.offset + length > RING { 0 } else { self.offset });
        (self.offset, self.waiting) = (start.byte_offset() + length, 0);
        self.batch = Some(Batch { through: self.last, is_flushing: false, left: 0, done: Vec::new() });
        let takes = |&child: &usize| {
            let is_there = self.present[child] && children.device(child).telemetry().state == DeviceState::Online;
            self.may_keep[child] && is_there
        };
        let keepers: Vec<usize> = (0..self.present.len()).filter(takes).take(KEEPERS).collect();
        self.send(children, now, &keepers, Request::new(RequestKind::Write { fua: false }, start, Bytes(length)));
    }

    /// Sends what the batch needs next to these children.
    fn send(&mut self, children: &mut EngineChildren, now: Nanos, keepers: &[usize], request: Request) {
        if keepers.is_empty() {
            (self.batch, self.failed) = (None, true);
            return self.answers.push_back(Input::JournalFailed);
        }
        self.batch.as_mut().expect("it was begun").left = keepers.len();
        for &child in keepers {
            self.syncs.submit(children, now, child, Whose::Journal, request);
        }
    }

    /// A write or flush of the batch under way has ended. A child on which it fails has no part in this batch any more.
    pub(super) fn ended(
        &mut self,
        children: &mut EngineChildren,
        now: Nanos,
        child: usize,
        result: Result<(), DeviceError>,
    ) {
        let batch = self.batch.as_mut().expect("this is a part of it");
        batch.left -= 1;
        batch.done.extend(result.is_ok().then_some(child));
        if batch.left > 0 {
            return;
        }
        let (keepers, through) = (std::mem::take(&mut batch.done), batch.through);
        if keepers.is_empty() || !std::mem::replace(&mut batch.is_flushing, true) {
            return self.send(children, now, &keepers, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
        }
        self.batch = None;
        self.answers.push_back(Input::Durable { through });
    }
}
