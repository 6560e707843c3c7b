//! Batches: the commands that wait when the arm is free are served by rising address. Commands that arrive meanwhile
//! wait for the next batch.

use std::collections::VecDeque;

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Scheduler, SchedulerEntry, Waiting};
use crate::Mechanics;

pub(super) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "batches",
    summary: "all that wait by rising address, then all that came meanwhile",
    source: "none: an example",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: || Box::new(Batches::default()),
};

#[derive(Default)]
struct Batches {
    /// By address, served from the front.
    batch: VecDeque<Waiting>,
    /// In order of arrival.
    next: Vec<Waiting>,
}

impl Scheduler for Batches {
    fn push(&mut self, command: Waiting) {
        self.next.push(command);
    }
    fn pop(&mut self, _: Nanos, _: &Mechanics) -> Option<Waiting> {
        if self.batch.is_empty() {
            self.next.sort_by_key(|command| (command.start, command.sequence));
            self.batch.extend(self.next.drain(..));
        }
        self.batch.pop_front()
    }
    fn oldest(&self) -> Option<Waiting> {
        // All commands of the batch arrived before the others.
        self.batch.iter().min_by_key(|command| command.sequence).or(self.next.first()).copied()
    }
    fn pop_oldest(&mut self) -> Option<Waiting> {
        match self.batch.iter().enumerate().min_by_key(|(_, command)| command.sequence) {
            Some((index, _)) => self.batch.remove(index),
            None => (!self.next.is_empty()).then(|| self.next.remove(0)),
        }
    }
    fn len(&self) -> usize {
        self.batch.len() + self.next.len()
    }
}
