//! V(R): between SSTF and a sweep, by a penalty for reversing direction.

use std::cmp::Ordering;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::cheapest::CheapestQueue;
use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "vscan",
    summary: "the command whose cylinder is nearest, where those behind the arm count as a fifth of the disk further \
              away",
    source: "V(R) of Geist and Daniel, ACM TOCS 5(1), 1987, with their R = 0.2",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Vscan::default()),
};

/// Reversing direction costs as much as this fraction (1/5) of all cylinders: R = 0.2. With R = 0 this is SSTF, with R
/// = 1 a sweep in both directions (SCAN).
const TURN: u32 = 5;

#[derive(Default)]
struct Vscan {
    /// The waiting commands, with their cylinders.
    waiting: CheapestQueue<u32>,
    /// Where the arm stood at the last choice.
    last: u32,
    /// Whether the arm last moved to higher or to lower cylinders; `None` before it has moved.
    moves: Option<Direction>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    /// Returns the direction from one cylinder to another.
    fn of(from: u32, to: u32) -> Option<Self> {
        match to.cmp(&from) {
            Ordering::Less => Some(Self::Down),
            Ordering::Equal => None,
            Ordering::Greater => Some(Self::Up),
        }
    }
}

impl Scheduler for Vscan {
    fn push(&mut self, command: Waiting) {
        self.waiting.push(command);
    }

    fn pop(&mut self, _: Nanos, mechanics: &Mechanics) -> Option<Waiting> {
        let (arm, geometry) = (mechanics.cylinder(), mechanics.geometry());
        let turn = geometry.cylinders() / TURN;
        self.moves = Direction::of(self.last, arm).or(self.moves);
        self.last = arm;
        let turns = |to| Direction::of(arm, to).zip(self.moves).is_some_and(|(next, last)| next != last);
        self.waiting.pop_cheapest(
            |command| geometry.locate(command.start).cylinder,
            |_, &cylinder| cylinder.abs_diff(arm) + if turns(cylinder) { turn } else { 0 },
        )
    }

    fn oldest(&self) -> Option<Waiting> {
        self.waiting.oldest()
    }

    fn pop_oldest(&mut self) -> Option<Waiting> {
        self.waiting.pop_oldest()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{mechanics, mechanics_at, read};

    /// Returns the order in which commands at these hundredths of all sectors are served, starting at the middle of the
    /// disk.
    fn order(hundredths: &[u64]) -> Vec<u64> {
        let sectors = mechanics().geometry().sectors();
        let mut queue = Vscan::default();
        let starts = hundredths.iter().map(|part| sectors / 100 * part).enumerate();
        starts.for_each(|(index, start)| queue.push(read(start, index as u64)));
        let mut arm = mechanics_at(sectors / 2);
        let served = std::iter::from_fn(|| {
            let next = queue.pop(Nanos::ZERO, &arm)?;
            arm = mechanics_at(next.start);
            Some(hundredths[next.sequence as usize])
        });
        served.collect()
    }

    #[test]
    fn turning_round_counts_as_a_fifth_of_the_disk() {
        // From 50 to 51 and on: at 62, 48 costs 14 plus a fifth of the disk, and 97 is further away.
        assert_eq!(order(&[51, 48, 62, 97]), [51, 62, 48, 97]);
        assert_eq!(order(&[51, 48, 62, 80]), [51, 62, 80, 48]);
    }
}
