//! Operations in time: dies do one operation at a time, buses carry one transfer at a time.
//!
//! There are two schedulers. `in_runs` covers the usual drive, first in, first out, and decides in long runs: millions
//! of operations a second. `by_event` goes from event to event. It covers what depends on all waiting operations: reads
//! first, several planes at once, suspended programs, gangs with shared control, pages that span dies. The first one is
//! used if it supports the settings.

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

use crate::state::{Cause, ChangeFate, Cover, FlashOp, WriteMode};
use crate::{CopyBack, Geometry, Wiring};
use by_event::{ByEvent, Layout};
use in_runs::InRuns;

pub use tally::{DieStep, Done, Tally};
pub use timing::{Decoding, DecodingStep, ModeTiming, STEPS_MAX, Timing};
pub use waiter::{Waiter, WaiterKind};

/// An operation that has ended, and that something waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What waited for it, as given to [`Array::push`].
    pub waiter: Waiter,
    /// When its die began it.
    pub start: Nanos,
}

/// An operation of any kind and cause that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Performed {
    /// The kind of step. A copy over the bus is two steps.
    pub step: DieStep,
    /// The reason for it.
    pub cause: Cause,
    /// The write mode of the page that it reads or programs.
    pub mode: WriteMode,
    /// Index of the die in the array.
    pub die: u32,
    /// Index of the plane in its die.
    pub plane: u32,
    /// The page, as numbered by the translation layer; the highest number for an erase.
    pub page: u32,
    /// The block, as numbered by the translation layer, and the part of it.
    pub block: u32,
    /// What waited for it.
    pub waiter: Waiter,
    /// Its position in the order of pushing.
    pub sequence: u64,
    /// When the die began it.
    pub begin: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// How much of that time it waited for the bus.
    pub bus_wait: Nanos,
}

/// The dies and buses of one device.
#[derive(Debug)]
pub struct Array(Scheduler);

/// The part that decides when operations run.
#[derive(Debug)]
enum Scheduler {
    /// First in, first out, decided in long runs.
    InRuns(Box<InRuns>),
    /// Any order, decided from event to event.
    ByEvent(Box<ByEvent>),
}

impl Array {
    /// Creates an idle array, with the fast scheduler if that supports `wiring`. `geometry` is the array as the
    /// translation layer sees it.
    pub fn new(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        match wiring.array.is_simple() {
            true => Self(Scheduler::InRuns(Box::new(InRuns::new(geometry, timing, wiring)))),
            false => Self::by_event(geometry, timing, wiring),
        }
    }

    /// Creates an idle array with the event-by-event scheduler, whether or not the settings need it.
    fn by_event(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        let (array, span, depth) = wiring.layout();
        let layout = Layout::new(&array, &span, depth);
        Self(Scheduler::ByEvent(Box::new(ByEvent::new(geometry, layout, timing, wiring.array))))
    }

    /// Creates an idle array that records its operations for [`Self::performed`].
    pub fn recording(geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>) -> Self {
        let mut array = Self::by_event(geometry, timing, wiring);
        array.as_by_event().record();
        array
    }

    /// Returns true if the scheduler is the fast one.
    pub fn decides_in_runs(&self) -> bool {
        matches!(self.0, Scheduler::InRuns(_))
    }

    /// Takes the operations that ended since the last call, if they are recorded.
    pub fn performed(&mut self) -> impl Iterator<Item = Performed> {
        let performed = match &mut self.0 {
            Scheduler::InRuns(_) => None,
            Scheduler::ByEvent(array) => array.performed(),
        };
        performed.into_iter().flatten()
    }

    /// Starts to track which programs and erases were performed. Nothing must have been pushed yet.
    pub fn track_changes(&mut self, geometry: &Geometry, timing: &Timing, wiring: &Wiring<'_>, blocks_per_pool: u32) {
        if self.decides_in_runs() {
            *self = Self::by_event(geometry, timing, wiring);
        }
        self.as_by_event().track_changes(blocks_per_pool);
    }

    /// While changes are tracked: sets, for each change of the next push, whether it waits for all earlier changes of
    /// its pool.
    pub fn set_waits(&mut self, waits: impl Iterator<Item = bool>) {
        self.as_by_event().set_waits(waits);
    }

    /// Returns how many tracked changes were pushed, and how many come before the first that was not performed.
    pub fn changes(&mut self) -> (u64, u64) {
        self.as_by_event().changes()
    }

    /// Returns the number of operations that ended since tracking began.
    pub fn operations(&mut self) -> u64 {
        self.as_by_event().operations()
    }

    /// While changes are tracked: returns how long after `now` the dies need to finish the programs and erases that
    /// they have begun, not counting waits for the bus.
    pub fn rest(&mut self, now: Nanos) -> Nanos {
        self.as_by_event().rest(now)
    }

    /// Loses power: all dies stop, and their operations are dropped. Returns what became of each change after those
    /// that [`Self::changes`] counts as performed. Stops tracking changes.
    pub fn lose_power(&mut self) -> Vec<ChangeFate> {
        self.as_by_event().lose_power()
    }

    /// Returns the event-by-event scheduler, which tracks and records.
    fn as_by_event(&mut self) -> &mut ByEvent {
        match &mut self.0 {
            Scheduler::InRuns(_) => unreachable!("changes are tracked event by event"),
            Scheduler::ByEvent(array) => array,
        }
    }

    /// Returns a time before which no operation for a host request ends.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match &self.0 {
            Scheduler::InRuns(array) => array.next_event(),
            Scheduler::ByEvent(array) => array.next_event(),
        }
    }

    /// Returns true if copies of consecutive pages may be pushed as one operation.
    pub fn takes_runs(&self) -> bool {
        matches!(&self.0, Scheduler::InRuns(array) if array.takes_runs())
    }

    /// Takes the operations of one call of the translation layer at `now`, at least one.
    ///
    /// Operations that are awaited belong to `waiter`, and read only the parts of pages in `cover`. Returns how many of
    /// them will be reported as ended. If one of them waits for another, only the later one may be reported, with the
    /// start of the earlier one. `more_steps` has the decoding steps beyond the first of each operation, or is empty.
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

    /// Returns the number of awaited operations that the translation layer's `die` has not begun. If `die` spans
    /// several dies of the array, the smallest of their numbers counts.
    pub fn waiting(&self, die: u32) -> u32 {
        match &self.0 {
            Scheduler::InRuns(array) => array.waiting(die),
            Scheduler::ByEvent(array) => array.waiting(die),
        }
    }

    /// Returns the position of the next operation in the order of pushing, which breaks ties.
    pub fn next_in_order(&self) -> u64 {
        match &self.0 {
            Scheduler::InRuns(array) => array.next_in_order(),
            Scheduler::ByEvent(array) => array.next_in_order(),
        }
    }

    /// Sets the position of the next operation in the order of pushing: `reads` reads after `place`.
    pub fn continue_order(&mut self, place: u64, reads: u64) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.continue_order(place + reads),
            Scheduler::ByEvent(array) => array.continue_order(place, reads),
        }
    }

    /// Processes everything due at `now`, which is [`Self::next_event`], and appends the host operations that ended.
    #[inline]
    pub fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.advance(now, ended),
            Scheduler::ByEvent(array) => array.advance(now, ended),
        }
    }

    /// Processes what is due at [`Self::next_event`], which is before `limit`, and then at later times before `limit`
    /// until a host operation has ended. Returns the last of these times. Appends the host operations that ended.
    #[inline]
    pub fn advance_before(&mut self, limit: Nanos, ended: &mut Vec<Ended>) -> Nanos {
        match &mut self.0 {
            Scheduler::InRuns(array) => {
                let now = array.next_event();
                array.advance(now, ended);
                now
            }
            Scheduler::ByEvent(array) => array.advance_before(limit, ended),
        }
    }

    /// Updates busy times to `now`.
    pub fn settle(&mut self, now: Nanos) {
        if let Scheduler::InRuns(array) = &mut self.0 {
            array.settle(now);
        }
    }

    /// Fills `into` with one time per die of the translation layer: how long after `now` its operations will keep it
    /// busy, as far as known.
    pub fn backlog(&mut self, now: Nanos, into: &mut Vec<u64>) {
        match &mut self.0 {
            Scheduler::InRuns(array) => array.backlog(now, into),
            Scheduler::ByEvent(array) => array.backlog(now, into),
        }
    }

    /// Returns the busy times so far of all dies.
    pub fn die_busy(&self) -> Vec<Nanos> {
        match &self.0 {
            Scheduler::InRuns(array) => array.die_busy().collect(),
            Scheduler::ByEvent(array) => array.die_busy().collect(),
        }
    }

    /// Returns the busy times so far of all buses.
    pub fn bus_busy(&self) -> Vec<Nanos> {
        match &self.0 {
            Scheduler::InRuns(array) => array.bus_busy().collect(),
            Scheduler::ByEvent(array) => array.bus_busy().collect(),
        }
    }

    /// Returns the steps since measuring began, by kind and cause.
    pub fn tally(&self) -> Tally {
        match &self.0 {
            Scheduler::InRuns(array) => array.tally(),
            Scheduler::ByEvent(array) => array.tally(),
        }
    }

    /// Resets busy times.
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
    /// Returns true if a copy is done within a plane.
    #[inline]
    pub fn applies(self, geometry: &Geometry, from: PhysicalPage, to: PhysicalPage) -> bool {
        self != Self::Off && geometry.plane_of(geometry.block_of(from)) == geometry.plane_of(geometry.block_of(to))
    }
}
