//! The array in time: dies that do one operation at a time, buses that carry one transfer at a time.
//!
//! A die does its operations first in, first out. A read occupies it from the cell read until its register has been
//! drained over the bus; a program from the moment it asks for the bus until the cells are written; an erase asks too, but
//! needs no bus. A bus serves the dies in the order in which they ask, ties by the order in which the operations were pushed.
//! Interleaving follows from these two rules; it is never a formula.
//!
//! # Why there are so few events
//!
//! Once a die is granted the bus, everything about its operation is known: when the transfer ends, when the operation
//! ends, and when the next operation of the die will ask for the bus. So the whole schedule is a sequence of grants, one
//! per transfer, in the order of (time of asking, sequence). And a grant to a die that asks at time t can be decided as
//! soon as the simulation has reached t, since nothing that is pushed later can ask earlier. Dies that share a bus, or
//! wait for each other's operations, form an *island*; islands never disturb one another. Grants are therefore decided
//! late and in runs: when something is pushed to the island, or when an operation that a host request waits for could
//! have ended. What remains of the event queue is one entry per die: the earliest time at which the next such operation
//! can end, given that the bus is free whenever the die asks. `tests.rs` holds a plain event-by-event scheduler, and the
//! property that both give the same times.

mod die;

use esker_core::{Nanos, Timetable};

use super::audit::Audit;
use super::delivery::Deliveries;
use super::tally::{Done, STEPS, Step, Tally};
use super::{BACKGROUND, Ended};
use crate::nand::{CAUSES, FlashOp, FlashOpKind, OpIndex, Timing, Transfer};
use crate::{CopyBack, DieIndex, Geometry, PoolScope, SsdSettings};
use die::{Bus, Die, DieOp, Kind, NEVER, NOBODY};

/// Dies and buses whose grants are decided late.
#[derive(Debug)]
pub(crate) struct Granted {
    geometry: Geometry,
    timing: Timing,
    copies: CopyBack,
    dies: Vec<Die>,
    /// Per die, when it next asks for its bus.
    asks: Vec<u64>,
    buses: Vec<Bus>,
    /// Dies of an island: those of a channel, or all of them where pools span channels.
    dies_per_island: crate::divide::Divisor,
    /// Per die, a time before which no host operation of it ends.
    wakes: Timetable,
    /// No step of an operation takes less after it asked.
    shortest_step: u64,
    sequence: u64,
    /// The die of the last operation of the list that is being pushed.
    pushed_to: u32,
    /// Dies of its island that the list was for so far; their wakes are still to be worked out.
    pushed: Vec<u32>,
    /// Operations that others on another die wait for.
    marks: Vec<Mark>,
    free_marks: Vec<u32>,
    /// Per operation of the list that is being pushed, the mark it waits for and the first one that it fulfils.
    list_marks: Vec<(u32, u32)>,
    /// Host operations whose pages are in the decoder: their request, and when they began.
    decoded: Deliveries<(u32, u64)>,
    /// Decided steps since measuring began, by step and cause.
    steps: [u64; STEPS * CAUSES],
    /// What reading again took among these, by cause.
    again: [Done; CAUSES],
    audit: Audit,
}

/// An operation that another one waits for.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// When it ends; [`NEVER`] while that is not known.
    end: u64,
    /// The die whose next operation waits for it, or [`NOBODY`].
    waiter: u32,
    /// Another mark for the same operation, or [`NOBODY`]: each operation that waits has its own.
    next: u32,
}

impl Granted {
    pub(crate) fn new(geometry: &Geometry, timing: &Timing, settings: &SsdSettings) -> Self {
        let dies = geometry.dies() as usize;
        let per_island = if settings.pool == PoolScope::Device { geometry.dies() } else { geometry.dies_per_channel() };
        Self {
            geometry: *geometry,
            timing: *timing,
            copies: settings.array.copy_back,
            dies: (0..dies).map(|_| Die::new()).collect(),
            asks: vec![NEVER; dies],
            buses: vec![Bus::default(); geometry.channels() as usize],
            dies_per_island: crate::divide::Divisor::new(per_island),
            wakes: Timetable::new(dies),
            shortest_step: {
                let inside = timing.page_read + timing.page_program;
                timing.sector_transfer.min(timing.block_erase).min(inside).0
            },
            sequence: 0,
            pushed_to: NOBODY,
            pushed: Vec::new(),
            marks: Vec::new(),
            free_marks: Vec::new(),
            list_marks: Vec::new(),
            decoded: Deliveries::new(),
            steps: [0; STEPS * CAUSES],
            again: [Done::default(); CAUSES],
            audit: Audit::new(dies, geometry.channels() as usize),
        }
    }

    /// When an operation for a host request may next end.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        self.wakes.next().min(Nanos(self.decoded.next()))
    }

    /// Takes the operations of one call of the translation layer at `now`, at least one. Those for the host belong to `request`; says
    /// how many those are.
    #[inline]
    pub(crate) fn push(&mut self, now: Nanos, ops: &[FlashOp], more_steps: &[u8], request: u32) -> u32 {
        let count = match ops {
            [op] => {
                let more = more_steps.first().copied().unwrap_or(0);
                u32::from(self.push_one(now.0, op, more, request, NOBODY, NOBODY))
            }
            ops => self.push_list(now.0, ops, more_steps, request),
        };
        self.wake_pushed();
        self.pushed_to = NOBODY;
        count
    }

    /// Works out the wakes of the dies that were pushed to.
    #[inline]
    fn wake_pushed(&mut self) {
        while let Some(die) = self.pushed.pop() {
            self.wake(die as usize);
        }
    }

    fn push_list(&mut self, now: u64, ops: &[FlashOp], more_steps: &[u8], request: u32) -> u32 {
        let mut count = 0;
        let more = |index: usize| more_steps.get(index).copied().unwrap_or(0);
        if ops.iter().all(|op| op.after.is_none()) {
            for (index, op) in ops.iter().enumerate() {
                count += u32::from(self.push_one(now, op, more(index), request, NOBODY, NOBODY));
            }
        } else {
            self.mark(ops);
            for (index, op) in ops.iter().enumerate() {
                let (waits, signals) = self.list_marks[index];
                count += u32::from(self.push_one(now, op, more(index), request, waits, signals));
            }
        }
        count
    }

    /// Works out which operations of a list wait for which, where their dies differ.
    fn mark(&mut self, ops: &[FlashOp]) {
        self.list_marks.clear();
        self.list_marks.resize(ops.len(), (NOBODY, NOBODY));
        for (index, op) in ops.iter().enumerate() {
            let Some(OpIndex(after)) = op.after else { continue };
            // On one die the order of pushing is enough, unless a page has to be decoded first.
            let reads = self.timing.decoding.is_on && matches!(ops[after as usize].kind, FlashOpKind::Read { .. });
            if reads || self.last_die(&ops[after as usize]) != self.first_die(op) {
                let mark = self.new_mark(self.list_marks[after as usize].1);
                self.list_marks[after as usize].1 = mark;
                self.list_marks[index].0 = mark;
            }
        }
    }

    fn first_die(&self, op: &FlashOp) -> DieIndex {
        match op.kind {
            FlashOpKind::Read { page }
            | FlashOpKind::ReadSpare { page }
            | FlashOpKind::Program { page, .. }
            | FlashOpKind::Copy { from: page, .. } => self.geometry.die_of_page(page),
            FlashOpKind::Erase { block } => self.geometry.die_of(block),
        }
    }

    fn last_die(&self, op: &FlashOp) -> DieIndex {
        match op.kind {
            FlashOpKind::Copy { to, .. } => self.geometry.die_of_page(to),
            _ => self.first_die(op),
        }
    }

    fn new_mark(&mut self, next: u32) -> u32 {
        let mark = Mark { end: NEVER, waiter: NOBODY, next };
        match self.free_marks.pop() {
            Some(index) => {
                self.marks[index as usize] = mark;
                index
            }
            None => {
                self.marks.push(mark);
                self.marks.len() as u32 - 1
            }
        }
    }

    /// Says whether the operation is one that the host waits for.
    #[inline]
    fn push_one(&mut self, now: u64, op: &FlashOp, more_steps: u8, request: u32, waits: u32, signals: u32) -> bool {
        let request = if op.awaited || request == BACKGROUND { request } else { NOBODY };
        let die = self.first_die(op);
        let kind = match op.kind {
            FlashOpKind::Read { .. } => Kind::Read,
            FlashOpKind::ReadSpare { .. } => Kind::ReadSector,
            FlashOpKind::Program { transfer: Transfer::Page, .. } => Kind::Program,
            FlashOpKind::Program { transfer: Transfer::Sector, .. } => Kind::ProgramSector,
            FlashOpKind::Erase { .. } => Kind::Erase,
            FlashOpKind::Copy { to, .. } => {
                let target = self.geometry.die_of_page(to);
                if target != die {
                    let (read, cause) = (self.new_mark(NOBODY), op.cause);
                    let out = DieOp {
                        kind: Kind::CopyOut,
                        cause,
                        more_steps,
                        count: 1,
                        request: NOBODY,
                        waits,
                        signals: read,
                    };
                    self.enqueue(now, die, out);
                    let back =
                        DieOp { kind: Kind::CopyIn, cause, more_steps: 0, count: 1, request, waits: read, signals };
                    self.enqueue(now, target, back);
                    return request != NOBODY;
                }
                self.copy_within_die(op.kind)
            }
        };
        self.enqueue(now, die, DieOp { kind, cause: op.cause, more_steps, count: 1, request, waits, signals });
        request != NOBODY
    }

    /// How a copy whose source and target share a die is done.
    #[inline]
    fn copy_within_die(&self, kind: FlashOpKind) -> Kind {
        match kind {
            FlashOpKind::Copy { from, to } if self.copies.applies(&self.geometry, from, to) => {
                if self.copies == CopyBack::Checked { Kind::CopyBackChecked } else { Kind::CopyBack }
            }
            _ => Kind::Copy,
        }
    }

    #[inline]
    fn enqueue(&mut self, now: u64, die: DieIndex, op: DieOp) {
        // Most lists are for one die.
        if die.0 != self.pushed_to {
            self.push_to(now, die);
        }
        let sequence = self.sequence;
        self.sequence += if op.kind == Kind::Copy { 2 } else { 1 };
        let index = die.0 as usize;
        let state = &mut self.dies[index];
        state.plan(&op, &self.timing);
        if state.is_idle() {
            state.free = state.free.max(now);
            self.begin(index, op, sequence);
        } else {
            state.queue(op, sequence);
        }
    }

    /// The next operations of the list are for `die`. What asked before `now` in its island has to be decided first, once
    /// for all of the list.
    #[inline]
    fn push_to(&mut self, now: u64, die: DieIndex) {
        let island = self.dies_per_island.quotient(die.0);
        if self.pushed_to == NOBODY || island != self.dies_per_island.quotient(self.pushed_to) {
            self.wake_pushed();
            self.catch_up(island, now);
        }
        self.pushed_to = die.0;
        if !self.pushed.contains(&die.0) {
            self.pushed.push(die.0);
        }
    }

    /// Decides all grants to dies of `island` that asked before `now`.
    #[inline]
    fn catch_up(&mut self, island: u32, now: u64) {
        let width = self.dies_per_island.get() as usize;
        let first = island as usize * width;
        loop {
            let (mut die, mut ask, mut second) = (first, self.asks[first], NEVER);
            for other in first + 1..first + width {
                let other_ask = self.asks[other];
                let before = other_ask < ask
                    || other_ask == ask && ask != NEVER && self.dies[other].sequence < self.dies[die].sequence;
                second = second.min(if before { ask } else { other_ask });
                if before {
                    (die, ask) = (other, other_ask);
                }
            }
            if ask >= now {
                return;
            }
            // The same die asks first again until it comes up to another, or lets another one begin.
            let limit = second.min(now);
            while !self.grant(die) && self.asks[die] < limit {}
        }
    }

    /// Gives the bus to `die`, which asked before all others, and works out when it asks next. Says whether that let
    /// another die begin.
    fn grant(&mut self, index: usize) -> bool {
        let ask = self.asks[index];
        let die = &mut self.dies[index];
        self.steps[die.step_and_cause()] += 1;
        let end = if die.needs_bus() {
            let channel = self.geometry.channel_of(DieIndex(index as u32)).0 as usize;
            let bus = &mut self.buses[channel];
            bus.free = ask.max(bus.free) + die.hold;
            bus.busy += die.hold;
            self.audit.bus(channel, bus.free - die.hold, bus.free);
            bus.free + die.tail
        } else {
            ask + die.tail
        };
        debug_assert!(ask >= die.start, "a die asked for the bus before it began");
        self.audit.die(index, die.start, end);
        if let Some((cells, transfers)) = die.another_reading() {
            let again = &mut self.again[die.current.cause as usize];
            (again.steps, again.cells, again.transfers) =
                (again.steps + 1, again.cells + cells, again.transfers + transfers);
        }
        if let Some(ask) = die.go_on(end, &self.timing) {
            self.asks[index] = ask;
            return false;
        }
        self.asks[index] = NEVER;
        let signals = die.current.signals;
        if signals != NOBODY {
            let known = end + die.decode(&self.timing);
            self.signal(signals, known);
        }
        if let Some((op, sequence)) = self.dies[index].dequeue() {
            self.begin(index, op, sequence);
        }
        signals != NOBODY
    }

    /// Begins `op` as soon as the die is free and what it waits for has ended.
    fn begin(&mut self, index: usize, op: DieOp, sequence: u64) {
        let die = &mut self.dies[index];
        if op.waits != NOBODY {
            let mark = &mut self.marks[op.waits as usize];
            if mark.end == NEVER {
                mark.waiter = index as u32;
                die.wait(op, sequence);
                return;
            }
            die.free = die.free.max(mark.end);
            self.free_marks.push(op.waits);
        }
        self.asks[index] = die.begin(op, sequence, &self.timing);
    }

    /// The operation behind `mark` ends at `end`. Those that wait for it begin then, where they are their die's next.
    fn signal(&mut self, mut mark: u32, end: u64) {
        while mark != NOBODY {
            let Mark { waiter, next, .. } = self.marks[mark as usize];
            self.marks[mark as usize].end = end;
            if waiter != NOBODY {
                let (op, sequence) = self.dies[waiter as usize].stop_waiting();
                self.begin(waiter as usize, op, sequence);
                self.wake(waiter as usize);
            }
            mark = next;
        }
    }

    /// Works out anew before which time no host operation of `die` ends.
    #[inline]
    fn wake(&mut self, index: usize) {
        let channel = self.geometry.channel_of(DieIndex(index as u32));
        let die = &self.dies[index];
        let at = if die.is_waiting() && die.ends == NEVER && die.has_host_ops() {
            // Nothing is known but that another die of the island has to be granted the bus first.
            let width = self.dies_per_island.get() as usize;
            let first = index - index % width;
            let ask = self.asks[first..first + width].iter().min().expect("an island has dies");
            ask.saturating_add(self.shortest_step)
        } else {
            die.wake(self.asks[index], self.buses[channel.0 as usize].free)
        };
        self.wakes.set(index, Nanos(at));
    }

    /// Does what is due at `now`, which is [`Self::next_event`], and appends the host operations that ended.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        while self.wakes.next() == now {
            let index = self.wakes.first().expect("something is due");
            self.catch_up(self.dies_per_island.quotient(index as u32), now.0);
            let die = &mut self.dies[index];
            if die.ends == now.0 {
                if die.ending_decode == 0 {
                    ended.push(Ended { request: die.ending, start: Nanos(die.ending_start) });
                } else {
                    self.decoded.set(now.0 + die.ending_decode, (die.ending, die.ending_start));
                }
                die.ends = NEVER;
            }
            debug_assert!(die.ends > now.0, "an operation ended unnoticed");
            self.wake(index);
        }
        while let Some((request, start)) = self.decoded.take(now.0) {
            ended.push(Ended { request, start: Nanos(start) });
        }
    }

    /// Decides every grant to a die that asked before `now`, so that busy times are complete.
    pub(crate) fn settle(&mut self, now: Nanos) {
        for island in 0..self.geometry.dies() / self.dies_per_island.get() {
            self.catch_up(island, now.0);
        }
    }

    /// Busy times so far of all dies.
    pub(crate) fn die_busy(&self) -> impl Iterator<Item = Nanos> {
        self.dies.iter().map(|die| Nanos(die.busy))
    }

    /// Busy times so far of all buses.
    pub(crate) fn bus_busy(&self) -> impl Iterator<Item = Nanos> {
        self.buses.iter().map(|bus| Nanos(bus.busy))
    }

    /// What was decided since measuring began, by kind and cause.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::of_steps(&self.steps, &self.timing);
        tally.done[Step::ReadAgain as usize] = self.again;
        tally
    }

    /// Per die, for how long after `now` what it was given will keep it busy, as far as that is known: waiting for the bus
    /// is left out beyond the next transfer.
    pub(crate) fn backlog(&mut self, now: Nanos, into: &mut Vec<u64>) {
        self.settle(now);
        into.clear();
        into.extend(self.dies.iter().enumerate().map(|(index, die)| {
            let channel = self.geometry.channel_of(DieIndex(index as u32));
            die.done_by(self.asks[index], self.buses[channel.0 as usize].free).saturating_sub(now.0)
        }));
    }

    /// Begins to count busy times anew.
    pub(crate) fn reset_busy(&mut self) {
        self.steps.fill(0);
        self.again.fill(Done::default());
        self.dies.iter_mut().for_each(|die| die.busy = 0);
        self.buses.iter_mut().for_each(|bus| bus.busy = 0);
    }
}
