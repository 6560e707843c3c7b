//! The fast scheduler: dies that do one operation at a time, buses that carry one transfer at a time.
//!
//! A die does its operations first in, first out. A read occupies it from the cell read until its register has been
//! drained over the bus; a program from the moment it asks for the bus until the cells are written; an erase asks too,
//! but needs no bus. A bus serves the dies in the order in which they ask, ties by the order in which the operations
//! were pushed. Interleaving follows from these two rules; it is never a formula.
//!
//! # Why there are so few events
//!
//! Once a die is granted the bus, everything about its operation is known: when the transfer ends, when the operation
//! ends, and when the next operation of the die will ask for the bus. So the whole schedule is a sequence of grants,
//! one per transfer, in the order of (time of asking, sequence). A grant to a die that asks at time t can be decided as
//! soon as the simulation has reached t, since nothing that is pushed later can ask earlier.
//!
//! Buses affect each other only if a die waits for an operation on another bus. Buses for which that is possible form
//! an *island*. Grants are decided late and in runs ([`grants`]): when something is pushed to a die of the bus, or when
//! an operation that a host request waits for could have ended. Repetitions are decided at once ([`cycles`]). The event
//! queue is left with one entry per die: the earliest time at which its next such operation can end, if the bus is free
//! whenever the die asks.
//!
//! The tests of the array compare these times with those of a plain event-by-event scheduler.

mod cycles;
mod die;
mod grants;
mod marks;
mod op;
mod push;

use esker_core::{Nanos, Timetable};

use super::audit::Audit;
use super::delivery::Deliveries;
use super::register::Register;
use super::tally::{DieStep, Done, STEPS, StepCounts, Tally};
use super::{Ended, Waiter};
use crate::array::Timing;
use crate::state::{CAUSES, WRITE_MODES};
use crate::{CopyBack, DieIndex, Divisor, Geometry, PoolScope, Wiring};
use cycles::Cycle;
use die::{Bus, Die};
use marks::Marks;
use op::{NEVER, NOBODY, OpParts};
use push::Link;

/// Dies and buses whose grants are decided late.
#[derive(Debug)]
pub(in crate::array) struct InRuns {
    geometry: Geometry,
    timing: Timing,
    parts: OpParts,
    copies: CopyBack,
    dies: Vec<Die>,
    /// Per die, when it next asks for its bus.
    asks: Vec<u64>,
    buses: Vec<Bus>,
    /// Per bus, the state to compare with for repetitions.
    cycles: Vec<Cycle>,
    dies_per_bus: usize,
    /// Buses per island: one, or all of them if pools span channels.
    buses_per_island: Divisor,
    /// For each die, a time before which none of its host operations ends.
    wakes: Timetable,
    sequence: u64,
    /// The die of the last operation in the list that is being pushed.
    pushed_to: u32,
    /// Dies of the list so far. Their wake times are not updated yet.
    pushed: Vec<u32>,
    /// Operations that operations on other dies wait for.
    marks: Marks,
    /// Whether a die whose bus was blocked can go on.
    unblocked: bool,
    /// Per plane, the content of its register when all pushed operations have ended. Empty if a flash page has one
    /// unit.
    registers: Vec<Register>,
    /// Whether pages of any write mode are decoded.
    decodes: bool,
    /// Per operation of the list that is being pushed, its ties to others.
    links: Vec<Link>,
    /// Host operations whose pages are in the decoder: the request, and the start of the operation.
    decoded: Deliveries<(Waiter, u64)>,
    /// Counts of decided parts since measuring began, by step and cause.
    steps: Box<StepCounts>,
    /// Times of repeated reads among these, by cause.
    again: [Done; CAUSES],
    audit: Audit,
}

impl InRuns {
    pub(in crate::array) fn new(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        let dies = geometry.dies() as usize;
        let buses_per_island = if wiring.pool == PoolScope::Device { geometry.channels() } else { 1 };
        Self {
            geometry: *geometry,
            timing: *timing,
            decodes: timing.decodes(),
            parts: OpParts::new(timing),
            copies: wiring.array.copy_back,
            dies: (0..geometry.dies()).map(|die| Die::new(geometry.channel_of(DieIndex(die)).0)).collect(),
            asks: vec![NEVER; dies],
            buses: vec![Bus::default(); geometry.channels() as usize],
            cycles: vec![Cycle::new(geometry.dies_per_channel() as usize); geometry.channels() as usize],
            dies_per_bus: geometry.dies_per_channel() as usize,
            buses_per_island: Divisor::new(buses_per_island),
            wakes: Timetable::new(dies),
            sequence: 0,
            pushed_to: NOBODY,
            pushed: Vec::new(),
            marks: Marks::default(),
            unblocked: false,
            registers: match geometry.units_per_page() {
                1 => Vec::new(),
                _ => vec![Register::Other; geometry.planes() as usize],
            },
            links: Vec::new(),
            decoded: Deliveries::new(),
            steps: Box::new([0; WRITE_MODES * STEPS * CAUSES]),
            again: [Done::default(); CAUSES],
            audit: Audit::new(dies, geometry.channels() as usize, 0),
        }
    }

    /// Returns a time before which no operation for a host request ends.
    #[inline]
    pub(in crate::array) fn next_event(&self) -> Nanos {
        self.wakes.next().min(Nanos(self.decoded.next()))
    }

    /// Updates the time before which no host operation of die `index` ends.
    #[inline]
    fn wake(&mut self, index: usize) {
        let die = &self.dies[index];
        let at = match die.next_host_op() {
            _ if die.ends != NEVER => die.ends,
            None => NEVER,
            Some(planned) => self.earliest_end(index, planned).max(self.buses[die.bus as usize].caught_up + 1),
        };
        self.wakes.set(index, Nanos(at));
    }

    /// Returns the earliest time at which die `index` can have done `planned` work. It is assumed to wait only once:
    /// for the bus of its next transfer or, if its next operation waits for another die, for the earliest end there.
    #[inline]
    fn earliest_end(&self, mut index: usize, mut planned: u64) -> u64 {
        let mut work = 0;
        loop {
            let die = &self.dies[index];
            work += planned - die.reached;
            if !die.is_waiting() {
                return die.part_done_by(self.asks[index], self.buses[die.bus as usize].free) + work;
            }
            let mark = &self.marks[die.current.waits];
            (index, planned) = (mark.die as usize, mark.planned);
        }
    }

    /// Processes everything due at `now`, which is [`Self::next_event`], and appends the host operations that ended.
    #[inline]
    pub(in crate::array) fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        while self.wakes.next() == now {
            let index = self.wakes.first().expect("something is due");
            self.catch_up(self.dies[index].bus, now.0);
            let die = &mut self.dies[index];
            if die.ends == now.0 {
                if die.ending_decode == 0 {
                    ended.push(Ended { waiter: die.ending, start: Nanos(die.ending_start) });
                } else {
                    self.decoded.set(now.0 + die.ending_decode, (die.ending, die.ending_start));
                }
                die.ends = NEVER;
            }
            debug_assert!(die.ends > now.0, "an operation ended unnoticed");
            self.wake(index);
        }
        while let Some((waiter, start)) = self.decoded.take(now.0) {
            ended.push(Ended { waiter, start: Nanos(start) });
        }
    }

    /// Decides every grant to a die that asked before `now`, so that busy times are complete.
    pub(in crate::array) fn settle(&mut self, now: Nanos) {
        for bus in 0..self.geometry.channels() {
            self.catch_up(bus, now.0);
        }
    }

    /// Returns the busy times so far of all dies.
    pub(in crate::array) fn die_busy(&self) -> impl Iterator<Item = Nanos> {
        self.dies.iter().map(|die| Nanos(die.busy))
    }

    /// Returns the busy times so far of all buses.
    pub(in crate::array) fn bus_busy(&self) -> impl Iterator<Item = Nanos> {
        self.buses.iter().map(|bus| Nanos(bus.busy))
    }

    /// Returns the decided steps since measuring began, by kind and cause.
    pub(in crate::array) fn tally(&self) -> Tally {
        let mut tally = Tally::of_steps(&self.steps, &self.timing);
        tally.done[DieStep::ReadAgain as usize] = self.again;
        tally
    }

    /// Fills `into` with one time per die: how long after `now` its operations will keep it busy, as far as known.
    /// Waits for the bus are only included for the next transfer.
    pub(in crate::array) fn backlog(&mut self, now: Nanos, into: &mut Vec<u64>) {
        self.settle(now);
        into.clear();
        into.extend(
            self.dies
                .iter()
                .zip(&self.asks)
                .map(|(die, ask)| die.done_by(*ask, self.buses[die.bus as usize].free).saturating_sub(now.0)),
        );
    }

    /// See [`super::Array::takes_runs`]: false if some copies of a run take longer than others.
    pub(in crate::array) fn takes_runs(&self) -> bool {
        self.registers.is_empty()
    }

    /// See [`super::Array::waiting`].
    pub(in crate::array) fn waiting(&self, die: u32) -> u32 {
        self.dies[die as usize].waiting() as u32
    }

    /// See [`super::Array::next_in_order`].
    pub(in crate::array) fn next_in_order(&self) -> u64 {
        self.sequence
    }

    /// Sets the position of the next operation in the order of pushing.
    pub(in crate::array) fn continue_order(&mut self, place: u64) {
        self.sequence = place;
    }

    /// Resets busy times.
    pub(in crate::array) fn reset_busy(&mut self) {
        self.steps.fill(0);
        self.again.fill(Done::default());
        self.dies.iter_mut().for_each(|die| die.busy = 0);
        self.buses.iter_mut().for_each(|bus| bus.busy = 0);
    }
}
