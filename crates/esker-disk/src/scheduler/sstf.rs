//! SSTF: shortest seek time first.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::cheapest::CheapestQueue;
use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "sstf",
    summary: "the command whose cylinder is nearest to the arm",
    source: "Denning, AFIPS 1967; Worthington, Ganger and Patt, SIGMETRICS 1994",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Sstf::default()),
};

#[derive(Default)]
struct Sstf {
    /// The waiting commands, with their cylinders.
    waiting: CheapestQueue<u32>,
}

impl Scheduler for Sstf {
    fn push(&mut self, command: Waiting) {
        self.waiting.push(command);
    }

    fn pop(&mut self, _: Nanos, mechanics: &Mechanics) -> Option<Waiting> {
        let arm = mechanics.cylinder();
        let cylinder = |command: &Waiting| mechanics.geometry().locate(command.start).cylinder;
        self.waiting.pop_cheapest(cylinder, |_, cylinder| cylinder.abs_diff(arm))
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

    #[test]
    fn the_nearest_cylinder_is_next_on_either_side() {
        let (mut queue, ends) = (Sstf::default(), mechanics());
        let sectors = ends.geometry().sectors();
        let starts = [0, sectors / 2 + sectors / 8, sectors / 2 - sectors / 16, sectors - 1];
        starts.iter().enumerate().for_each(|(index, start)| queue.push(read(*start, index as u64)));
        let mut arm = mechanics_at(sectors / 2);
        let order = std::iter::from_fn(|| {
            let next = queue.pop(Nanos::ZERO, &arm)?;
            arm = mechanics_at(next.start);
            Some(next.sequence)
        });
        assert_eq!(order.collect::<Vec<_>>(), [2, 1, 3, 0]);
    }
}
