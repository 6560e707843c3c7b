//! Event queues: what happens next, and in which order if times are equal.

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

/// Events by time. Events of equal times leave in the order in which they were scheduled.
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

    /// Takes the earliest event if it is due at or before `now`.
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

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// The earlier of two nodes. If both are equal, the left one: its children have the lower indices.
#[inline(always)]
fn earlier(left: (Nanos, u32), right: (Nanos, u32)) -> (Nanos, u32) {
    if left.0 <= right.0 { left } else { right }
}

/// The next event of each child of a composite device, and the earliest of all. A tournament tree: reading the earliest
/// is one load, changing a child takes log2(children) steps.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// `tree[1]` is the winner; the leaves begin at `leaves`.
    tree: Vec<(Nanos, u32)>,
    leaves: usize,
}

impl Timetable {
    /// A timetable for `children` children without any event yet.
    pub fn new(children: usize) -> Self {
        let leaves = children.next_power_of_two().max(1);
        let mut tree = vec![(Nanos::NEVER, u32::MAX); 2 * leaves];
        for (child, leaf) in tree[leaves..].iter_mut().take(children).enumerate() {
            leaf.1 = child as u32;
        }
        let mut table = Self { tree, leaves };
        for node in (1..leaves).rev() {
            table.tree[node] = earlier(table.tree[2 * node], table.tree[2 * node + 1]);
        }
        table
    }

    /// Sets the next event of `child`.
    #[inline]
    pub fn set(&mut self, child: usize, at: Nanos) {
        let mut node = self.leaves + child;
        if self.tree[node].0 == at {
            return;
        }
        self.tree[node].0 = at;
        while node > 1 {
            node /= 2;
            self.tree[node] = earlier(self.tree[2 * node], self.tree[2 * node + 1]);
        }
    }

    /// The earliest event of all children, or [`Nanos::NEVER`].
    #[inline]
    pub fn next(&self) -> Nanos {
        self.tree[1].0
    }

    /// The child with the earliest event, the lowest index if several are equal; `None` if no child has one.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.tree[1].0 != Nanos::NEVER).then_some(self.tree[1].1 as usize)
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
