//! A queue of requests by priority, with aging.

use std::collections::VecDeque;

use crate::{Nanos, Priority};

/// Items that wait for a slot or for room. They leave by priority; within a priority first in, first out.
///
/// Lower priorities do not starve: an item that has waited for the aging time (by default [`Priority::AGING`]) goes
/// next, but never twice in a row while items of a higher priority wait.
#[derive(Clone, Debug)]
pub struct WaitingLine<T> {
    /// By priority, each with the times since when its items wait. Nearly always there is just one level.
    levels: Vec<Level<T>>,
    waiting: usize,
    aging: Nanos,
    /// Whether the last item taken went ahead of a higher priority.
    aged: bool,
}

#[derive(Clone, Debug)]
struct Level<T> {
    priority: Priority,
    queue: VecDeque<(Nanos, T)>,
}

impl<T> Default for WaitingLine<T> {
    fn default() -> Self {
        Self::new(Priority::AGING)
    }
}

impl<T> WaitingLine<T> {
    /// An empty line, in which items of lower priorities are passed over for at most `aging`.
    pub const fn new(aging: Nanos) -> Self {
        Self { levels: Vec::new(), waiting: 0, aging, aged: false }
    }

    /// How many items wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no item waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// All items that wait, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.levels.iter().flat_map(|level| &level.queue).map(|(_, item)| item)
    }

    /// Adds `item`, which has waited since `since`: never earlier than the last item of its priority.
    #[inline]
    pub fn push(&mut self, since: Nanos, priority: Priority, item: T) {
        self.waiting += 1;
        let index = match self.levels.first() {
            Some(first) if first.priority == priority => 0,
            _ => self.level(priority),
        };
        self.levels[index].queue.push_back((since, item));
    }

    /// Puts back `item`, which was taken out last and still waits. It becomes the next one of its priority.
    pub fn put_back(&mut self, since: Nanos, priority: Priority, item: T) {
        self.waiting += 1;
        self.aged = false;
        let index = self.level(priority);
        self.levels[index].queue.push_front((since, item));
    }

    #[cold]
    fn level(&mut self, priority: Priority) -> usize {
        let index = self.levels.partition_point(|level| level.priority < priority);
        if self.levels.get(index).is_none_or(|level| level.priority != priority) {
            self.levels.insert(index, Level { priority, queue: VecDeque::new() });
        }
        index
    }

    /// Returns the index of the level whose turn it is, and whether it goes ahead of a level with a higher priority.
    #[inline]
    fn turn(&self, now: Nanos) -> Option<(usize, bool)> {
        if self.waiting == 0 {
            return None;
        }
        if self.levels.len() == 1 {
            return Some((0, false));
        }
        self.turn_among_several(now)
    }

    fn turn_among_several(&self, now: Nanos) -> Option<(usize, bool)> {
        let mut fronts =
            self.levels.iter().enumerate().filter_map(|(index, level)| Some((level.queue.front()?.0, index)));
        let (_, first) = fronts.next()?;
        let aged = |(since, _): &(Nanos, usize)| now.saturating_sub(*since) >= self.aging;
        match fronts.filter(aged).min() {
            Some((_, index)) if !self.aged => Some((index, true)),
            _ => Some((first, false)),
        }
    }

    /// The item whose turn it is at `now`.
    #[inline]
    pub fn peek(&self, now: Nanos) -> Option<&T> {
        let (index, _) = self.turn(now)?;
        self.levels[index].queue.front().map(|(_, item)| item)
    }

    /// Takes out the item whose turn it is at `now`, with the time since which it waits.
    #[inline]
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        let (index, aged) = self.turn(now)?;
        self.aged = aged;
        self.take(index)
    }

    /// The item that has waited longest, whatever its priority; of several, the one of the highest priority.
    pub fn peek_oldest(&self) -> Option<&T> {
        self.levels[self.oldest_level()?].queue.front().map(|(_, item)| item)
    }

    /// Takes out the item that has waited longest.
    pub fn pop_oldest(&mut self) -> Option<(Nanos, T)> {
        self.take(self.oldest_level()?)
    }

    /// The time since which the oldest item waits.
    #[inline]
    pub fn oldest(&self) -> Option<Nanos> {
        self.levels.iter().filter_map(|level| Some(level.queue.front()?.0)).min()
    }

    fn oldest_level(&self) -> Option<usize> {
        let fronts = self.levels.iter().enumerate().filter_map(|(index, level)| Some((level.queue.front()?.0, index)));
        fronts.min().map(|(_, index)| index)
    }

    #[inline]
    fn take(&mut self, index: usize) -> Option<(Nanos, T)> {
        let taken = self.levels[index].queue.pop_front();
        self.waiting -= usize::from(taken.is_some());
        taken
    }

    /// Takes out all items, higher priorities first.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting = 0;
        self.levels.iter_mut().flat_map(|level| level.queue.drain(..).map(|(_, item)| item))
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.drain().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(line: &mut WaitingLine<u32>, now: Nanos) -> Vec<u32> {
        std::iter::from_fn(|| line.pop(now)).map(|(_, item)| item).collect()
    }

    #[test]
    fn user_goes_before_background_and_the_first_before_the_second() {
        let mut line = WaitingLine::default();
        for (item, priority) in [(0, 1), (1, 0), (2, 7), (3, 1), (4, 0)] {
            line.push(Nanos(u64::from(item)), Priority(priority), item);
        }
        assert_eq!((line.len(), line.oldest(), line.peek(Nanos(9))), (5, Some(Nanos(0)), Some(&1)));
        assert_eq!(line.peek_oldest(), Some(&0));
        assert_eq!(all(&mut line, Nanos(9)), [1, 4, 0, 3, 2]);
        assert!(line.is_empty());
    }

    #[test]
    fn who_has_aged_goes_every_other_time() {
        let mut line = WaitingLine::default();
        for item in 0..3 {
            line.push(Nanos::ZERO, Priority::BACKGROUND, item);
        }
        for item in 10..14 {
            line.push(Nanos(1), Priority::USER, item);
        }
        assert_eq!(line.pop(Nanos(Priority::AGING.0 - 1)), Some((Nanos(1), 10)));
        // Put back, it has its turn again.
        let (since, item) = line.pop(Priority::AGING).unwrap();
        line.put_back(since, Priority::BACKGROUND, item);
        assert_eq!(all(&mut line, Priority::AGING), [0, 11, 1, 12, 2, 13]);
    }

    proptest! {
        /// Against a list that is searched: what is taken is the first of the highest priority, unless one has aged.
        #[test]
        fn it_takes_what_the_rule_says(
            steps in prop::collection::vec((0..4u8, 0..6_000_000_000u64, any::<bool>()), 200),
        ) {
            let mut line = WaitingLine::default();
            let mut model: Vec<(Priority, Nanos, usize)> = Vec::new();
            let (mut now, mut aged) = (Nanos::ZERO, false);
            for (number, (priority, wait, push)) in steps.into_iter().enumerate() {
                now += Nanos(wait);
                if push {
                    line.push(now, Priority(priority), number);
                    model.push((Priority(priority), now, number));
                    continue;
                }
                let best = model.iter().min_by_key(|(priority, _, number)| (*priority, *number)).copied();
                let old = |(priority, since, _): &&(Priority, Nanos, usize)| {
                    best.is_some_and(|best| *priority > best.0) && now.0 - since.0 >= Priority::AGING.0
                };
                let oldest = model.iter().filter(old).min_by_key(|(priority, since, _)| (*since, *priority)).copied();
                let expected = oldest.filter(|_| !aged).or(best);
                aged = expected.is_some() && expected == oldest && !aged || expected.is_none() && aged;
                prop_assert_eq!(line.peek(now).copied(), expected.map(|(_, _, number)| number));
                prop_assert_eq!(line.pop(now), expected.map(|(_, since, number)| (since, number)));
                model.retain(|entry| Some(*entry) != expected);
                prop_assert_eq!(line.len(), model.len());
                prop_assert_eq!(line.oldest(), model.iter().map(|(_, since, _)| *since).min());
            }
        }
    }
}
