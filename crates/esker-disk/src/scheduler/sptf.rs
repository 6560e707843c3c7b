//! SPTF: shortest positioning time first.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "sptf",
    summary: "the command that the head reaches first, by seek and rotation; the oldest once many have passed it",
    source: "Worthington, Ganger and Patt, SIGMETRICS 1994",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Sptf::default()),
};

/// How many later commands may pass a command, for each one that waits with it. Assumed: enough to hardly ever matter
/// where commands are spread.
const PASSES: u64 = 8;

/// Commands in order of arrival, each with the number of commands that had been served when it came.
#[derive(Default)]
struct Sptf {
    waiting: Vec<(Waiting, u64)>,
    served: u64,
}

impl Scheduler for Sptf {
    fn push(&mut self, command: Waiting) {
        self.waiting.push((command, self.served));
    }

    fn pop(&mut self, now: Nanos, mechanics: &Mechanics) -> Option<Waiting> {
        let &(_, came) = self.waiting.first()?;
        let patience = PASSES * self.waiting.len() as u64;
        let time = |(command, _): &(Waiting, u64)| mechanics.positioning_time(now, command.start, command.write);
        let index = if self.served - came > patience {
            0
        } else {
            let nearest = self.waiting.iter().enumerate().min_by_key(|(_, waiting)| time(waiting));
            nearest.expect("at least one waits").0
        };
        self.served += 1;
        Some(self.waiting.remove(index).0)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskSettings, PRESETS};

    fn mechanics() -> Mechanics {
        let settings: DiskSettings = toml::from_str(PRESETS[0].toml).unwrap();
        Mechanics::new(&settings).unwrap()
    }

    fn command(start: u64, sequence: u64) -> Waiting {
        Waiting { start, write: false, sequence, slot: sequence as u32 }
    }

    #[test]
    fn rotation_counts_as_much_as_seeks() {
        let (mut queue, mechanics) = (Sptf::default(), mechanics());
        // On the arm's own track: sector 0 is below the head, 300 and 100 come later in this turn.
        [300, 100, 0].iter().enumerate().for_each(|(index, start)| queue.push(command(*start, index as u64)));
        // A track at the other end of the disk takes longer than a turn.
        queue.push(command(70_000_000, 3));
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mechanics)).map(|next| next.start).collect();
        assert_eq!(order, [0, 100, 300, 70_000_000]);
    }

    #[test]
    fn a_command_far_away_is_passed_only_so_often() {
        let (mut queue, mechanics) = (Sptf::default(), mechanics());
        queue.push(command(70_000_000, 0));
        let mut passed = 0;
        loop {
            passed += 1;
            queue.push(command(10, passed));
            if queue.pop(Nanos::ZERO, &mechanics).unwrap().sequence == 0 {
                break;
            }
        }
        assert_eq!(passed, 2 * PASSES + 2);
    }
}
