//! Phases of dies and buses, and the transitions between them.

use std::collections::VecDeque;

use esker_core::Nanos;

use super::super::register::Register;
use super::super::tally::{DieStep, STEPS};
use super::super::{Ended, Performed, Waiter};
use super::group::Group;
use super::layout::Layout;
use super::op::Op;
use super::ops::Queue;
use super::queue::Ready;
use super::{ByEvent, Decoded, Known, NOBODY};
use crate::Gang;
use crate::array::Timing;
use crate::state::{WRITE_MODES, WriteMode};

/// What a die is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// Waiting for control lines before it can do its next pages.
    Commanding,
    /// Cell work before transfers.
    Before,
    /// Waiting for the bus.
    Asking,
    Transfer,
    /// Cell work after transfers, or without any.
    After,
    /// Interrupting a program or an erase.
    Suspending,
    /// Resuming a program or an erase.
    Resuming,
}

impl Phase {
    /// Returns true if a die in this phase may begin an operation. It may only interrupt cell work if it `suspends`.
    #[inline(always)]
    pub(super) fn can_begin(self, suspends: bool) -> bool {
        matches!(self, Self::Idle | Self::Commanding) || (suspends && self == Self::After)
    }
}

/// A suspended operation.
#[derive(Debug)]
pub(super) struct Suspended {
    pub(super) group: Group,
    /// Cell work left.
    pub(super) rest: u64,
    /// Reads with lower numbers are served before it resumes.
    pub(super) reads_before: u64,
}

/// A die.
#[derive(Debug, Default)]
pub(super) struct Die {
    /// Its channel, and its bus.
    pub(super) channel: u32,
    pub(super) bus: u32,
    /// Whether it is in [`Bus::awake`].
    pub(super) awake: bool,
    /// Waiting operations, in the order of pushing.
    pub(super) queue: Queue,
    /// The host reads in `queue`, in the same order; usually few. Not kept if the die serves first in, first out.
    pub(super) host_reads: VecDeque<u32>,
    /// The operations in `queue` that may begin. Kept only if the die serves out of order.
    pub(super) ready: Ready,
    /// Total work of the operations in `queue`.
    pub(super) queued: u64,
    /// Operations under way together.
    pub(super) group: Group,
    /// Index in the group of the next transfer.
    pub(super) turn: usize,
    pub(super) phase: Phase,
    /// When the phase began.
    pub(super) since: u64,
    pub(super) until: u64,
    /// While idle, the operation that it would begin if it had the bus.
    pub(super) wants: Option<u32>,
    pub(super) suspended: Option<Suspended>,
    /// Per plane, the content of its register after the operations under way. Empty if a flash page has one unit.
    pub(super) registers: Vec<Register>,
    /// When it last ended an operation.
    pub(super) ended: u64,
    /// Sum of cell work, transfers, suspending and resuming; counted when they begin.
    pub(super) busy: u64,
    /// Whether `busy` has the phase under way: not if it was set to zero since that began.
    pub(super) is_counted: bool,
}

impl Die {
    /// Creates die `index` of the array, idle.
    pub(super) fn new(layout: &Layout, gang: Gang, index: u32, registers: u32) -> Self {
        let channel = layout.channel_of(index);
        let bus = if gang == Gang::SharedControl { layout.package_of(index) } else { channel };
        Self { channel, bus, registers: vec![Register::Other; registers as usize], ..Self::default() }
    }

    /// Returns this die as it is after a power failure: idle, with an empty queue.
    pub(super) fn stopped(&self) -> Self {
        let registers = vec![Register::Other; self.registers.len()];
        Self { channel: self.channel, bus: self.bus, busy: self.busy, registers, ..Self::default() }
    }

    /// Returns how much time is left, at `now`, of the current phase and of a suspended operation.
    pub(super) fn rest(&self, now: u64) -> u64 {
        let timed = !matches!(self.phase, Phase::Idle | Phase::Commanding | Phase::Asking);
        let phase = if timed { self.until.saturating_sub(now) } else { 0 };
        phase + self.suspended.as_ref().map_or(0, |suspended| suspended.rest)
    }
}

/// Times of an operation, page by page: before, in and after its transfer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) before: u64,
    pub(super) transfer: u64,
    pub(super) after: u64,
}

impl Shape {
    /// Returns the times of every step in every write mode, as far as they are fixed. Computed once, since they are
    /// needed several times per operation.
    pub(super) fn of_modes(timing: &Timing) -> [[Self; STEPS]; WRITE_MODES] {
        WriteMode::ALL.map(|mode| Self::of_steps(timing, mode))
    }

    fn of_steps(timing: &Timing, mode: WriteMode) -> [Self; STEPS] {
        let mut shapes = [Self::default(); STEPS];
        for step in DieStep::ALL {
            let before = match step {
                DieStep::Read | DieStep::ReadSector | DieStep::CopyOut => step.cells(timing, mode),
                DieStep::CopyBackChecked | DieStep::Rewrite => timing.page_read.0,
                _ => 0,
            };
            let (transfer, after) = (step.transfer(timing), step.cells(timing, mode) - before);
            shapes[step as usize] = Self { before, transfer, after };
        }
        shapes
    }

    /// Returns the lengths of the three phases.
    pub(super) fn lengths(&self) -> [u64; 3] {
        [self.before, self.transfer, self.after]
    }

    fn all(self) -> u64 {
        self.before + self.transfer + self.after
    }
}

impl ByEvent {
    #[inline(always)]
    fn shape(&self, op: &Op) -> Shape {
        if op.step == DieStep::ReadAgain {
            let step = &self.timing.decoding_of(op.mode).steps[op.decoding as usize];
            return Shape { before: step.sense, transfer: step.transfer, after: 0 };
        }
        self.shapes[op.mode as usize][op.step as usize]
    }

    /// Returns how long `op` takes without waiting.
    #[inline(always)]
    pub(super) fn work(&self, op: &Op) -> u64 {
        let pages = if op.step == DieStep::ReadAgain { 1 } else { u64::from(op.pages) };
        pages * self.shape(op).all()
    }

    /// Returns how long `op`, which is under way on `die`, takes after its current phase.
    pub(super) fn ahead(&self, die: &Die, op: u32) -> u64 {
        let shape = self.shape(&self.ops[op]);
        let pages = u64::from(self.ops[op].pages).saturating_sub(1) * shape.all();
        let transfers = |turn: usize| (die.group.len() - turn) as u64 * shape.transfer;
        let rest = match die.phase {
            Phase::Commanding => shape.before + transfers(die.turn) + shape.after,
            Phase::Before | Phase::Asking => transfers(die.turn) + shape.after,
            Phase::Transfer => transfers(die.turn + 1) + shape.after,
            _ => 0,
        };
        rest + pages
    }

    /// Begins the next pages of the operations under way on die `index`.
    pub(super) fn begin_pages(&mut self, index: usize, now: u64) {
        self.count_steps(index);
        let leader = self.dies[index].group.leader();
        let shape = self.shape(&self.ops[leader]);
        if shape.before > 0 {
            self.command(index, now);
            self.begin_phase(index, Phase::Before, now, shape.before, leader);
        } else if shape.transfer > 0 {
            self.ask(index, now);
        } else {
            self.command(index, now);
            self.begin_phase(index, Phase::After, now, shape.after, leader);
        }
    }

    /// Counts the steps that die `index` begins.
    #[inline]
    pub(super) fn count_steps(&mut self, index: usize) {
        let group = &self.dies[index].group;
        for turn in 0..group.len() {
            let op = &self.ops[group.member(turn)];
            self.tally.done[op.step as usize][op.cause as usize].steps += 1;
        }
    }

    #[inline(always)]
    fn ask(&mut self, index: usize, now: u64) {
        let die = &mut self.dies[index];
        (die.phase, die.since) = (Phase::Asking, now);
        let op = die.group.member(die.turn);
        self.add_ask(index, op, now);
    }

    /// Begins a phase of length `time`, and counts it as work for `op`.
    #[inline(always)]
    pub(super) fn begin_phase(&mut self, index: usize, phase: Phase, now: u64, time: u64, op: u32) {
        let die = &mut self.dies[index];
        (die.phase, die.since, die.until, die.is_counted) = (phase, now, now + time, true);
        die.busy += time;
        let Op { step, cause, .. } = self.ops[op];
        let done = &mut self.tally.done[step as usize][cause as usize];
        match phase {
            Phase::Transfer => done.transfers += time,
            Phase::Suspending | Phase::Resuming => done.interruptions += time,
            _ => done.cells += time,
        }
        self.ends.add(index, now, time);
    }

    /// Ends the phase of die `index`.
    #[inline(always)]
    pub(super) fn end_phase(&mut self, index: usize, now: u64) {
        self.decide_later(now, index);
        let die = &mut self.dies[index];
        debug_assert_eq!(die.until, now);
        if die.since < now {
            self.audit.die(index, die.since, now);
        }
        match die.phase {
            Phase::Before => self.ask(index, now),
            Phase::Transfer => self.end_transfer(index, now),
            Phase::After => self.end_pages(index, now),
            Phase::Suspending => {
                die.phase = Phase::Idle;
                if let Some(suspended) = &mut die.suspended {
                    suspended.reads_before = self.sequence;
                }
            }
            Phase::Resuming => {
                let rest = die.suspended.take().map_or(0, |suspended| suspended.rest);
                let leader = die.group.leader();
                self.begin_phase(index, Phase::After, now, rest, leader);
            }
            Phase::Idle | Phase::Commanding | Phase::Asking => unreachable!("nothing ends that has no end"),
        }
        self.wake(now, index);
    }

    /// Returns the bus that die `index` uses.
    pub(super) fn bus_of(&self, index: usize) -> usize {
        self.dies[index].bus as usize
    }

    /// Begins the next transfer of die `index`, whose request was removed.
    #[inline(always)]
    pub(super) fn begin_transfer(&mut self, index: usize, now: u64) {
        let die = &self.dies[index];
        let (bus, op, since) = (die.bus as usize, die.group.member(die.turn), die.since);
        let time = self.shape(&self.ops[op]).transfer;
        self.ops[op].bus_wait += now - since;
        self.take_strobes(index, self.ops[op].step.direction(), now);
        let bus = &mut self.buses[bus];
        bus.taken = true;
        bus.busy += time;
        self.begin_phase(index, Phase::Transfer, now, time, op);
    }

    fn end_transfer(&mut self, index: usize, now: u64) {
        let die = &mut self.dies[index];
        let (bus, op, since) = (die.bus as usize, die.group.member(die.turn), die.since);
        die.turn += 1;
        let (last, leader) = (die.turn == die.group.len(), die.group.leader());
        self.buses[bus].taken = false;
        self.audit.bus(bus, since, now);
        self.release_strobes(index, self.ops[op].step.direction(), since, now);
        let after = self.shape(&self.ops[op]).after;
        // A read that was joined with others ends with its own transfer.
        if after == 0 && self.ops[op].pages == 1 {
            self.end_op(op, now);
        }
        match last {
            false => self.ask(index, now),
            true if after == 0 => self.end_pages(index, now),
            true => self.begin_phase(index, Phase::After, now, after, leader),
        }
    }

    /// Ends one page of each operation under way.
    fn end_pages(&mut self, index: usize, now: u64) {
        let die = &mut self.dies[index];
        die.turn = 0;
        let leader = &self.ops[die.group.leader()];
        if leader.pages > 1 {
            for turn in 0..self.dies[index].group.len() {
                self.ops[self.dies[index].group.member(turn)].pages -= 1;
            }
            let leader = &self.ops[self.dies[index].group.leader()];
            match self.shares_strobes() && !leader.asks_first() {
                true => self.dies[index].phase = Phase::Commanding,
                false => self.begin_pages(index, now),
            }
            return;
        }
        (die.phase, die.ended) = (Phase::Idle, now);
        let (members, told) = (die.group.len(), self.shape(leader).after == 0);
        for turn in 0..members {
            let op = self.dies[index].group.member(turn);
            if !told {
                self.end_op(op, now);
            }
            self.ops.free(op);
        }
        self.dies[index].group.clear();
        self.end_of_round(index);
    }

    /// Notifies everything that waits for `op` that it has ended. The operation is kept until its group has ended, too.
    #[inline(always)]
    fn end_op(&mut self, op: u32, now: u64) {
        let ended = &self.ops[op];
        if let Some(tracked) = &mut self.tracked {
            tracked.ended(ended);
        }
        if let Some(performed) = &mut self.performed {
            performed.push(Performed {
                step: ended.step,
                cause: ended.cause,
                mode: ended.mode,
                die: ended.die,
                plane: ended.plane,
                page: ended.touches.page,
                block: ended.touches.block,
                waiter: ended.waiter,
                sequence: ended.sequence,
                begin: Nanos(ended.start),
                end: Nanos(now),
                bus_wait: Nanos(ended.bus_wait),
            });
        }
        let (waiter, start) = (ended.waiter, ended.begun.unwrap_or(ended.start));
        if self.timing.decoding_of(ended.mode).is_on && ended.step.is_decoded() {
            return self.decode(op, now);
        }
        let followers = self.ops.end(op);
        self.known(now, Known { waiter, start, followers });
    }

    /// Sends the page that `op` read to the decoder at `now`.
    fn decode(&mut self, op: u32, now: u64) {
        let ended = &self.ops[op];
        let (waiter, start) = (ended.waiter, ended.begun.unwrap_or(ended.start));
        let decode = self.timing.decoding_of(ended.mode).steps[ended.decoding as usize].decode;
        if ended.more_steps == 0 {
            let known = Known { waiter, start, followers: self.ops.end(op) };
            match decode {
                0 => self.known(now, known),
                _ => self.decoded.set(now + decode, Decoded::Known(known)),
            }
            return;
        }
        let again = Op {
            step: DieStep::ReadAgain,
            decoding: ended.decoding + 1,
            more_steps: ended.more_steps - 1,
            begun: Some(start),
            waits: 1,
            ..ended.clone()
        };
        let again = self.ops.add(again, NOBODY);
        self.ops.replace(op, again);
        self.decoded.set(now + decode, Decoded::Failed(again));
        self.put_back(again);
    }

    /// Ends the decoding of a page: its request, and the operations that wait for it, need not wait any longer.
    #[inline(always)]
    pub(super) fn known(&mut self, now: u64, known: Known) {
        if known.waiter != Waiter::NOBODY {
            self.ended.push(Ended { waiter: known.waiter, start: Nanos(known.start) });
        }
        self.release_all(known.followers, now);
    }
}
