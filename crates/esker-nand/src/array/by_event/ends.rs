//! When the phases of dies end.

use std::collections::VecDeque;

use super::NEVER;

/// The ends of phases under way. Phases of equal length end in the order in which they begin. So each common length has
/// a line of its own, whose first phase always ends next.
#[derive(Debug)]
pub(super) struct Ends {
    /// One line for each usual length that has occurred, then the line of all other lengths.
    lines: Vec<Line>,
    /// Lengths that get a line.
    usual: Vec<u64>,
    next: u64,
    /// Dies whose phase has ended and that [`Self::take_due`] has not returned yet, in descending order.
    due: Vec<u32>,
}

/// Dies in the order in which their phases end.
#[derive(Debug)]
struct Line {
    length: u64,
    /// When the first phase ends, or [`NEVER`].
    first: u64,
    dies: VecDeque<(u64, u32)>,
}

impl Line {
    fn new(length: u64) -> Self {
        Self { length, first: NEVER, dies: VecDeque::new() }
    }

    #[inline]
    fn add(&mut self, die: u32, end: u64) {
        match self.dies.back() {
            Some(last) if last.0 > end => {
                let place = self.dies.partition_point(|other| other.0 <= end);
                self.dies.insert(place, (end, die));
            }
            _ => self.dies.push_back((end, die)),
        }
        self.first = self.first.min(end);
    }

    fn update_first(&mut self) {
        self.first = self.dies.front().map_or(NEVER, |first| first.0);
    }
}

impl Ends {
    /// Starts with no phase under way. Most phases will have one of the lengths `usual`.
    pub(super) fn new(usual: Vec<u64>) -> Self {
        Self { lines: vec![Line::new(NEVER)], usual, next: NEVER, due: Vec::new() }
    }

    /// Returns when the next phase ends, or [`NEVER`].
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Adds the phase of length `length` that `die` begins at `now`.
    #[inline]
    pub(super) fn add(&mut self, die: usize, now: u64, length: u64) {
        let end = now + length;
        let line = match self.lines.iter().position(|line| line.length == length) {
            Some(line) => line,
            None => self.new_line(length),
        };
        self.lines[line].add(die as u32, end);
        self.next = self.next.min(end);
    }

    /// Returns the line to use for `length`, which has none of its own yet. Usual lengths get a new one.
    #[cold]
    fn new_line(&mut self, length: u64) -> usize {
        let others = self.lines.len() - 1;
        if !self.usual.contains(&length) {
            return others;
        }
        self.lines.insert(others, Line::new(length));
        others
    }

    /// Makes the dies whose phase ends at `now`, which is [`Self::next`], available to [`Self::take_due`].
    #[inline]
    pub(super) fn come_due(&mut self, now: u64) {
        self.next = NEVER;
        for line in &mut self.lines {
            if line.first == now {
                while let Some((_, die)) = line.dies.pop_front_if(|first| first.0 == now) {
                    self.due.push(die);
                }
                line.update_first();
            }
            self.next = self.next.min(line.first);
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Takes the first die whose phase ends now.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<u32> {
        self.due.pop()
    }

    /// Removes the phase of `die`, which would have ended at `end`.
    pub(super) fn remove(&mut self, die: usize, end: u64) {
        for line in &mut self.lines {
            line.dies.retain(|other| *other != (end, die as u32));
            line.update_first();
        }
        self.next = self.lines.iter().map(|line| line.first).min().unwrap_or(NEVER);
    }

    pub(super) fn clear(&mut self) {
        for line in &mut self.lines {
            line.dies.clear();
            line.first = NEVER;
        }
        self.next = NEVER;
        self.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn phases_of_any_length_end_in_order(
            steps in prop::collection::vec((0usize..100, 0u64..9, prop::bool::weighted(0.1)), 1..200),
        ) {
            let mut ends = Ends::new(vec![3, 5, 3]);
            let mut plain = std::collections::BTreeMap::new();
            let mut now = 0;
            for (die, length, removes) in steps {
                match plain.get(&die) {
                    Some(end) if removes => {
                        ends.remove(die, *end);
                        plain.remove(&die);
                    }
                    Some(_) => {
                        now = ends.next();
                        ends.come_due(now);
                    }
                    None => {
                        ends.add(die, now, length);
                        plain.insert(die, now + length);
                    }
                }
                let due: Vec<u32> = std::iter::from_fn(|| ends.take_due()).collect();
                prop_assert!(due.is_sorted());
                for die in due {
                    prop_assert_eq!(plain.remove(&(die as usize)), Some(now));
                }
                prop_assert_eq!(ends.next(), plain.values().min().copied().unwrap_or(NEVER));
            }
            ends.clear();
            prop_assert_eq!(ends.next(), NEVER);
        }
    }
}
