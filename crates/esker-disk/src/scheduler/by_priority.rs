//! One scheduler per priority.

use std::collections::BTreeMap;

use esker_core::{Nanos, Priority};

use super::{Scheduler, Waiting};
use crate::Mechanics;

/// The commands that wait for the arm. Commands of a higher priority are served first; within a priority the scheduler
/// decides.
///
/// Lower priorities do not starve: if a command has waited for [`Self::aging`], its priority is served next, but never
/// twice in a row while commands of a higher priority wait. While a flush waits, all commands count as that old,
/// because the flush may wait for any of them.
pub(crate) struct ByPriority {
    build: fn() -> Box<dyn Scheduler>,
    /// By priority. Nearly always there is just one.
    levels: Vec<Level>,
    aging: Nanos,
    /// Whether the last command went ahead of a higher priority.
    aged: bool,
}

struct Level {
    priority: Priority,
    scheduler: Box<dyn Scheduler>,
    /// Arrival times by sequence number. Not kept for user commands: others go before them only by age.
    came: BTreeMap<u64, Nanos>,
}

impl ByPriority {
    pub(crate) fn new(build: fn() -> Box<dyn Scheduler>, aging: Nanos) -> Self {
        Self { build, levels: Vec::new(), aging, aged: false }
    }

    /// Adds a command that arrived at `came`. Sequence numbers rise with every call.
    #[inline]
    pub(crate) fn push(&mut self, came: Nanos, priority: Priority, command: Waiting) {
        let index = match self.levels.first() {
            Some(first) if first.priority == priority => 0,
            _ => self.level(priority),
        };
        let level = &mut self.levels[index];
        if priority != Priority::USER {
            level.came.insert(command.sequence, came);
        }
        level.scheduler.push(command);
    }

    #[cold]
    fn level(&mut self, priority: Priority) -> usize {
        let index = self.levels.partition_point(|level| level.priority < priority);
        if self.levels.get(index).is_none_or(|level| level.priority != priority) {
            self.levels.insert(index, Level { priority, scheduler: (self.build)(), came: BTreeMap::new() });
        }
        index
    }

    /// Takes out the command to serve next.
    #[inline]
    pub(crate) fn pop(&mut self, now: Nanos, mechanics: &Mechanics, flush_waits: bool) -> Option<Waiting> {
        let index = match self.levels.len() {
            0 => return None,
            1 => 0,
            _ => self.turn(now, flush_waits)?,
        };
        let level = &mut self.levels[index];
        let command = level.scheduler.pop(now, mechanics)?;
        level.came.remove(&command.sequence);
        Some(command)
    }

    /// The level whose turn it is, if there are several.
    fn turn(&mut self, now: Nanos, flush_waits: bool) -> Option<usize> {
        let mut waiting = (0..self.levels.len()).filter(|index| !self.levels[*index].scheduler.is_empty());
        let first = waiting.next()?;
        let oldest = waiting.filter_map(|index| Some((*self.levels[index].came.values().next()?, index))).min();
        let due = |(came, _): &(Nanos, usize)| flush_waits || now.saturating_sub(*came) >= self.aging;
        let aged = oldest.filter(due).filter(|_| !self.aged);
        self.aged = aged.is_some();
        Some(aged.map_or(first, |(_, index)| index))
    }
}
