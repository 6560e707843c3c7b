//! Chooses the operations that an idle die begins.

use std::ops::Range;

use super::ByEvent;
use super::op::Op;
use super::phases::{Die, Phase, Suspended};
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

impl ByEvent {
    /// Starts operations on those of `dies` that are awake, and grants their bus.
    pub(super) fn decide_on_bus(&mut self, dies: Range<usize>, now: u64) {
        loop {
            let mut from = dies.start;
            while let Some(die) = self.awake.next(from, dies.end) {
                self.awake.remove(die);
                if self.pick(die, now) && self.settings.suspend.is_some() {
                    // What has begun may be suspended at once.
                    self.awake.insert(die);
                }
                from = die + 1;
            }
            self.grant(dies.clone(), now);
            if self.awake.next(dies.start, dies.end).is_none() {
                return;
            }
        }
    }

    /// Starts an operation on each of `dies` that can begin one. Returns true if anything changed.
    pub(super) fn pick_all(&mut self, dies: Range<usize>, now: u64) -> bool {
        let mut changed = false;
        for die in dies {
            changed |= self.pick(die, now);
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
                    Some(read) => self.begin(index, read, now, now),
                    None => self.resume(index, now),
                }
                true
            }
            Phase::Idle => {
                let Some(op) = self.choose(index) else {
                    self.dies[index].wants = None;
                    self.asking.remove(index);
                    return false;
                };
                if self.ops[op].asks_first() {
                    let die = &mut self.dies[index];
                    if die.wants != Some(op) {
                        (die.wants, die.since) = (Some(op), now);
                        self.asking.insert(index);
                    }
                    return false;
                }
                if !waits {
                    self.begin(index, op, now, now);
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

    /// Returns the transfer that die `index` asks for.
    pub(super) fn ask_of(&self, index: usize) -> Option<Ask> {
        let state = &self.dies[index];
        let op = match state.phase {
            Phase::Asking => state.group[state.turn],
            Phase::Idle => state.wants?,
            _ => return None,
        };
        Some(Ask { since: state.since, sequence: self.ops[op].sequence, die: index, op })
    }

    /// Grants the bus of `dies`, if it is free, to the first that asked.
    fn grant(&mut self, dies: Range<usize>, now: u64) {
        if self.buses[self.bus_of(dies.start)].taken {
            return;
        }
        let mut first = None;
        let mut from = dies.start;
        while let Some(die) = self.asking.next(from, dies.end) {
            let ask = self.ask_of(die);
            debug_assert!(ask.is_some(), "die {die} does not ask");
            first = first.into_iter().chain(ask).min();
            from = die + 1;
        }
        let Some(first) = first else { return };
        self.grant_transfer(first, now);
        if self.settings.scheduling == Scheduling::OutOfOrder {
            self.wake_others(dies);
        }
    }

    /// Wakes those of `dies` that ask for the bus, now taken, to begin an operation, and could begin another one.
    fn wake_others(&mut self, dies: Range<usize>) {
        let mut from = dies.start;
        while let Some(die) = self.asking.next(from, dies.end) {
            if self.dies[die].phase == Phase::Idle && self.dies[die].ready.first_without_bus().is_some() {
                self.awake.insert(die);
            }
            from = die + 1;
        }
    }

    /// Grants the transfer of `ask`. Begins its operation, if that only asked so far.
    pub(super) fn grant_transfer(&mut self, ask: Ask, now: u64) {
        let Ask { since, die, op, .. } = ask;
        if self.dies[die].wants.is_some() {
            self.begin(die, op, since, now);
        }
        self.begin_transfer(die, now);
    }

    /// Returns the operation that die `index` begins next.
    pub(super) fn choose(&self, index: usize) -> Option<u32> {
        let Die { queue, ready, .. } = &self.dies[index];
        let chosen = match self.settings.scheduling {
            Scheduling::Fifo => queue.first().filter(|op| self.ops[*op].may_begin()),
            Scheduling::ReadsFirst => self.next_host_read(index).or_else(|| {
                // All host reads have to wait. An operation behind them must not overtake those that it conflicts with.
                let mut first = queue.first()?;
                while self.ops[first].is_host_read() {
                    first = self.ops.next_in_queue(first)?;
                }
                (self.ops[first].may_begin() && self.ops.obstacle(first).is_none()).then_some(first)
            }),
            Scheduling::OutOfOrder if self.transfer_would_wait(index) => {
                ready.first_without_bus().or_else(|| ready.first())
            }
            Scheduling::OutOfOrder => ready.first(),
        };
        #[cfg(test)]
        self.check_choice(index, chosen);
        chosen
    }

    /// Returns the first host read that may begin now; during a suspension, only among reads that were waiting when it
    /// began. A read waits for all operations that it must not overtake.
    fn next_host_read(&self, index: usize) -> Option<u32> {
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        let may_begin = |op: &u32| self.ops[*op].may_begin() && self.ops[*op].sequence < limit;
        die.host_reads.iter().copied().find(may_begin)
    }

    /// Begins `op`, together with all that can join it.
    pub(super) fn begin(&mut self, index: usize, op: u32, start: u64, now: u64) {
        let mut group = std::mem::take(&mut self.dies[index].group);
        group.clear();
        group.push(op);
        if self.settings.multi_plane != MultiPlane::Off {
            self.join(index, &mut group);
        }
        #[cfg(test)]
        self.check_join(index, &group);
        for op in &group {
            self.dies[index].queued -= self.work(&self.ops[*op]);
            let state = &mut self.ops[*op];
            state.start = start.max(state.arrived);
            state.bus_wait = now - state.start;
            if let Some(tracked) = &mut self.tracked {
                tracked.begun(state);
            }
            self.leave_queue(*op);
        }
        let die = &mut self.dies[index];
        if die.wants.take().is_some() {
            self.asking.remove(index);
        }
        die.turn = 0;
        die.group = group;
        if !die.registers.is_empty() {
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
    pub(super) fn finds_page(&self, index: usize, op: &Op) -> bool {
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

    /// Operations that a die does together at most.
    fn group_max(&self) -> usize {
        match self.settings.multi_plane {
            MultiPlane::Off => 1,
            MultiPlane::Pairs => 2,
            MultiPlane::Any => self.layout.planes_per_die() as usize,
        }
    }

    /// Adds to `group`, which is one operation that die `index` begins, all that the die does together with it, in
    /// order.
    fn join(&self, index: usize, group: &mut Vec<u32>) {
        let leader = &self.ops[group[0]];
        // The time of another read of a page depends on its decoding step.
        if leader.step == DieStep::ReadAgain {
            return;
        }
        let most = self.group_max();
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        // Planes sense together, or none does.
        let held = self.finds_page(index, leader);
        // If host reads go first, they are not joined with other operations, which may not go first.
        let reads_apart = self.settings.scheduling == Scheduling::ReadsFirst || die.suspended.is_some();
        // Those on other planes touch other blocks than the leader.
        let joins = |group: &[u32], other: &Op| {
            let plane = match self.settings.multi_plane {
                MultiPlane::Pairs => other.plane == leader.plane ^ 1,
                _ => !group.iter().any(|op| self.ops[*op].plane == other.plane),
            };
            plane
                && other.step.command() == leader.step.command()
                && other.pages == leader.pages
                && other.mode == leader.mode
                && other.sequence < limit
                && (!reads_apart || other.is_host_read() == leader.is_host_read())
                && self.finds_page(index, other) == held
        };
        let add = |group: &mut Vec<u32>, candidates: &mut dyn Iterator<Item = u32>| {
            for op in candidates {
                if group.len() == most {
                    return;
                }
                if joins(group, &self.ops[op]) {
                    group.push(op);
                }
            }
        };
        match self.settings.scheduling {
            Scheduling::OutOfOrder => add(group, &mut die.ready.after(leader.sequence)),
            Scheduling::ReadsFirst if leader.is_host_read() => {
                let later = |op: &u32| self.ops[*op].sequence > leader.sequence && self.ops[*op].may_begin();
                add(group, &mut die.host_reads.iter().copied().filter(later));
            }
            scheduling => {
                let mut next = self.ops.next_in_queue(group[0]);
                while let Some(op) = next.filter(|_| group.len() < most) {
                    let other = &self.ops[op];
                    next = self.ops.next_in_queue(op);
                    if scheduling == Scheduling::ReadsFirst && other.is_host_read() {
                        continue;
                    }
                    let passes = scheduling == Scheduling::Fifo || self.ops.obstacle(op).is_none();
                    if !(joins(group, other) && other.may_begin() && passes) {
                        return;
                    }
                    group.push(op);
                }
            }
        }
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
