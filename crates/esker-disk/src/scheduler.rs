//! The order in which the arm serves commands.
//!
//! # How to add a scheduler
//!
//! One file, `scheduler/batches.rs`; the tests compile this one and check it along with those of the registry:
//!
#![doc = "```ignore"]
#![doc = include_str!("scheduler/worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod batches;`, and `batches::ENTRY` in [`SCHEDULERS`]. The tests that walk the registry cover
//! it from then on, and `scheduler = "batches"` selects it.

mod bounded;
mod by_priority;
mod c_look;
mod cheapest;
mod fcfs;
mod sptf;
mod sstf;
#[cfg(test)]
mod tests;
mod vscan;
#[cfg(test)]
mod worked_example;

use esker_core::Nanos;
use esker_core::registry::Entry;

use crate::{Mechanics, WaitLimit};

pub(crate) use bounded::Bounded;
pub(crate) use by_priority::ByPriority;

/// A command that waits for the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// First sector.
    pub start: u64,
    /// Whether the command writes.
    pub write: bool,
    /// Order of arrival; every command has its own.
    pub sequence: u64,
    /// When the command arrived at the disk. Never earlier than a command with a smaller sequence number.
    pub came: Nanos,
    /// The disk's own number for the command; schedulers ignore it.
    pub slot: u32,
}

/// Chooses which command the arm serves next. A scheduler holds the waiting commands of one priority. The disk limits
/// their number.
pub trait Scheduler: Send {
    /// Adds a command. Sequence numbers rise from call to call.
    fn push(&mut self, command: Waiting);

    /// Takes out the command to serve next, at `now`, from the position of `mechanics`; `None` only if none waits. May
    /// let a command wait for as long as others keep coming, since the disk itself limits waits by `wait_limit`.
    fn pop(&mut self, now: Nanos, mechanics: &Mechanics) -> Option<Waiting>;

    /// Returns the waiting command that was added first.
    fn oldest(&self) -> Option<Waiting>;

    /// Takes out that command, which has waited too long.
    fn pop_oldest(&mut self) -> Option<Waiting>;

    /// Returns the number of waiting commands.
    fn len(&self) -> usize;

    /// Returns true if no command waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One scheduler of the registry; `build` makes an empty one.
pub type SchedulerEntry = Entry<fn() -> Box<dyn Scheduler>>;

/// Every scheduler, in the order in which lists show them. To add one, add a file here and its entry to this list.
pub static SCHEDULERS: &[SchedulerEntry] = &[fcfs::ENTRY, c_look::ENTRY, sstf::ENTRY, vscan::ENTRY, sptf::ENTRY];
