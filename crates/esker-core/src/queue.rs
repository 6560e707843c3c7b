//! What happens next, and in which order where times are equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Nanos;

#[derive(Clone, Debug)]
struct Entry<T> {
    at: Nanos,
    sequence: u64,
    event: T,
}
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// Events by time; equal times leave in the order they were scheduled.
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<T> EventQueue<T> {
    /// Adds an event.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: T) {
        self.heap.push(Reverse(Entry { at, sequence: self.sequence, event }));
        self.sequence += 1;
    }

    /// Time of the earliest event, or [`Nanos::NEVER`].
    #[inline]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::NEVER, |entry| entry.0.at)
    }

    /// Takes the earliest event if it is due at `now` or before.
    #[inline]
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next() > now || self.heap.is_empty() {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// Children of a node: those of a full one are looked through at once.
const WIDTH: usize = 16;

/// The next event of each child of a composite device, and the earliest of all. A flat tree of earliest times: reading the
/// earliest is one load; a change of a child that is neither its group's earliest nor becomes it is one store.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// From the children up to the root, which is one time.
    levels: Vec<Vec<Nanos>>,
}

impl Timetable {
    /// For `children` children that have nothing to do yet.
    pub fn new(children: usize) -> Self {
        let mut levels = vec![vec![Nanos::NEVER; children.max(1)]];
        while levels[levels.len() - 1].len() > 1 {
            let groups = levels[levels.len() - 1].len().div_ceil(WIDTH);
            levels.push(vec![Nanos::NEVER; groups]);
        }
        Self { levels }
    }

    /// Sets the next event of `child`.
    #[inline]
    pub fn set(&mut self, child: usize, at: Nanos) {
        let before = std::mem::replace(&mut self.levels[0][child], at);
        let (mut index, mut before, mut at) = (child, before, at);
        for level in 1..self.levels.len() {
            index /= WIDTH;
            let (below, above) = self.levels.split_at_mut(level);
            let earliest = &mut above[0][index];
            if at > *earliest && before > *earliest {
                return;
            }
            before = *earliest;
            if at <= *earliest {
                *earliest = at;
            } else {
                let group = &below[level - 1];
                let group = &group[index * WIDTH..group.len().min((index + 1) * WIDTH)];
                *earliest = group.iter().copied().min().expect("no group is empty");
            }
            at = *earliest;
        }
    }

    /// The earliest event of all children, or [`Nanos::NEVER`].
    #[inline]
    pub fn next(&self) -> Nanos {
        self.levels[self.levels.len() - 1][0]
    }

    /// The child of the earliest event, the lowest index where several are equal; `None` while none has any.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        let next = self.next();
        let mut index = 0;
        for level in self.levels.iter().rev().skip(1) {
            let group = &level[index * WIDTH..level.len().min((index + 1) * WIDTH)];
            index = index * WIDTH + group.iter().position(|at| *at == next).expect("a group has its earliest");
        }
        (next != Nanos::NEVER).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_leave_in_the_order_they_were_scheduled() {
        let mut queue = EventQueue::default();
        queue.schedule(Nanos(5), 'b');
        queue.schedule(Nanos(3), 'a');
        queue.schedule(Nanos(5), 'c');
        assert_eq!(queue.pop_due(Nanos(2)), None);
        let order: String = std::iter::from_fn(|| queue.pop_due(Nanos(9))).map(|(_, event)| event).collect();
        assert_eq!(order, "abc");
    }

    proptest! {
        #[test]
        fn a_timetable_is_the_first_minimum(
            children in prop_oneof![1usize..20, 1usize..600],
            changes in prop::collection::vec((0usize..600, 0u64..10), 1..100),
        ) {
            let mut table = Timetable::new(children);
            let mut naive = vec![Nanos::NEVER; children];
            for (child, at) in changes {
                let at = if at == 9 { Nanos::NEVER } else { Nanos(at) };
                table.set(child % children, at);
                naive[child % children] = at;
                let expected = naive.iter().min().copied().unwrap();
                prop_assert_eq!(table.next(), expected);
                let first = naive.iter().position(|&at| at == expected && at != Nanos::NEVER);
                prop_assert_eq!(table.first(), first);
            }
        }
    }
}
