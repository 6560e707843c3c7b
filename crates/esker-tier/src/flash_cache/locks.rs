//! Locks of lines: several readers share a line, or one job holds it alone. Waiting jobs are served in the order in
//! which they came, so that none waits forever.

use std::collections::{BTreeMap, VecDeque};

use esker_core::Tag;

/// The locks of all lines in use.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<u32, Lock>);

#[derive(Debug, Default)]
struct Lock {
    /// Number of readers that hold the lock.
    shared: u32,
    /// Whether a job holds the lock alone.
    alone: bool,
    /// Jobs that wait for the lock, each with whether it wants to share it.
    waiting: VecDeque<(Tag, bool)>,
}

impl Lock {
    fn admits(&self, shared: bool) -> bool {
        !self.alone && (shared || self.shared == 0)
    }

    fn take(&mut self, shared: bool) {
        if shared { self.shared += 1 } else { self.alone = true }
    }
}

impl Locks {
    /// Takes the lock of `line` for `job`, or queues the job. Returns true if the job holds the lock now.
    pub(super) fn enter(&mut self, line: u32, job: Tag, shared: bool) -> bool {
        let lock = self.0.entry(line).or_default();
        let enters = lock.waiting.is_empty() && lock.admits(shared);
        if enters {
            lock.take(shared);
        } else {
            lock.waiting.push_back((job, shared));
        }
        enters
    }

    /// Releases a lock. Appends to `entered` the jobs that hold it now.
    pub(super) fn leave(&mut self, line: u32, shared: bool, entered: &mut VecDeque<Tag>) {
        let lock = self.0.get_mut(&line).expect("it is held");
        if shared {
            lock.shared -= 1
        } else {
            lock.alone = false
        }
        while let Some(&(job, shared)) = lock.waiting.front()
            && lock.admits(shared)
        {
            lock.waiting.pop_front();
            lock.take(shared);
            entered.push_back(job);
        }
        if lock.shared == 0 && !lock.alone {
            self.0.remove(&line);
        }
    }

    /// Returns true if any job holds the lock of `line` or waits for it.
    pub(super) fn is_in_use(&self, line: u32) -> bool {
        self.0.contains_key(&line)
    }

    /// Returns true if a job holds the lock of `line` alone.
    pub(super) fn is_held_alone(&self, line: u32) -> bool {
        self.0.get(&line).is_some_and(|lock| lock.alone)
    }

    /// Returns true if no line is in use.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
