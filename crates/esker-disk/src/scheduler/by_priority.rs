//! One scheduler per priority.

use std::collections::BTreeMap;

use esker_core::{Nanos, Priority};

use super::{Bounded, Scheduler, WaitLimit, Waiting};
use crate::Mechanics;

/// The commands that wait for the arm. Commands of a higher priority are served first. Within a priority the scheduler
/// decides, up to its limit on waits.
///
/// Lower priorities do not starve: if a command has waited for [`Self::aging`], its priority is served next, but never
/// twice in a row while commands of a higher priority wait. While a flush waits, all commands count as that old, since
/// the flush may wait for any of them.
pub(crate) struct ByPriority {
    build: fn() -> Box<dyn Scheduler>,
    limit: WaitLimit,
    /// In the order of priorities. Nearly always there is only one.
    levels: Vec<Level>,
    aging: Nanos,
    /// Whether the last command went ahead of a higher priority.
    aged: bool,
}

struct Level {
    priority: Priority,
    scheduler: Bounded,
    /// Arrival times by sequence number. Not kept for user commands, since others go before them only because of their
    /// age.
    came: BTreeMap<u64, Nanos>,
}

impl ByPriority {
    pub(crate) fn new(build: fn() -> Box<dyn Scheduler>, limit: WaitLimit, aging: Nanos) -> Self {
        Self { build, limit, levels: Vec::new(), aging, aged: false }
    }

    /// Adds a command. Sequence numbers rise with every call.
    #[inline]
    pub(crate) fn push(&mut self, priority: Priority, command: Waiting) {
        let index = match self.levels.first() {
            Some(first) if first.priority == priority => 0,
            _ => self.level(priority),
        };
        let level = &mut self.levels[index];
        if priority != Priority::USER {
            level.came.insert(command.sequence, command.came);
        }
        level.scheduler.push(command);
    }

    #[cold]
    fn level(&mut self, priority: Priority) -> usize {
        let index = self.levels.partition_point(|level| level.priority < priority);
        if self.levels.get(index).is_none_or(|level| level.priority != priority) {
            let scheduler = Bounded::new((self.build)(), self.limit);
            self.levels.insert(index, Level { priority, scheduler, came: BTreeMap::new() });
        }
        index
    }

    /// Takes out the command to serve next.
    #[inline]
    pub(crate) fn pop(&mut self, now: Nanos, mechanics: &Mechanics, flush_waits: bool) -> Option<Waiting> {
        // Nearly always, user commands are the only ones. They have no arrival times here.
        if let [users] = &mut self.levels[..]
            && users.priority == Priority::USER
        {
            return users.scheduler.pop(now, mechanics);
        }
        self.pop_of_several(now, mechanics, flush_waits)
    }

    #[cold]
    fn pop_of_several(&mut self, now: Nanos, mechanics: &Mechanics, flush_waits: bool) -> Option<Waiting> {
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

    /// Returns true if a command has waited for as long as the limit.
    #[inline]
    pub(crate) fn overdue(&mut self, now: Nanos) -> bool {
        self.levels.iter_mut().any(|level| level.scheduler.overdue(now))
    }

    /// Returns the level whose turn it is, if there are several.
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
