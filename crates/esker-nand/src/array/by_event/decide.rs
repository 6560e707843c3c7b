//! Chooses the operations that an idle die begins.

use std::ops::Range;

use super::ByEvent;
use super::bus::{Ask, Bus};
use super::group::Group;
use super::op::Op;
use super::phases::{Die, Phase, Suspended};
use crate::array::register::{Register, Use};
use crate::array::tally::DieStep;
use crate::{MultiPlane, Scheduling};

impl ByEvent {
    /// Starts operations on the dies of bus `index` that are awake, and grants the bus.
    #[inline(always)]
    pub(super) fn decide_on_bus(&mut self, index: usize, now: u64) {
        self.buses[index].undecided = false;
        loop {
            while let Some(die) = self.buses[index].awake.pop() {
                let die = die as usize;
                self.dies[die].awake = false;
                // A program or erase that has just begun may be suspended at once.
                while self.pick(die, now) && self.settings.suspend.is_some() {}
            }
            self.grant(index, now);
            if self.buses[index].awake.is_empty() {
                return;
            }
        }
    }

    /// Starts an operation on each of `dies` that can begin one. Returns true if anything changed.
    pub(super) fn pick_all(&mut self, dies: Range<u32>, now: u64) -> bool {
        let mut changed = false;
        for die in dies {
            changed |= self.pick(die as usize, now);
        }
        changed
    }

    /// Starts an operation on die `index` if it can begin one. Returns true if anything changed.
    #[inline(always)]
    fn pick(&mut self, index: usize, now: u64) -> bool {
        match self.dies[index].phase {
            Phase::Idle => self.pick_while_idle(index, now),
            Phase::Commanding if !self.waits_for_control(index, now) => {
                self.begin_pages(index, now);
                true
            }
            Phase::After if self.settings.suspend.is_some() => {
                !self.waits_for_control(index, now) && self.suspend(index, now)
            }
            _ => false,
        }
    }

    /// Starts an operation on die `index`, which is idle, if it can begin one. Returns true if anything changed.
    fn pick_while_idle(&mut self, index: usize, now: u64) -> bool {
        let waits = self.waits_for_control(index, now);
        if self.dies[index].suspended.is_some() {
            if waits {
                return false;
            }
            match self.next_host_read(index) {
                Some(read) => self.begin(index, read, now, now),
                None => self.resume(index, now),
            }
            return true;
        }
        let Some(op) = self.choose(index) else {
            self.withdraw_ask(index);
            return false;
        };
        if self.ops[op].asks_first() {
            if self.dies[index].wants != Some(op) {
                self.withdraw_ask(index);
                let die = &mut self.dies[index];
                (die.wants, die.since) = (Some(op), now);
                self.add_ask(index, op, now);
            }
            return false;
        }
        if !waits {
            self.begin(index, op, now, now);
        }
        !waits
    }

    /// Adds a request, made at `now`, of die `index` for the transfer of `op`.
    #[inline(always)]
    pub(super) fn add_ask(&mut self, index: usize, op: u32, now: u64) {
        let ask = Ask { since: now, sequence: self.ops[op].sequence, die: index as u32, op };
        let bus = self.bus_of(index);
        self.buses[bus].asks.push(ask);
    }

    /// Withdraws the request for the bus by which the idle die `index` meant to begin an operation.
    fn withdraw_ask(&mut self, index: usize) {
        if self.dies[index].wants.take().is_some() {
            let bus = self.bus_of(index);
            self.buses[bus].remove_ask(index);
        }
    }

    /// Grants bus `index`, if it is free, to the die that asked first.
    #[inline(always)]
    fn grant(&mut self, index: usize, now: u64) {
        let bus = &mut self.buses[index];
        if bus.taken {
            return;
        }
        let Some(first) = bus.take_first_ask() else { return };
        self.grant_transfer(first, now);
        if self.settings.scheduling == Scheduling::OutOfOrder {
            self.wake_others(index);
        }
    }

    /// Wakes the idle dies that wait for bus `index`, which was just taken, if they could begin another operation
    /// without it.
    fn wake_others(&mut self, index: usize) {
        let Bus { asks, awake, .. } = &mut self.buses[index];
        for ask in asks {
            let die = &mut self.dies[ask.die as usize];
            if die.phase == Phase::Idle && die.ready.has_one_without_bus() {
                die.awake = true;
                awake.push(ask.die);
            }
        }
    }

    /// Grants the transfer of `ask`, which was removed from its bus. Begins the operation if it has not begun yet.
    #[inline(always)]
    pub(super) fn grant_transfer(&mut self, ask: Ask, now: u64) {
        let Ask { since, op, .. } = ask;
        let die = ask.die as usize;
        if self.dies[die].wants.take().is_some() {
            self.take_up(die, op, since, now);
            self.count_steps(die);
            self.dies[die].since = now;
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
                let head = queue.first()?;
                let mut first = head;
                while self.ops[first].is_host_read() {
                    first = self.ops.next_in_queue(first)?;
                }
                let passes = || first == head || self.ops.obstacle(first).is_none();
                (self.ops[first].may_begin() && passes()).then_some(first)
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

    /// Returns the first host read that may begin now. During a suspension, only reads that were already waiting when
    /// it began are considered. A read waits for all operations that it must not overtake.
    fn next_host_read(&self, index: usize) -> Option<u32> {
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        let may_begin = |op: &u32| self.ops[*op].may_begin() && self.ops[*op].sequence < limit;
        die.host_reads.iter().copied().find(may_begin)
    }

    /// Begins `op` together with all operations that can join it.
    pub(super) fn begin(&mut self, index: usize, op: u32, start: u64, now: u64) {
        self.withdraw_ask(index);
        self.take_up(index, op, start, now);
        self.begin_pages(index, now);
    }

    /// Takes `op` and all operations that can join it out of their queue, to begin them at `now`. `start` is when they
    /// would have begun if the bus had been free.
    fn take_up(&mut self, index: usize, op: u32, start: u64, now: u64) {
        let die = &mut self.dies[index];
        die.turn = 0;
        die.group.form(op);
        if self.settings.multi_plane != MultiPlane::Off {
            let mut group = std::mem::take(&mut die.group);
            self.join(index, &mut group);
            self.dies[index].group = group;
        }
        #[cfg(test)]
        self.check_join(index);
        for turn in 0..self.dies[index].group.len() {
            let op = self.dies[index].group.member(turn);
            let work = self.work(&self.ops[op]);
            let state = &mut self.ops[op];
            state.start = start.max(state.arrived);
            state.bus_wait = now - state.start;
            if let Some(tracked) = &mut self.tracked {
                tracked.begun(state);
            }
            self.dies[index].queued -= work;
            self.leave_queue(op);
        }
        if !self.dies[index].registers.is_empty() {
            self.update_registers(index);
        }
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

    /// Updates the registers of die `index` for the operations that it begins. Pages that are already in a register are
    /// not sensed again.
    fn update_registers(&mut self, index: usize) {
        let (members, leader) = (self.dies[index].group.len(), self.dies[index].group.leader());
        if self.ops[leader].arrived > self.dies[index].ended {
            self.dies[index].registers.fill(Register::Other);
        }
        for turn in 0..members {
            let op = self.dies[index].group.member(turn);
            let (found, uses) = (self.finds_page(index, &self.ops[op]), self.register_use(&self.ops[op]));
            let op = &mut self.ops[op];
            op.step = op.step.held().filter(|_| found).unwrap_or(op.step);
            let register = &mut self.dies[index].registers[op.plane as usize];
            *register = register.after(uses);
        }
    }

    /// Returns the largest number of operations that a die does together.
    fn group_max(&self) -> usize {
        match self.settings.multi_plane {
            MultiPlane::Off => 1,
            MultiPlane::Pairs => 2,
            MultiPlane::Any => self.layout.planes_per_die() as usize,
        }
    }

    /// Adds to `group`, which holds only its leader, all operations that die `index` does together with the leader, in
    /// order.
    fn join(&self, index: usize, group: &mut Group) {
        let leader = &self.ops[group.leader()];
        // The time of another read of a page depends on its decoding step.
        if leader.step == DieStep::ReadAgain {
            return;
        }
        let most = self.group_max();
        let die = &self.dies[index];
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        // Planes sense together, or none does.
        let held = self.finds_page(index, leader);
        // Host reads that go first are not joined with other operations, which may have to wait.
        let reads_apart = self.settings.scheduling == Scheduling::ReadsFirst || die.suspended.is_some();
        // Operations on other planes touch other blocks than the leader does.
        let joins = |group: &Group, other: &Op| {
            let plane = match self.settings.multi_plane {
                MultiPlane::Pairs => other.plane == leader.plane ^ 1,
                _ => !group.iter().any(|op| self.ops[op].plane == other.plane),
            };
            plane
                && other.step.command() == leader.step.command()
                && other.pages == leader.pages
                && other.mode == leader.mode
                && other.sequence < limit
                && (!reads_apart || other.is_host_read() == leader.is_host_read())
                && self.finds_page(index, other) == held
        };
        let add = |group: &mut Group, candidates: &mut dyn Iterator<Item = u32>| {
            for op in candidates {
                if group.len() == most {
                    return;
                }
                if joins(group, &self.ops[op]) {
                    group.add(op);
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
                let mut next = self.ops.next_in_queue(group.leader());
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
                    group.add(op);
                }
            }
        }
    }

    /// Suspends the program or erase of die `index` if a waiting read may overtake it. Returns true if it did.
    fn suspend(&mut self, index: usize, now: u64) -> bool {
        let Some(rules) = self.settings.suspend else { return false };
        let die = &self.dies[index];
        let leader = &self.ops[die.group.leader()];
        let rest = die.rest(now);
        if !leader.can_be_suspended()
            || leader.suspensions >= rules.limit
            || rest <= rules.suspend.0
            || self.next_host_read(index).is_none()
        {
            return false;
        }
        let (step, cause) = (leader.step as usize, leader.cause as usize);
        let counted = if die.is_counted { rest } else { 0 };
        self.tally.done[step][cause].cells -= counted;
        let die = &mut self.dies[index];
        die.busy -= counted;
        if die.since < now {
            self.audit.die(index, die.since, now);
        }
        self.ends.remove(index, die.until);
        let group = std::mem::take(&mut die.group);
        let leader = group.leader();
        self.ops[leader].suspensions += 1;
        die.suspended = Some(Suspended { group, rest, reads_before: self.sequence });
        self.command(index, now);
        self.begin_phase(index, Phase::Suspending, now, rules.suspend.0, leader);
        true
    }

    /// Resumes the suspended operation of die `index`.
    fn resume(&mut self, index: usize, now: u64) {
        let resume = self.settings.suspend.map_or(0, |rules| rules.resume.0);
        let die = &mut self.dies[index];
        if let Some(suspended) = &mut die.suspended {
            die.group = std::mem::take(&mut suspended.group);
        }
        let leader = die.group.leader();
        self.command(index, now);
        self.begin_phase(index, Phase::Resuming, now, resume, leader);
    }
}

impl Op {
    /// Returns true if the operation asks for the bus before it does anything else.
    pub(super) fn asks_first(&self) -> bool {
        matches!(self.step, DieStep::Program | DieStep::ProgramSector | DieStep::CopyIn)
    }

    fn can_be_suspended(&self) -> bool {
        self.asks_first() || self.step == DieStep::Erase
    }
}
