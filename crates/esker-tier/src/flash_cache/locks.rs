//! Who works on a line: several readers, or one part alone. Those that wait are served in the order in which they came,
//! so that none waits for ever.

use std::collections::{BTreeMap, VecDeque};

use esker_core::Tag;

/// Locks of the lines that are in use.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<u32, Lock>);

#[derive(Debug, Default)]
struct Lock {
    /// Readers that hold it.
    shared: u32,
    /// Whether a part holds it alone.
    alone: bool,
    /// Parts that wait for it, and whether each of them shares it.
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
    /// Takes the lock of `line` for `part`, or has it wait. Returns whether it holds the lock.
    pub(super) fn enter(&mut self, line: u32, part: Tag, shared: bool) -> bool {
        let lock = self.0.entry(line).or_default();
        let enters = lock.waiting.is_empty() && lock.admits(shared);
        if enters {
            lock.take(shared);
        } else {
            lock.waiting.push_back((part, shared));
        }
        enters
    }

    /// Gives a lock back. Appends the parts that hold it now.
    pub(super) fn leave(&mut self, line: u32, shared: bool, entered: &mut VecDeque<Tag>) {
        let lock = self.0.get_mut(&line).expect("it is held");
        if shared {
            lock.shared -= 1
        } else {
            lock.alone = false
        }
        while let Some(&(part, shared)) = lock.waiting.front()
            && lock.admits(shared)
        {
            lock.waiting.pop_front();
            lock.take(shared);
            entered.push_back(part);
        }
        if lock.shared == 0 && !lock.alone {
            self.0.remove(&line);
        }
    }

    /// Whether any part holds the lock of `line` or waits for it.
    pub(super) fn is_in_use(&self, line: u32) -> bool {
        self.0.contains_key(&line)
    }

    /// Whether a part holds the lock of `line` alone.
    pub(super) fn is_held_alone(&self, line: u32) -> bool {
        self.0.get(&line).is_some_and(|lock| lock.alone)
    }

    /// Whether no line is in use.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
