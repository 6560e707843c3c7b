//! The journal of a volume: batches of records and checkpoints on two of its devices, or on the one that it has.
//!
//! One batch is under way at a time: it is written to all copies, then these are flushed, and then all who wait for its
//! records are served. Meanwhile the next batch collects what arrives. When half of the ring holds batches that are
//! needed, a checkpoint is written in pieces; once it is durable, the ring before it is free. A copy whose device fails
//! is given up: the superblocks of all other devices say so before anything else becomes durable. Another device, if
//! one has room, then gets a copy with the next checkpoint.

mod checkpoint;
mod device;
mod devices;
mod members;
mod ring;

use std::io;

use esker_core::Nanos;
use esker_tier::{Record, RecordNumber};

use super::{CheckpointNeed, Journal};
use crate::format::{BatchWriter, JournalPlace, SealedBy};
use crate::memory::{Buffer, BufferPool};
use checkpoint::CheckpointUnderWay;
pub(crate) use device::VolumeDevice;
pub(crate) use devices::{Asked, Devices, KEEPERS};
pub(crate) use members::{MemberChange, MemberChanges, MemberEdit, News};
pub(crate) use ring::Ring;

/// A journal on devices.
pub(crate) struct DiskJournal {
    devices: Devices,
    ring: Ring,
    records: BatchWriter,
    /// The record up to which all have to be made durable.
    asked: RecordNumber,
    /// The last durable record.
    durable: RecordNumber,
    batch: Option<BatchUnderWay>,
    checkpoint: Option<CheckpointUnderWay>,
    /// Number of the last checkpoint that was complete.
    checkpoints: u64,
    /// Whether a checkpoint is wanted however much room there is: the last one may be damaged on a device.
    wants_checkpoint: bool,
    pool: BufferPool,
    ended: Vec<io::Result<RecordNumber>>,
    failed: bool,
    /// Whether the next batch waits for room in the ring.
    is_ring_full: bool,
}

/// The batch that is being made durable.
struct BatchUnderWay {
    through: RecordNumber,
    /// The bytes, to be used again.
    buffer: Buffer,
    /// Number of writes, then of flushes, under way.
    left: usize,
    is_flushing: bool,
}

/// What is known of a volume's journal when the volume is opened.
pub(crate) struct JournalState {
    pub(crate) ring: Ring,
    /// The last record.
    pub(crate) through: RecordNumber,
    /// Number of the last complete checkpoint.
    pub(crate) checkpoint: u64,
    /// Whether some of it could be read from one device only.
    pub(crate) is_damaged: bool,
}

impl DiskJournal {
    /// A journal that goes on from `state`, whose records are all durable.
    /// Without a device that may be written to, it takes nothing.
    pub(crate) fn new(devices: Devices, state: JournalState) -> Self {
        let failed = devices.keepers().next().is_none();
        Self {
            devices,
            ring: state.ring,
            records: BatchWriter::default(),
            asked: state.through,
            durable: state.through,
            batch: None,
            checkpoint: None,
            checkpoints: state.checkpoint,
            wants_checkpoint: state.is_damaged,
            pool: BufferPool::default(),
            ended: Vec::new(),
            failed,
            is_ring_full: false,
        }
    }

    /// Does all that can be done now.
    fn go_on(&mut self) {
        let mut ended = Vec::new();
        self.devices.take_ended(&mut ended);
        for (device, asked, result) in ended {
            if result.is_err() && self.devices.all[device].is_live {
                self.devices.fail(device);
            }
            match asked {
                Asked::Superblock => self.devices.superblock_written(),
                Asked::Batch | Asked::BatchFlush => self.batch.as_mut().expect("it is under way").left -= 1,
                Asked::Piece | Asked::PieceFlush => self.checkpoint.as_mut().expect("it is under way").ended(),
            }
        }
        while let Some(device) = self.devices.newly_failed() {
            self.devices.fail(device);
        }
        if self.devices.keepers().next().is_none() && !self.failed {
            self.failed = true;
            self.ended.push(Err(io::Error::other("no device is left that keeps the journal")));
        }
        self.wants_checkpoint |= !self.failed && self.devices.join();
        match self.failed {
            true => self.devices.refuse_asked(),
            false if !self.devices.are_changing() => self.devices.begin_asked(),
            false => {}
        }
        // Nothing becomes durable for the engine before the superblocks say which copies count.
        if self.failed || self.devices.are_changing() {
            return;
        }
        self.end_batch();
        self.begin_batch();
        self.continue_checkpoint();
    }

    /// Flushes the batch under way once it is written; tells those who wait once it is flushed.
    fn end_batch(&mut self) {
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.left == 0) else { return };
        if !batch.is_flushing {
            let copies = self.devices.copies();
            (batch.is_flushing, batch.left) = (true, copies.len());
            copies.into_iter().for_each(|device| self.devices.send(device, Asked::BatchFlush, 0, None));
            return;
        }
        let BatchUnderWay { through, buffer, .. } = self.batch.take().expect("it was looked at");
        self.durable = through;
        self.pool.give(buffer);
        self.ended.push(Ok(through));
    }

    /// Begins to write a batch if somebody waits for records that are not durable.
    pub(super) fn begin_batch(&mut self) {
        if self.batch.is_some() || self.asked <= self.durable || self.records.is_empty() {
            return;
        }
        let length = self.records.bytes(self.ring.batch_max());
        let place = self.ring.take(length as u64);
        self.is_ring_full = place.is_none();
        let Some((number, offset)) = place else { return };
        let copies = self.devices.copies();
        let superblock = &self.devices.all[copies[0]].superblock;
        let (volume, address) = (superblock.volume, superblock.layout.journal_start() + offset);
        let mut buffer = self.pool.take(length);
        let bytes = buffer.get_mut().expect("what a pool gives has one owner");
        let by = SealedBy { volume, address };
        let through = self.records.write(by, self.devices.generation, number, bytes);
        for &device in &copies {
            self.devices.send(device, Asked::Batch, address, Some(buffer.clone()));
        }
        self.batch = Some(BatchUnderWay { through, buffer, left: copies.len(), is_flushing: false });
    }
}

impl Journal for DiskJournal {
    fn append(&mut self, number: RecordNumber, layer: u8, record: Record) {
        self.records.add(number, layer, &record);
    }

    fn harden(&mut self, through: RecordNumber) {
        if through <= self.durable && !self.failed {
            return self.ended.push(Ok(through));
        }
        self.asked = self.asked.max(through);
    }

    fn send(&mut self) {
        self.devices.send_all();
    }

    fn next_event(&self) -> Nanos {
        self.devices.next_event()
    }

    fn take_ended(&mut self, now: Nanos, ended: &mut Vec<io::Result<RecordNumber>>) {
        self.devices.set_time(now);
        self.go_on();
        ended.append(&mut self.ended);
    }

    fn is_busy(&self) -> bool {
        let changes = self.devices.are_changing() || self.devices.changes_are_wanted();
        !self.failed && (self.batch.is_some() || self.checkpoint.is_some() || changes)
    }

    fn checkpoint_need(&mut self) -> CheckpointNeed {
        if !self.failed && !self.devices.are_changing() {
            self.continue_checkpoint();
        }
        match &self.checkpoint {
            _ if self.failed || self.devices.are_changing() => CheckpointNeed::Nothing,
            None if self.ring.is_filling() || self.wants_checkpoint => CheckpointNeed::Begin,
            Some(checkpoint) if checkpoint.takes_more() => CheckpointNeed::More,
            _ => CheckpointNeed::Nothing,
        }
    }

    fn begin_checkpoint(&mut self, through: RecordNumber) {
        let after = JournalPlace { through, batch: self.ring.next, offset: self.ring.head };
        self.wants_checkpoint = false;
        self.asked = self.asked.max(through);
        self.devices.begin_copies();
        self.checkpoint = Some(CheckpointUnderWay::new(self.checkpoints + 1, after));
    }

    fn add_to_checkpoint(&mut self, layer: u8, record: Record) {
        self.checkpoint.as_mut().expect("it was begun").pieces.add(layer, &record);
    }

    fn end_checkpoint(&mut self) {
        self.checkpoint.as_mut().expect("it was begun").is_whole = true;
    }
}
