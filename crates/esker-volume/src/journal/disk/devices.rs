//! The devices of a volume as its journal sees them: where copies lie, and superblocks that say which are believed.

use std::io;

use esker_core::{Bytes, Nanos, RequestKind};

use super::device::{Joining, UnderWay, VolumeDevice};
use super::members::{DeviceNow, MemberChanges, MemberEdit};
use crate::backend::{Backend, Ended, Gather, Operation, OperationData};
use crate::format::{Layout, Member, MemberState};
use crate::memory::Buffer;
use crate::part::Part;

/// What changes in a member, which comes with its index.
type Edit = Box<dyn Fn(usize, &mut Member)>;

/// The devices, and changes of their superblocks.
pub(crate) struct Devices {
    pub(crate) all: Vec<VolumeDevice>,
    pub(crate) generation: u64,
    /// The change of the superblocks that is under way.
    change: Option<Change>,
    /// Changes that the owner of the volume asks for.
    asked: MemberChanges,
    now: Nanos,
}

/// A change of all superblocks. The last ones are written first, and the first ones once these are durable: one of the
/// two is always whole.
struct Change {
    step: ChangeStep,
    /// Number of writes under way.
    left: usize,
    /// Whether there has been another change meanwhile, which is written after this one.
    again: bool,
    /// The device that has grown, if there is one, as it was before. Its own superblocks are written before all others:
    /// where its parts lie is said there alone.
    grown: Option<Grown>,
}

/// The superblocks that a change writes together, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeStep {
    LastOfGrown,
    FirstOfGrown,
    Last,
    First,
}

/// A device that has grown, as it was before.
#[derive(Clone, Copy)]
struct Grown {
    device: usize,
    before: Layout,
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
        let devices = Self { all, generation, change: None, asked: MemberChanges::default(), now: Nanos::ZERO };
        devices.tell_members();
        devices
    }

    /// A handle with which the owner of the volume asks for changes.
    pub(crate) fn changes(&self) -> MemberChanges {
        self.asked.clone()
    }

    /// Returns when something is due: at once if an operation has ended that was not taken yet, otherwise when a device
    /// has to have answered.
    pub(crate) fn next_event(&self) -> Nanos {
        let waits = self.all.iter().filter(|device| device.under_way.count > 0);
        let due = waits.map(|device| {
            let answer = device.under_way.patience.look_at(device.under_way.since);
            device.whole.as_ref().map_or(answer, |whole| whole.next_event().min(answer))
        });
        due.min().unwrap_or(Nanos::NEVER)
    }

    /// Notes that it is `now`. Devices that have not answered in time have failed; one that had failed before may
    /// still have owed an answer.
    pub(crate) fn set_time(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time goes on");
        self.now = now;
        for device in &mut self.all {
            let UnderWay { count, since, patience } = &mut device.under_way;
            let is_late = *count > 0 && patience.is_over(*since, now);
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
        let joins = |device: &VolumeDevice| device.is_live && device.joining.is_under_way();
        let stays = |device: &VolumeDevice| device.superblock.member().state == MemberState::InUse;
        let keepers = self.keepers().filter(|&keeper| stays(&self.all[keeper])).count();
        let count = keepers + self.all.iter().filter(|device| joins(device)).count();
        let can_join = |device: &&mut VolumeDevice| {
            let is_free = device.joining == Joining::No && !device.superblock.member().keeps_journal;
            device.is_live && is_free && stays(device) && device.superblock.layout.has_journal()
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
            self.change_members(|index, member| member.keeps_journal |= joined.contains(&index));
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
            // Otherwise this would cost two locks, several times for each batch of requests.
            if device.under_way.count > 0 {
                whole.take_ended(&mut ended);
            }
            if !ended.is_empty() {
                device.under_way.count -= ended.len() as u32;
                device.under_way.since = self.now;
            }
            into.extend(ended.drain(..).map(|ended| (index, ASKED[ended.id as usize], ended.result)));
            let is_removed = device.superblock.member().state == MemberState::Removed && !device.is_live;
            if is_removed && device.under_way.count == 0 {
                device.whole = None;
            }
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
        if let Some(Change { grown: Some(grown), .. }) = self.change
            && grown.device == device
        {
            self.undo_growth(grown);
        }
        if was_keeper && self.keepers().next().is_some() {
            self.change_members(|index, member| member.keeps_journal &= index != device);
        } else {
            self.tell_members();
        }
    }

    /// Begins a change that the owner of the volume has asked for.
    pub(crate) fn begin_asked(&mut self) {
        let Some(asked) = self.asked.begin() else { return };
        let mut grown = None;
        let edit: Edit = match asked.edit {
            MemberEdit::None => Box::new(|_, _| {}),
            MemberEdit::Join(mut device) => {
                let new = *device.superblock.member();
                self.all.iter_mut().for_each(|device| device.superblock.members.push(new));
                // The others may have changed since the device was prepared.
                device.superblock.members.clone_from(&self.all[0].superblock.members);
                self.all.push(*device);
                Box::new(|_, _| {})
            }
            // Devices may have failed since the change was asked for.
            MemberEdit::Grow { device, .. } if !self.all[device].is_live => {
                self.asked.fail("the device has failed".to_string());
                return self.asked.end();
            }
            MemberEdit::State { device, state: MemberState::Removed }
                if !self.keepers().any(|keeper| keeper != device) =>
            {
                self.asked.fail("no other device keeps the map any more".to_string());
                return self.asked.end();
            }
            MemberEdit::Grow { device, layout } => {
                let before = std::mem::replace(&mut self.all[device].superblock.layout, layout);
                grown = Some(Grown { device, before });
                Box::new(move |index, member| {
                    if index == device {
                        member.data = Bytes(layout.data_length);
                    }
                })
            }
            MemberEdit::State { device, state } => Box::new(move |index, member| {
                if index == device {
                    member.state = state;
                    member.keeps_journal &= state != MemberState::Removed;
                }
            }),
        };
        self.all.iter_mut().for_each(|device| device.superblock.settings.clone_from(&asked.settings));
        self.edit_members(edit);
        self.begin_change(grown);
    }

    /// Returns true if the owner of the volume waits for a change.
    pub(crate) fn changes_are_wanted(&self) -> bool {
        self.asked.are_wanted()
    }

    /// Refuses what the owner of the volume has asked for, because nothing can be written any more.
    pub(crate) fn refuse_asked(&self) {
        self.asked.refuse("no device is left that could be written to");
    }

    /// Changes the members in all superblocks, and begins to write these.
    fn change_members(&mut self, edit: impl Fn(usize, &mut Member)) {
        self.edit_members(edit);
        match &mut self.change {
            Some(change) => change.again = true,
            None => self.begin_change(None),
        }
    }

    fn edit_members(&mut self, edit: impl Fn(usize, &mut Member)) {
        self.generation += 1;
        for device in &mut self.all {
            device.superblock.generation = self.generation;
            device.superblock.members.iter_mut().enumerate().for_each(|(index, member)| edit(index, member));
        }
        self.tell_members();
    }

    /// Takes back that a device has grown, because its own superblocks could not be written.
    fn undo_growth(&mut self, Grown { device, before }: Grown) {
        self.all[device].superblock.layout = before;
        let undo = |index, member: &mut Member| {
            if index == device {
                member.data = Bytes(before.data_length);
            }
        };
        self.change_members(undo);
        self.change.as_mut().expect("it is under way").grown = None;
        self.asked.fail("its superblocks cannot be written".to_string());
    }

    fn begin_change(&mut self, grown: Option<Grown>) {
        self.begin_step(if grown.is_some() { ChangeStep::LastOfGrown } else { ChangeStep::Last }, grown);
    }

    /// Begins to write the superblocks of a step. Without a live device, nothing can be changed any more.
    fn begin_step(&mut self, step: ChangeStep, grown: Option<Grown>) {
        let is_part = |&index: &usize| match grown {
            Some(Grown { device, .. }) if matches!(step, ChangeStep::LastOfGrown | ChangeStep::FirstOfGrown) => {
                index == device
            }
            _ => true,
        };
        let live = (0..self.all.len()).filter(|&index| self.all[index].is_live);
        let devices: Vec<usize> = live.filter(is_part).collect();
        if devices.is_empty() {
            self.change = None;
            return self.refuse_asked();
        }
        self.change = Some(Change { step, left: devices.len(), again: false, grown });
        let copy = usize::from(matches!(step, ChangeStep::LastOfGrown | ChangeStep::Last));
        for index in devices {
            let superblock = &self.all[index].superblock;
            let address = superblock.layout.superblocks()[copy];
            let buffer = Buffer::from(superblock.encode(address));
            self.send(index, Asked::Superblock, address, Some(buffer));
        }
    }

    /// Notes that the write of a superblock has ended. If it has failed, so has its device ([`Self::fail`]).
    pub(crate) fn superblock_written(&mut self) {
        let change = self.change.as_mut().expect("a change is under way");
        change.left -= 1;
        if change.left > 0 {
            return;
        }
        let Change { step, again, grown, .. } = *change;
        match step {
            _ if again => self.begin_change(grown),
            ChangeStep::LastOfGrown => self.begin_step(ChangeStep::FirstOfGrown, grown),
            // From here on, all superblocks may say that it has grown: its own ones do.
            ChangeStep::FirstOfGrown => self.begin_step(ChangeStep::Last, None),
            ChangeStep::Last => self.begin_step(ChangeStep::First, None),
            ChangeStep::First => self.end_change(),
        }
    }

    fn end_change(&mut self) {
        self.change = None;
        for device in &mut self.all {
            if device.superblock.member().state == MemberState::Removed {
                (device.is_live, device.joining) = (false, Joining::No);
            }
        }
        self.tell_members();
        self.asked.end();
    }

    /// Tells the owner of the volume how its devices are.
    fn tell_members(&self) {
        let now = |VolumeDevice { superblock, .. }: &VolumeDevice| DeviceNow {
            member: *superblock.member(),
            layout: superblock.layout,
        };
        self.asked.tell(self.generation, self.all.iter().map(now).collect());
    }

    /// Returns true while superblocks are being changed.
    pub(crate) fn are_changing(&self) -> bool {
        self.change.is_some()
    }
}
