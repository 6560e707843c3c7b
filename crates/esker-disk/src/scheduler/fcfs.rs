//! First come, first served.

use std::collections::VecDeque;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "fcfs",
    summary: "first come, first served",
    source: "Worthington, Ganger and Patt, SIGMETRICS 1994",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Fcfs::default()),
};

#[derive(Default)]
struct Fcfs(VecDeque<Waiting>);

impl Scheduler for Fcfs {
    fn push(&mut self, command: Waiting) {
        self.0.push_back(command);
    }
    fn pop(&mut self, _: Nanos, _: &Mechanics) -> Option<Waiting> {
        self.0.pop_front()
    }
    fn oldest(&self) -> Option<Waiting> {
        self.0.front().copied()
    }
    fn pop_oldest(&mut self) -> Option<Waiting> {
        self.0.pop_front()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}
