//! What an idle die begins with, and what it does along with it.

use std::ops::Range;

use super::ByEvent;
use super::op::{Op, Touch};
use super::phases::{Phase, Suspended};
use crate::array::register::{Register, Use};
use crate::array::tally::Step;
use crate::{MultiPlane, Scheduling};

/// A transfer that a die asks for; the least of several is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    since: u64,
    sequence: u64,
    pub(super) die: usize,
    pub(super) op: u32,
}

/// What operations touch that were passed over: what conflicts with it has to keep its place.
#[derive(Default)]
struct PassedOver {
    touched: Vec<Touch>,
}

impl PassedOver {
    fn add(&mut self, op: &Op) {
        self.touched.push(op.touches);
        self.touched.extend(op.also);
    }

    /// Whether `op` may go ahead of all that was passed over.
    fn lets_pass(&self, op: &Op) -> bool {
        let stops =
            |touch: &Touch| op.touches.conflicts_with(touch) || op.also.is_some_and(|also| also.conflicts_with(touch));
        op.may_begin() && !self.touched.iter().any(stops)
    }
}

impl ByEvent {
    /// Lets each of `dies` begin something, where it can. Says whether anything changed.
    pub(super) fn pick_all(&mut self, dies: Range<u32>, now: u64) -> bool {
        let mut changed = false;
        for die in dies {
            changed |= self.pick(die as usize, now);
        }
        changed
    }

    /// Lets die `index` begin something, where it can. Says whether anything changed.
    fn pick(&mut self, index: usize, now: u64) -> bool {
        let waits = self.waits_for_control(index, now);
        match self.dies[index].phase {
            Phase::Idle if waits && self.dies[index].suspended.is_some() => false,
            Phase::Idle if self.dies[index].suspended.is_some() => {
                match self.next_host_read(index) {
                    Some(position) => self.begin(index, position, now, now),
                    None => self.resume(index, now),
                }
                true
            }
            Phase::Idle => {
                let Some(position) = self.choose(index) else {
                    self.dies[index].wants = None;
                    return false;
                };
                let op = self.dies[index].queue[position];
                if self.ops[op].asks_first() {
                    let die = &mut self.dies[index];
                    if die.wants != Some(op) {
                        (die.wants, die.since) = (Some(op), now);
                    }
                    return false;
                }
                if !waits {
                    self.begin(index, position, now, now);
                }
                !waits
            }
            Phase::Commanding if !waits => {
                self.begin_pages(index, now);
                true
            }
            Phase::After if !waits => self.suspend(index, now),
            _ => false,
        }
    }

    /// What die `die` asks to transfer.
    pub(super) fn ask_of(&self, die: u32) -> Option<Ask> {
        let index = die as usize;
        let state = &self.dies[index];
        let op = match state.phase {
            Phase::Asking => state.group[state.turn],
            Phase::Idle => state.wants?,
            _ => return None,
        };
        Some(Ask { since: state.since, sequence: self.ops[op].sequence, die: index, op })
    }

    /// Gives the bus of `dies`, where it is free, to the one that asked first. Says whether any did.
    pub(super) fn grant(&mut self, dies: Range<u32>, now: u64) -> bool {
        if self.buses[self.bus_of(dies.start as usize)].taken {
            return false;
        }
        let first = dies.filter_map(|die| self.ask_of(die)).min();
        first.into_iter().for_each(|ask| self.give(ask, now));
        first.is_some()
    }

    /// Begins the transfer that is asked for.
    pub(super) fn give(&mut self, ask: Ask, now: u64) {
        let Ask { since, die, op, .. } = ask;
        if self.dies[die].wants.is_some() {
            let position = self.dies[die].queue.iter().position(|other| *other == op).expect("it waits");
            self.begin(die, position, since, now);
        }
        self.begin_transfer(die, now);
    }

    /// Which of the operations that wait die `index` begins with, as a position in its queue.
    pub(super) fn choose(&self, index: usize) -> Option<usize> {
        let queue = &self.dies[index].queue;
        match self.settings.scheduling {
            Scheduling::Fifo => queue.front().filter(|op| self.ops[**op].may_begin()).map(|_| 0),
            Scheduling::ReadsFirst => self.next_host_read(index).or_else(|| {
                let mut passed = PassedOver::default();
                let first = queue.iter().position(|op| {
                    let op = &self.ops[*op];
                    if op.is_host_read() {
                        passed.add(op);
                    }
                    !op.is_host_read()
                })?;
                passed.lets_pass(&self.ops[queue[first]]).then_some(first)
            }),
            Scheduling::OutOfOrder => {
                let taken = self.transfer_would_wait(index);
                let mut passed = PassedOver::default();
                let mut would_wait = None;
                for (position, op) in queue.iter().enumerate() {
                    let op = &self.ops[*op];
                    if passed.lets_pass(op) {
                        if !(op.asks_first() && taken) {
                            return Some(position);
                        }
                        would_wait = would_wait.or(Some(position));
                    }
                    passed.add(op);
                }
                would_wait
            }
        }
    }

    /// What nothing may go ahead of that conflicts with it, beside what waits: what is under way or suspended. With the
    /// number below which reads are served before what is suspended goes on.
    fn held(&self, index: usize) -> (PassedOver, u64) {
        let die = &self.dies[index];
        let mut passed = PassedOver::default();
        die.group.iter().for_each(|op| passed.add(&self.ops[*op]));
        let Some(suspended) = &die.suspended else { return (passed, u64::MAX) };
        suspended.group.iter().for_each(|op| passed.add(&self.ops[*op]));
        (passed, suspended.reads_before)
    }

    /// The first read for the host that may begin now; while something is suspended, only such as waited by then. Each
    /// of them waits for all that it must not pass.
    fn next_host_read(&self, index: usize) -> Option<usize> {
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        let may_begin = |op: &&u32| self.ops[**op].may_begin() && self.ops[**op].sequence < limit;
        let sequence = self.ops[*die.host_reads.iter().find(may_begin)?].sequence;
        Some(die.queue.partition_point(|op| self.ops[*op].sequence < sequence))
    }

    /// Takes the operation at `position`, and all that is joined with it, and begins its pages.
    pub(super) fn begin(&mut self, index: usize, position: usize, start: u64, now: u64) {
        let positions = self.joined(index, position);
        let work: u64 = positions.iter().map(|at| self.work(&self.ops[self.dies[index].queue[*at]])).sum();
        let die = &mut self.dies[index];
        die.wants = None;
        die.turn = 0;
        die.queued -= work;
        die.group.clear();
        for at in &positions {
            die.group.push(die.queue[*at]);
        }
        for at in positions.iter().rev() {
            die.queue.remove(*at);
        }
        for op in &die.group {
            let state = &mut self.ops[*op];
            state.start = start.max(state.arrived);
            state.bus_wait = now - state.start;
            if let Some(followed) = &mut self.followed {
                followed.begun(state);
            }
            if state.is_host_read() {
                die.host_reads.retain(|read| read != op);
            }
        }
        if !self.dies[index].registers.is_empty() {
            self.go_through_registers(index);
        }
        self.begin_pages(index, now);
    }

    /// What `op` does with the register of its plane.
    fn use_of(&self, op: &Op) -> Use {
        let copies = matches!(op.step, Step::CopyOut | Step::CopyOutHeld);
        match op.step {
            step if step.leaves_page_in_register() => {
                let page = op.touches.page / self.geometry.units_per_page();
                let page = u64::from(op.touches.block) << 32 | u64::from(page);
                Use::Read { page, copies, again: op.more_steps > 0 }
            }
            Step::CopyIn => Use::CopyIn,
            _ => Use::Other,
        }
    }

    /// Whether die `index`, which is about to begin `op`, has its flash page in a register: `op` was there no later
    /// than what came before it ended.
    fn finds_page(&self, index: usize, op: &Op) -> bool {
        let die = &self.dies[index];
        let register = die.registers.get(op.plane as usize);
        op.arrived <= die.ended && register.is_some_and(|register| register.serves(self.use_of(op)))
    }

    /// Takes what die `index` begins through the registers of its planes, and has nothing sensed that lies there.
    fn go_through_registers(&mut self, index: usize) {
        let (group, leader) = (self.dies[index].group.len(), self.dies[index].group[0]);
        if self.ops[leader].arrived > self.dies[index].ended {
            self.dies[index].registers.fill(Register::Other);
        }
        for member in 0..group {
            let op = self.dies[index].group[member];
            let (found, uses) = (self.finds_page(index, &self.ops[op]), self.use_of(&self.ops[op]));
            let op = &mut self.ops[op];
            op.step = op.step.held().filter(|_| found).unwrap_or(op.step);
            let register = &mut self.dies[index].registers[op.plane as usize];
            *register = register.after(uses);
        }
    }

    /// The positions of what die `index` does at once when it begins with the one at `position`, in order.
    fn joined(&self, index: usize, position: usize) -> Vec<usize> {
        let queue = &self.dies[index].queue;
        let leader = &self.ops[queue[position]];
        let mut joined = vec![position];
        let most = match self.settings.multi_plane {
            // How long a page is read again depends on its decoding step.
            _ if leader.step == Step::ReadAgain => return joined,
            MultiPlane::Off => return joined,
            MultiPlane::Pairs => 2,
            MultiPlane::Any => self.layout.planes_per_die() as usize,
        };
        let mut planes = vec![leader.plane];
        // Planes sense together, or none does.
        let held = self.finds_page(index, leader);
        let (mut passed, limit) = self.held(index);
        // Host reads stay among themselves where they go first: others may not go ahead with them.
        let reads_apart = self.settings.scheduling == Scheduling::ReadsFirst || self.dies[index].suspended.is_some();
        queue.iter().take(position).for_each(|op| passed.add(&self.ops[*op]));
        for (at, op) in queue.iter().enumerate().skip(position + 1) {
            if joined.len() == most {
                break;
            }
            let op = &self.ops[*op];
            let plane = match self.settings.multi_plane {
                MultiPlane::Pairs => op.plane == leader.plane ^ 1,
                _ => !planes.contains(&op.plane),
            };
            let fits = op.step.command() == leader.step.command() && op.pages == leader.pages && plane;
            let fits = fits && self.finds_page(index, op) == held;
            let class = !reads_apart || op.is_host_read() == leader.is_host_read();
            if fits && class && op.sequence < limit && passed.lets_pass(op) {
                joined.push(at);
                planes.push(op.plane);
                continue;
            }
            let may_skip = match self.settings.scheduling {
                Scheduling::Fifo => false,
                Scheduling::ReadsFirst => leader.is_host_read() || op.is_host_read(),
                Scheduling::OutOfOrder => true,
            };
            if !may_skip {
                break;
            }
            passed.add(op);
        }
        joined
    }

    /// Interrupts the program or erase of die `index` where a read waits that may go ahead. Says whether it did.
    fn suspend(&mut self, index: usize, now: u64) -> bool {
        let Some(rules) = self.settings.suspend else { return false };
        let die = &self.dies[index];
        let leader = &self.ops[die.group[0]];
        let rest = die.rest(now);
        if !leader.can_be_suspended()
            || leader.suspensions >= rules.limit
            || rest <= rules.suspend.0
            || self.next_host_read(index).is_none()
        {
            return false;
        }
        let (step, cause) = (leader.step as usize, leader.cause as usize);
        self.tally.done[step][cause].cells -= rest;
        let die = &mut self.dies[index];
        die.busy -= rest;
        if die.since < now {
            self.audit.die(index, die.since, now);
        }
        let group = std::mem::take(&mut die.group);
        self.ops[group[0]].suspensions += 1;
        die.suspended = Some(Suspended { group, rest, reads_before: self.sequence });
        self.command(index, now);
        self.begin_phase(index, Phase::Suspending, now, rules.suspend.0);
        true
    }

    /// Takes up again what die `index` suspended.
    fn resume(&mut self, index: usize, now: u64) {
        let resume = self.settings.suspend.map_or(0, |rules| rules.resume.0);
        let die = &mut self.dies[index];
        if let Some(suspended) = &mut die.suspended {
            die.group = std::mem::take(&mut suspended.group);
        }
        self.command(index, now);
        self.begin_phase(index, Phase::Resuming, now, resume);
    }
}

impl Op {
    /// Whether it asks for the bus before anything else.
    pub(super) fn asks_first(&self) -> bool {
        matches!(self.step, Step::Program | Step::ProgramSector | Step::CopyIn)
    }

    fn can_be_suspended(&self) -> bool {
        self.asks_first() || self.step == Step::Erase
    }
}
