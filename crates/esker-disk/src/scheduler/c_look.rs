//! C-LOOK: one sweep after another in the direction of rising addresses.

use std::collections::BTreeMap;

use esker_core::Nanos;

use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "c-look",
    summary: "sweeps from the lowest waiting address to the highest, then back to the lowest at once",
    build: || Box::new(CLook::default()),
};

/// Commands by address, equal addresses in order of arrival. A sweep only goes forward, and of the commands for one
/// address it serves those that were there when it came by: whatever arrives meanwhile, a command is served in this sweep
/// or in the next.
#[derive(Default)]
struct CLook {
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// Address and sequence number of the last command served.
    last: (u64, u64),
    /// Commands for `last.0` from this number on came too late for the sweep.
    late: u64,
    /// One past the highest sequence number seen.
    next_sequence: u64,
}

impl Scheduler for CLook {
    fn push(&mut self, command: Waiting) {
        self.next_sequence = command.sequence + 1;
        self.waiting.insert((command.start, command.sequence), command);
    }

    fn pop(&mut self, _: Nanos, _: &Mechanics) -> Option<Waiting> {
        let (start, sequence) = self.last;
        let key = match self.waiting.range((start, sequence + 1)..).next() {
            Some((key, _)) if key.0 == start && key.1 >= self.late => {
                self.waiting.range((start + 1, 0)..).next().map(|(key, _)| *key)
            }
            key => key.map(|(key, _)| *key),
        };
        let swept = key.is_none();
        let key = key.or_else(|| self.waiting.keys().next().copied())?;
        if swept || key.0 != start {
            self.late = self.next_sequence;
        }
        self.last = key;
        self.waiting.remove(&key)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
