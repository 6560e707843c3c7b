//! Limits waits, for any scheduler.

use esker_core::Nanos;

use super::{Scheduler, WaitLimit, Waiting};
use crate::Mechanics;

/// A scheduler whose order keeps no command waiting longer than a limit: a command that has waited that long goes next,
/// the oldest one first.
pub(crate) struct Bounded {
    scheduler: Box<dyn Scheduler>,
    /// [`Nanos::NEVER`] if waits are not limited.
    limit: Nanos,
    /// No command reaches the limit before this time.
    none_due_before: Nanos,
}

impl Bounded {
    pub(crate) fn new(scheduler: Box<dyn Scheduler>, limit: WaitLimit) -> Self {
        Self { scheduler, limit: limit.time().unwrap_or(Nanos::NEVER), none_due_before: Nanos::NEVER }
    }

    #[inline]
    pub(crate) fn push(&mut self, command: Waiting) {
        self.none_due_before = self.none_due_before.min(self.due(&command));
        self.scheduler.push(command);
    }

    /// Takes out the command to serve next.
    #[inline]
    pub(crate) fn pop(&mut self, now: Nanos, mechanics: &Mechanics) -> Option<Waiting> {
        if self.overdue(now) { self.scheduler.pop_oldest() } else { self.scheduler.pop(now, mechanics) }
    }

    /// Returns true if a command has waited for as long as the limit.
    #[inline]
    pub(crate) fn overdue(&mut self, now: Nanos) -> bool {
        now >= self.none_due_before && self.find_due(now)
    }

    #[cold]
    fn find_due(&mut self, now: Nanos) -> bool {
        self.none_due_before = self.scheduler.oldest().map_or(Nanos::NEVER, |oldest| self.due(&oldest));
        now >= self.none_due_before
    }

    fn due(&self, command: &Waiting) -> Nanos {
        Nanos(command.came.0.saturating_add(self.limit.0))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.scheduler.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.scheduler.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{mechanics, read};
    use crate::scheduler::{SCHEDULERS, sstf};

    fn came(at: u64, start: u64, sequence: u64) -> Waiting {
        Waiting { came: Nanos(at), ..read(start, sequence) }
    }

    #[test]
    fn a_command_is_passed_until_it_has_waited_for_the_limit() {
        let mechanics = mechanics();
        for (limit, expected) in [("30ns", [1, 2, 0, 3]), ("0s", [0, 1, 2, 3]), ("off", [1, 2, 3, 0])] {
            let mut queue = Bounded::new((sstf::ENTRY.build)(), limit.parse().unwrap());
            // The first command is far away. Each of the others comes 10 ns later, at the position of the arm.
            queue.push(came(0, 70_000_000, 0));
            let mut order = Vec::new();
            for round in 1..=3 {
                queue.push(came(round * 10, 0, round));
                order.push(queue.pop(Nanos(round * 10), &mechanics).unwrap().sequence);
            }
            order.push(queue.pop(Nanos(40), &mechanics).unwrap().sequence);
            assert_eq!(order, expected, "{limit}");
        }
    }

    #[test]
    fn without_a_limit_no_time_is_too_late() {
        for entry in SCHEDULERS {
            let mut queue = Bounded::new((entry.build)(), WaitLimit::OFF);
            queue.push(came(0, 7, 0));
            assert!(!queue.overdue(Nanos(Nanos::LAST.0)), "{}", entry.name);
        }
    }
}
