//! The devices of a volume as its journal sees them: where copies lie, and superblocks that say which are believed.

use std::io;

use esker_core::{Nanos, RequestKind};

use crate::backend::{Backend, Ended, Gather, Operation, OperationData};
use crate::format::Superblock;
use crate::memory::Buffer;
use crate::part::Part;
use crate::store::ANSWER_LIMIT;

/// A device of a volume.
pub(crate) struct VolumeDevice {
    /// All of the device; `None` if it is missing.
    pub(crate) whole: Option<Part>,
    /// Whether something is still written to it.
    pub(crate) is_live: bool,
    /// Whether it is becoming a device that keeps journal and checkpoints.
    pub(crate) joining: Joining,
    under_way: UnderWay,
    /// Its superblock.
    pub(crate) superblock: Superblock,
}

/// The operations of a device that are under way.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    count: u32,
    /// Since when none of them has ended.
    since: Nanos,
}

impl VolumeDevice {
    /// A device whose superblock says whether it keeps the journal; without `whole`, it is missing.
    pub(crate) fn new(whole: Option<Part>, is_live: bool, superblock: Superblock) -> Self {
        Self { whole, is_live, joining: Joining::No, under_way: UnderWay::default(), superblock }
    }
}

/// How far a device is on its way to keep journal and checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// It is on no such way.
    No,
    /// The next checkpoint is written to it, too.
    WithNextCheckpoint,
    /// Checkpoint and journal are written to it, too. Once the checkpoint is complete, it is believed.
    Copying,
}

/// The devices, and changes of their superblocks.
pub(crate) struct Devices {
    pub(crate) all: Vec<VolumeDevice>,
    pub(crate) generation: u64,
    /// The change of the superblocks that is under way.
    change: Option<Change>,
    now: Nanos,
}

/// A change of all superblocks. The last ones are written first, and the first ones once these are durable: one of the
/// two is always whole.
struct Change {
    /// Which of the two is being written.
    copy: usize,
    /// Number of writes under way.
    left: usize,
    /// Whether there has been another change meanwhile, which is written after this one.
    again: bool,
}

/// What a device is asked for, as the identifier of the operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Superblock,
    Batch,
    BatchFlush,
    Piece,
    PieceFlush,
}

/// How many devices keep journal and checkpoints, if there is room on that many.
pub(crate) const KEEPERS: usize = 2;

const ASKED: [Asked; 5] = [Asked::Superblock, Asked::Batch, Asked::BatchFlush, Asked::Piece, Asked::PieceFlush];

impl Devices {
    /// Devices whose superblocks are of one generation.
    pub(crate) fn new(all: Vec<VolumeDevice>) -> Self {
        let generation = all.iter().map(|device| device.superblock.generation).max().unwrap_or(0);
        Self { all, generation, change: None, now: Nanos::ZERO }
    }

    /// Returns when a device has to have answered.
    pub(crate) fn answer_by(&self) -> Nanos {
        let waits = self.all.iter().filter(|device| device.under_way.count > 0);
        waits.map(|device| device.under_way.since + ANSWER_LIMIT).min().unwrap_or(Nanos::NEVER)
    }

    /// Notes that it is `now`. Devices that have not answered in time have failed; one that had failed before may
    /// still have owed an answer.
    pub(crate) fn set_time(&mut self, now: Nanos) {
        self.now = now;
        for device in &mut self.all {
            let is_late = device.under_way.count > 0 && device.under_way.since + ANSWER_LIMIT <= now;
            if let (Some(whole), true) = (&mut device.whole, is_late) {
                whole.abandon();
            }
        }
    }

    /// Indices of the devices that keep journal and checkpoints.
    pub(crate) fn keepers(&self) -> impl Iterator<Item = usize> + '_ {
        let keeps = |device: &VolumeDevice| device.is_live && device.superblock.member().keeps_journal;
        (0..self.all.len()).filter(move |&index| keeps(&self.all[index]))
    }

    /// Indices of the devices to which journal and checkpoints are written. The first one keeps them.
    pub(crate) fn copies(&self) -> Vec<usize> {
        let joins = |&index: &usize| self.all[index].is_live && self.all[index].joining == Joining::Copying;
        self.keepers().chain((0..self.all.len()).filter(joins)).collect()
    }

    /// Has devices become keepers until there are as many as there should be, as far as there is room. Returns true if
    /// a checkpoint is needed for that.
    pub(crate) fn join(&mut self) -> bool {
        let joins = |device: &VolumeDevice| device.is_live && device.joining != Joining::No;
        let count = self.keepers().count() + self.all.iter().filter(|device| joins(device)).count();
        let can_join = |device: &&mut VolumeDevice| {
            let is_free = device.joining == Joining::No && !device.superblock.member().keeps_journal;
            device.is_live && is_free && device.superblock.layout.has_journal()
        };
        let new = self.all.iter_mut().filter(can_join).take(KEEPERS.saturating_sub(count));
        new.for_each(|device| device.joining = Joining::WithNextCheckpoint);
        self.all.iter().any(|device| device.is_live && device.joining == Joining::WithNextCheckpoint)
    }

    /// Notes that a checkpoint begins: devices that wait for one are written to from now on.
    pub(crate) fn begin_copies(&mut self) {
        for device in self.all.iter_mut().filter(|device| device.joining == Joining::WithNextCheckpoint) {
            device.joining = Joining::Copying;
        }
    }

    /// Notes that a checkpoint is complete: the devices that have joined with it are believed from now on.
    pub(crate) fn believe_copies(&mut self) {
        let joins = |device: &VolumeDevice| device.is_live && device.joining == Joining::Copying;
        let joined: Vec<usize> = (0..self.all.len()).filter(|&index| joins(&self.all[index])).collect();
        for &index in &joined {
            self.all[index].joining = Joining::No;
        }
        if !joined.is_empty() {
            self.change(|member| if joined.contains(&member) { Some(true) } else { None });
        }
    }

    /// Sends a write of `buffer` to byte `address` of a device, or a flush if there is no buffer.
    pub(crate) fn send(&mut self, device: usize, asked: Asked, address: u64, buffer: Option<Buffer>) {
        let VolumeDevice { whole, under_way, .. } = &mut self.all[device];
        let whole = whole.as_mut().expect("a live device is there");
        under_way.since = if under_way.count == 0 { self.now } else { under_way.since };
        under_way.count += 1;
        let fua = asked == Asked::Superblock;
        let operation = match buffer {
            None => Operation::new(RequestKind::Flush, 0, 0, OperationData::None),
            Some(buffer) => {
                let length = buffer.len() as u64;
                let data = OperationData::Take(Gather::whole(buffer));
                Operation::new(RequestKind::Write { fua }, address, length, data)
            }
        };
        let code = ASKED.iter().position(|&other| other == asked).expect("all are listed");
        whole.submit(self.now, code as u64, operation);
    }

    /// Has the back ends hand on what they have got.
    pub(crate) fn send_all(&mut self) {
        self.all.iter_mut().filter_map(|device| device.whole.as_mut()).for_each(Backend::send);
    }

    /// Appends what has ended: the device, what it was asked for, and the result.
    pub(crate) fn take_ended(&mut self, into: &mut Vec<(usize, Asked, io::Result<()>)>) {
        let mut ended: Vec<Ended> = Vec::new();
        for (index, device) in self.all.iter_mut().enumerate() {
            let Some(whole) = &mut device.whole else { continue };
            whole.take_ended(&mut ended);
            if !ended.is_empty() {
                device.under_way = UnderWay { count: device.under_way.count - ended.len() as u32, since: self.now };
            }
            into.extend(ended.drain(..).map(|ended| (index, ASKED[ended.id as usize], ended.result)));
        }
    }

    /// Returns a live device that has failed to make data durable, or has not answered.
    pub(crate) fn newly_failed(&self) -> Option<usize> {
        let has_failed = |whole: &Part| whole.failure().is_some();
        self.all.iter().position(|device| device.is_live && device.whole.as_ref().is_some_and(has_failed))
    }

    /// Gives `device` up: nothing more is written to it. If other devices keep the journal, the superblocks say that
    /// its copy is no longer believed. What is in its data stays true: only durable data are in the map.
    pub(crate) fn fail(&mut self, device: usize) {
        let was_keeper = self.keepers().any(|keeper| keeper == device);
        self.all[device].is_live = false;
        self.all[device].joining = Joining::No;
        if was_keeper && self.keepers().next().is_some() {
            self.change(|member| (member == device).then_some(false));
        }
    }

    /// Changes in all superblocks which devices keep the journal: `keeps` says so for those that change.
    fn change(&mut self, keeps: impl Fn(usize) -> Option<bool>) {
        self.generation += 1;
        for device in &mut self.all {
            device.superblock.generation = self.generation;
            for (index, member) in device.superblock.members.iter_mut().enumerate() {
                member.keeps_journal = keeps(index).unwrap_or(member.keeps_journal);
            }
        }
        match &mut self.change {
            Some(change) => change.again = true,
            None => self.begin_change(0),
        }
    }

    /// Begins to write the superblocks; `copy` is 0 for the last ones, 1 for the first ones.
    fn begin_change(&mut self, copy: usize) {
        let live: Vec<usize> = (0..self.all.len()).filter(|&index| self.all[index].is_live).collect();
        self.change = (!live.is_empty()).then_some(Change { copy, left: live.len(), again: false });
        for index in live {
            let superblock = &self.all[index].superblock;
            let address = superblock.layout.superblocks()[1 - copy];
            let buffer = Buffer::from(superblock.encode(address));
            self.send(index, Asked::Superblock, address, Some(buffer));
        }
    }

    /// Notes that the write of a superblock has ended. If it has failed, so has its device ([`Self::fail`]).
    pub(crate) fn superblock_written(&mut self) {
        let change = self.change.as_mut().expect("a change is under way");
        change.left -= 1;
        if change.left == 0 {
            match (change.copy, change.again) {
                (_, true) => self.begin_change(0),
                (0, false) => self.begin_change(1),
                _ => self.change = None,
            }
        }
    }

    /// Returns true while superblocks are being changed.
    pub(crate) fn are_changing(&self) -> bool {
        self.change.is_some()
    }
}
