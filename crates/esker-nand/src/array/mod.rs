//! The array in time: dies that do one operation at a time, buses that carry one transfer at a time.
//!
//! There are two schedulers. `in_runs` holds the rules for the usual drive, first in, first out, and decides in long
//! runs: millions of operations a second. `by_event` goes from event to event, and so can do what needs a look at all
//! that waits: reads first, several planes at once, suspended programs, gangs with shared control, pages that span
//! dies. Where the first can do what is asked, it is used.

mod audit;
mod by_event;
mod delivery;
mod in_runs;
mod register;
mod tally;
#[cfg(test)]
mod tests;
mod timing;
mod waiter;

use esker_core::{Nanos, PhysicalPage};

use crate::state::{Cause, Cover, Fate, FlashOp};
use crate::{CopyBack, Geometry, Wiring};
use by_event::{ByEvent, Layout};
use in_runs::InRuns;

pub use tally::{Done, Step, Tally};
pub use timing::{Decoding, DecodingStep, STEPS_MAX, Timing};
pub use waiter::{Waiter, WaiterKind};

/// An operation that ended, and that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Who waits for it: what [`Array::push`] was given.
    pub waiter: Waiter,
    /// When its die began with it.
    pub start: Nanos,
}

/// An operation that ended, whatever it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Performed {
    /// What was done. A copy over the bus is two.
    pub step: Step,
    /// Why.
    pub cause: Cause,
    /// Counted over the array.
    pub die: u32,
    /// Counted within the die.
    pub plane: u32,
    /// The page of the translation layer's; the last of all numbers for an erase.
    pub page: u32,
    /// The block of the translation layer's, and which part of it.
    pub block: u32,
    /// Who waits for it.
    pub waiter: Waiter,
    /// Its place in the order of pushing.
    pub sequence: u64,
    /// When the die began with it.
    pub begin: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Of the time between, how long it waited for the bus.
    pub bus_wait: Nanos,
}

/// The dies and buses of one device.
#[derive(Debug)]
pub struct Array(Scheduler);

/// What decides when operations are done.
#[derive(Debug)]
enum Scheduler {
    /// First in, first out, decided in long runs.
    InRuns(Box<InRuns>),
    /// Any order, decided from event to event.
    ByEvent(Box<ByEvent>),
}

impl Array {
    /// The fast scheduler where it can do what `wiring` asks for. `geometry` is what the translation layer sees.
    pub fn new(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        match wiring.array.is_simple() {
            true => Self(Scheduler::InRuns(Box::new(InRuns::new(geometry, timing, wiring)))),
            false => Self::by_event(geometry, timing, wiring),
        }
    }

    /// The scheduler that goes from event to event, even where the settings do not need it.
    fn by_event(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        let (array, span, depth) = wiring.layout();
        let layout = Layout::new(&array, &span, depth);
        Self(Scheduler::ByEvent(Box::new(ByEvent::new(geometry, layout, timing, wiring.array))))
    }

    /// The same array with nothing under way, which keeps what it performs for [`Self::performed`].
    pub fn recording(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        let mut array = Self::by_event(geometry, timing, wiring);
        array.as_by_event().record();
        array
    }

    /// Whether it decides in long runs.
    pub fn decides_in_runs(&self) -> bool {
        matches!(self.0, Scheduler::InRuns(_))
    }

    /// Operations that ended since this was last asked, where they are recorded.
    pub fn performed(&mut self) -> impl Iterator<Item = Performed> {
        let performed = match &mut self.0 {
            Scheduler::InRuns(_) => None,
            Scheduler::ByEvent(array) => array.performed(),
        };
        performed.into_iter().flatten()
    }

    /// Follows from now on which programs and erases were performed. Nothing was pushed yet.
    pub fn follow(&mut self, geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>, blocks_per_pool: u32) {
        if self.decides_in_runs() {
            *self = Self::by_event(geometry, timing, wiring);
        }
        self.as_by_event().follow(blocks_per_pool);
    }

    /// Where changes are followed: whether each change of the next push has to wait for all before it of its pool.
    pub fn expect_waits(&mut self, waits: impl Iterator<Item = bool>) {
        self.as_by_event().expect_waits(waits);
    }

    /// How many of the changes that are followed were pushed, and how many before the first that was not performed.
    pub fn changes(&mut self) -> (u64, u64) {
        self.as_by_event().changes()
    }

    /// How many operations ended since changes are followed.
    pub fn operations(&mut self) -> u64 {
        self.as_by_event().operations()
    }

    /// Where changes are followed: how long dies take after `now` to end the programs and erases that they have begun,
    /// without waiting for buses.
    pub fn rest(&mut self, now: Nanos) -> Nanos {
        self.as_by_event().rest(now)
    }

    /// Power fails: all dies stop, and forget what they were given. Tells what became of each change after those that
    /// [`Self::changes`] counts as performed. Changes are not followed any more.
    pub fn cut(&mut self) -> Vec<Fate> {
        self.as_by_event().cut()
    }

    /// The scheduler that follows and records.
    fn as_by_event(&mut self) -> &mut ByEvent {
        match &mut self.0 {
            Scheduler::InRuns(_) => unreachable!("changes are followed from event to event"),
            Scheduler::ByEvent(array) => array,
        }
    }

    /// When an operation for a host request may next end.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match &self.0 {
            Scheduler::InRuns(array) => array.next_event(),
            Scheduler::ByEvent(array) => array.next_event(),
        }
    }

    /// Whether copies of pages side by side may be one operation.
    pub fn takes_runs(&self) -> bool {
        matches!(&self.0, Scheduler::InRuns(array) if array.takes_runs())
    }

    /// Takes the operations of one call of the translation layer at `now`, at least one. Those that are awaited
    /// belong to `waiter`, and need only what `cover` says of pages that are read; says how many of them it
    /// will tell the end of: where one waits for another, that may be the later one alone, with the time at
    /// which the earlier one began. Where `more_steps` is not empty, it has for each operation how many decoding
    /// steps its read takes beyond the first.
    #[inline]
    pub fn push(
        &mut self,
        now: Nanos,
        ops: &[FlashOp],
        more_steps: &[u8],
        waiter: Waiter,
        cover: Option<&Cover>,
    ) -> u32 {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.push(now, ops, more_steps, waiter),
            Scheduler::ByEvent(array) => array.push(now, ops, more_steps, waiter, cover),
        }
    }

    /// Operations of the translation layer's `die` that it has before it; where that is several dies, of the one with
    /// the fewest. All of them are ones that somebody waits for.
    pub fn waiting(&self, die: u32) -> u32 {
        match &self.0 {
            Scheduler::InRuns(array) => array.waiting(die),
            Scheduler::ByEvent(array) => array.waiting(die),
        }
    }

    /// The place of the next operation in the order of pushing, which settles ties.
    pub fn next_in_order(&self) -> u64 {
        match &self.0 {
            Scheduler::InRuns(array) => array.next_in_order(),
            Scheduler::ByEvent(array) => array.next_in_order(),
        }
    }

    /// Gives the next operation the place in the order of pushing that comes `reads` reads after `place`.
    pub fn continue_order(&mut self, place: u64, reads: u64) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.continue_order(place + reads),
            Scheduler::ByEvent(array) => array.continue_order(place, reads),
        }
    }

    /// Does what is due at `now`, which is [`Self::next_event`], and appends the host operations that ended.
    #[inline]
    pub fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.advance(now, ended),
            Scheduler::ByEvent(array) => array.advance(now, ended),
        }
    }

    /// Brings busy times up to `now`.
    pub fn settle(&mut self, now: Nanos) {
        if let Scheduler::InRuns(array) = &mut self.0 {
            array.settle(now);
        }
    }

    /// Per die of the translation layer, for how long after `now` what it was given will keep it busy, as far as known.
    pub fn backlog(&mut self, now: Nanos, into: &mut Vec<u64>) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.backlog(now, into),
            Scheduler::ByEvent(array) => array.backlog(now, into),
        }
    }

    /// Busy times so far of all dies.
    pub fn die_busy(&self) -> Vec<Nanos> {
        match &self.0 {
            Scheduler::InRuns(array) => array.die_busy().collect(),
            Scheduler::ByEvent(array) => array.die_busy().collect(),
        }
    }

    /// Busy times so far of all buses.
    pub fn bus_busy(&self) -> Vec<Nanos> {
        match &self.0 {
            Scheduler::InRuns(array) => array.bus_busy().collect(),
            Scheduler::ByEvent(array) => array.bus_busy().collect(),
        }
    }

    /// What was done since measuring began, by kind and cause.
    pub fn tally(&self) -> Tally {
        match &self.0 {
            Scheduler::InRuns(array) => array.tally(),
            Scheduler::ByEvent(array) => array.tally(),
        }
    }

    /// Begins to count busy times anew.
    pub fn reset_busy(&mut self) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.reset_busy(),
            Scheduler::ByEvent(array) => array.reset_busy(),
        }
    }

    /// Asserts that busy times by kind and cause add up to those of dies and buses.
    #[cfg(debug_assertions)]
    pub fn check_tally(&self) {
        let sum = |times: Vec<Nanos>| times.iter().map(|time| time.0).sum();
        self.tally().check(sum(self.die_busy()), sum(self.bus_busy()));
    }
}

impl CopyBack {
    /// Whether a copy is done within a plane.
    #[inline]
    pub fn applies(self, geometry: &Geometry, from: PhysicalPage, to: PhysicalPage) -> bool {
        self != Self::Off && geometry.plane_of(geometry.block_of(from)) == geometry.plane_of(geometry.block_of(to))
    }
}
