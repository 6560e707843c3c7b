//! C-LOOK: sweep after sweep in the direction of rising addresses.

use std::collections::BTreeMap;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "c-look",
    summary: "sweeps from the lowest waiting address to the highest, then back to the lowest at once",
    source: "Worthington, Ganger and Patt, SIGMETRICS 1994",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(CLook::default()),
};

/// Commands by address; at equal addresses, in order of arrival. A sweep only goes forward. Of the commands for one
/// address, it serves those that were there when it passed. So every command is served in this sweep or in the next
/// one. A stream that runs ahead of the arm delays the commands behind it until the end of the disk, or until they have
/// waited too long.
#[derive(Default)]
struct CLook {
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// Address and sequence number of the last command served.
    last: (u64, u64),
    /// Commands for `last.0` with this number or a later one came too late for the sweep.
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

    fn oldest(&self) -> Option<Waiting> {
        self.waiting.values().min_by_key(|command| command.sequence).copied()
    }

    /// The sweep later continues from where it was.
    fn pop_oldest(&mut self) -> Option<Waiting> {
        let oldest = self.oldest()?;
        self.waiting.remove(&(oldest.start, oldest.sequence))
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{mechanics, read};
    use proptest::prelude::*;

    #[test]
    fn a_flood_at_one_address_holds_nobody_up() {
        let (mut queue, mechanics) = (CLook::default(), mechanics());
        queue.push(read(50, 0));
        queue.push(read(100, 1));
        let order: Vec<u64> = (2..6)
            .map(|sequence| {
                let served = queue.pop(Nanos::ZERO, &mechanics).unwrap();
                queue.push(read(50, sequence));
                served.sequence
            })
            .collect();
        // The two commands at address 50 that arrived while it was served wait for the next sweep.
        assert_eq!(order, [0, 1, 2, 3]);
    }

    proptest! {
        /// While other commands keep arriving at the worst addresses, a command waits for at most two sweeps. A sweep
        /// is no longer than the number of addresses times the queue.
        #[test]
        fn every_command_is_served_within_two_sweeps(
            starts in prop::collection::vec(0..6u64, 400),
            waiting in 1..8usize,
        ) {
            let (mut queue, mechanics) = (CLook::default(), mechanics());
            let mut pushed_at = Vec::new();
            for (round, &start) in starts.iter().enumerate() {
                let sequence = pushed_at.len() as u64;
                queue.push(read(start, sequence));
                pushed_at.push(round);
                if queue.len() > waiting {
                    let served = queue.pop(Nanos::ZERO, &mechanics).unwrap();
                    let waited = round - pushed_at[served.sequence as usize];
                    prop_assert!(waited <= 2 * 6 * (waiting + 1), "{waited} rounds");
                }
            }
            let mut rest = 0;
            while queue.pop(Nanos::ZERO, &mechanics).is_some() {
                rest += 1;
            }
            prop_assert_eq!(rest, waiting.min(starts.len()));
        }
    }
}
