//! SPTF: shortest positioning time first.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::cheapest::CheapestQueue;
use super::{Scheduler, SchedulerEntry, Waiting};
use crate::{Mechanics, SectorPlace};

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "sptf",
    summary: "the command that the head reaches first, by seek and rotation",
    source: "Worthington, Ganger and Patt, SIGMETRICS 1994",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Sptf::default()),
};

#[derive(Default)]
struct Sptf {
    waiting: CheapestQueue<SectorPlace>,
}

impl Scheduler for Sptf {
    fn push(&mut self, command: Waiting) {
        self.waiting.push(command);
    }

    fn pop(&mut self, now: Nanos, mechanics: &Mechanics) -> Option<Waiting> {
        let locate = |command: &Waiting| mechanics.geometry().locate(command.start);
        self.waiting.pop_cheapest(locate, |command, place| mechanics.positioning_time(now, place, command.write))
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
    use crate::scheduler::tests::{mechanics, read};

    #[test]
    fn rotation_counts_as_much_as_seeks() {
        let (mut queue, mechanics) = (Sptf::default(), mechanics());
        // On the arm's own track, sector 0 is below the head; 100 and 300 come later in this turn.
        [300, 100, 0].iter().enumerate().for_each(|(index, start)| queue.push(read(*start, index as u64)));
        // A track at the other end of the disk takes longer than a turn.
        queue.push(read(70_000_000, 3));
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.pop(Nanos::ZERO, &mechanics)).map(|next| next.start).collect();
        assert_eq!(order, [0, 100, 300, 70_000_000]);
    }
}
