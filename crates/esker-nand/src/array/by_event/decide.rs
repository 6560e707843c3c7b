//! Chooses the operations that an idle die begins.

use std::ops::Range;

use super::ByEvent;
use super::op::{Op, Touch};
use super::phases::{Phase, Suspended};
use crate::array::register::{Register, Use};
use crate::array::tally::DieStep;
use crate::{MultiPlane, Scheduling};

/// A request of a die for a transfer. The least of several goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    since: u64,
    sequence: u64,
    pub(super) die: usize,
    pub(super) op: u32,
}

/// The pages touched by operations that were passed over. Operations that conflict with them must not overtake.
#[derive(Default)]
struct PassedOver {
    touched: Vec<Touch>,
}

impl PassedOver {
    fn add(&mut self, op: &Op) {
        self.touched.push(op.touches);
        self.touched.extend(op.also);
    }

    /// Returns true if `op` may overtake all operations that were passed over.
    fn lets_pass(&self, op: &Op) -> bool {
        let stops =
            |touch: &Touch| op.touches.conflicts_with(touch) || op.also.is_some_and(|also| also.conflicts_with(touch));
        op.may_begin() && !self.touched.iter().any(stops)
    }
}

impl ByEvent {
    /// Starts an operation on each of `dies` that can begin one. Returns true if anything changed.
    pub(super) fn pick_all(&mut self, dies: Range<u32>, now: u64) -> bool {
        let mut changed = false;
        for die in dies {
            changed |= self.pick(die as usize, now);
        }
        changed
    }

    /// Starts an operation on die `index` if it can begin one. Returns true if anything changed.
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

    /// Returns the transfer that die `die` asks for.
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

    /// Grants the bus of `dies`, if it is free, to the first that asked. Returns true if any did.
    pub(super) fn grant(&mut self, dies: Range<u32>, now: u64) -> bool {
        if self.buses[self.bus_of(dies.start as usize)].taken {
            return false;
        }
        let first = dies.filter_map(|die| self.ask_of(die)).min();
        first.into_iter().for_each(|ask| self.grant_transfer(ask, now));
        first.is_some()
    }

    /// Grants the transfer of `ask`. Begins its operation, if that only asked so far.
    pub(super) fn grant_transfer(&mut self, ask: Ask, now: u64) {
        let Ask { since, die, op, .. } = ask;
        if self.dies[die].wants.is_some() {
            let position = self.dies[die].queue.iter().position(|other| *other == op).expect("it waits");
            self.begin(die, position, since, now);
        }
        self.begin_transfer(die, now);
    }

    /// Returns the operation that die `index` begins next, as a position in its queue.
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

    /// Returns the operations of die `index` that are under way or suspended, which conflicting ones must not overtake,
    /// and the sequence number below which reads are served before the suspended operation resumes.
    fn held(&self, index: usize) -> (PassedOver, u64) {
        let die = &self.dies[index];
        let mut passed = PassedOver::default();
        die.group.iter().for_each(|op| passed.add(&self.ops[*op]));
        let Some(suspended) = &die.suspended else { return (passed, u64::MAX) };
        suspended.group.iter().for_each(|op| passed.add(&self.ops[*op]));
        (passed, suspended.reads_before)
    }

    /// Returns the first host read that may begin now; during a suspension, only among reads that were waiting when it
    /// began. A read waits for all operations that it must not overtake.
    fn next_host_read(&self, index: usize) -> Option<usize> {
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        let may_begin = |op: &&u32| self.ops[**op].may_begin() && self.ops[**op].sequence < limit;
        let sequence = self.ops[*die.host_reads.iter().find(may_begin)?].sequence;
        Some(die.queue.partition_point(|op| self.ops[*op].sequence < sequence))
    }

    /// Begins the operation at `position`, together with all that can join it.
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
            if let Some(tracked) = &mut self.tracked {
                tracked.begun(state);
            }
            if state.is_host_read() {
                die.host_reads.retain(|read| read != op);
            }
        }
        if !self.dies[index].registers.is_empty() {
            self.update_registers(index);
        }
        self.begin_pages(index, now);
    }

    /// Returns what `op` does with the register of its plane.
    fn register_use(&self, op: &Op) -> Use {
        let copies = matches!(op.step, DieStep::CopyOut | DieStep::CopyOutHeld);
        match op.step {
            step if step.leaves_page_in_register() => {
                let page = op.touches.page / self.geometry.units_per_page();
                let page = u64::from(op.touches.block) << 32 | u64::from(page);
                Use::Read { page, copies, again: op.more_steps > 0 }
            }
            DieStep::CopyIn => Use::CopyIn,
            _ => Use::Other,
        }
    }

    /// Returns true if the flash page of `op`, which die `index` is about to begin, is in a register. `op` must have
    /// been there no later than the end of the operation before it.
    fn finds_page(&self, index: usize, op: &Op) -> bool {
        let die = &self.dies[index];
        let register = die.registers.get(op.plane as usize);
        op.arrived <= die.ended && register.is_some_and(|register| register.serves(self.register_use(op)))
    }

    /// Updates the registers of die `index` for what it begins, and removes the sensing of pages that are in a
    /// register.
    fn update_registers(&mut self, index: usize) {
        let (group, leader) = (self.dies[index].group.len(), self.dies[index].group[0]);
        if self.ops[leader].arrived > self.dies[index].ended {
            self.dies[index].registers.fill(Register::Other);
        }
        for member in 0..group {
            let op = self.dies[index].group[member];
            let (found, uses) = (self.finds_page(index, &self.ops[op]), self.register_use(&self.ops[op]));
            let op = &mut self.ops[op];
            op.step = op.step.held().filter(|_| found).unwrap_or(op.step);
            let register = &mut self.dies[index].registers[op.plane as usize];
            *register = register.after(uses);
        }
    }

    /// Returns the positions of all operations that die `index` does together with the one at `position`, in order.
    fn joined(&self, index: usize, position: usize) -> Vec<usize> {
        let queue = &self.dies[index].queue;
        let leader = &self.ops[queue[position]];
        let mut joined = vec![position];
        let most = match self.settings.multi_plane {
            // The time of another read of a page depends on its decoding step.
            _ if leader.step == DieStep::ReadAgain => return joined,
            MultiPlane::Off => return joined,
            MultiPlane::Pairs => 2,
            MultiPlane::Any => self.layout.planes_per_die() as usize,
        };
        let mut planes = vec![leader.plane];
        // Planes sense together, or none does.
        let held = self.finds_page(index, leader);
        let (mut passed, limit) = self.held(index);
        // If host reads go first, they are not joined with other operations, which may not go first.
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
            let fits = fits && op.mode == leader.mode && self.finds_page(index, op) == held;
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

    /// Suspends the program or erase of die `index` if a waiting read may overtake it. Returns true if it did.
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

    /// Resumes the suspended operation of die `index`.
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
    /// Returns true if it asks for the bus before anything else.
    pub(super) fn asks_first(&self) -> bool {
        matches!(self.step, DieStep::Program | DieStep::ProgramSector | DieStep::CopyIn)
    }

    fn can_be_suspended(&self) -> bool {
        self.asks_first() || self.step == DieStep::Erase
    }
}
