//! The queues of dies: operations enter, leave and come back, and some of them may begin.
//!
//! A die that serves out of order lists the operations that may begin ([`Ready`]), so that it chooses without searching
//! its whole queue. An operation that must not overtake another one of its queue is held up until that one leaves the
//! queue. Then it may begin, or a further operation holds it up.

use std::collections::VecDeque;

use super::op::{How, NO_CHANGE, Op};
use super::{ByEvent, NOBODY};
use crate::Scheduling;
use crate::array::tally::DieStep;

/// An operation that may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReadyOp {
    sequence: u64,
    op: u32,
    asks_first: bool,
}

/// The operations of a die's queue that may begin.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// In the order of pushing.
    ops: VecDeque<ReadyOp>,
    /// Number of them that ask for the bus before anything else.
    ask_first: usize,
}

impl Ready {
    fn insert(&mut self, ready: ReadyOp) {
        self.ask_first += usize::from(ready.asks_first);
        match self.ops.back() {
            Some(last) if last.sequence > ready.sequence => {
                let place = self.place(ready.sequence);
                self.ops.insert(place, ready);
            }
            _ => self.ops.push_back(ready),
        }
    }

    /// Removes the operation with this number. Returns true if it was there.
    fn remove(&mut self, sequence: u64) -> bool {
        let found = match self.ops.front() {
            Some(first) if first.sequence == sequence => self.ops.pop_front(),
            _ => {
                let place = self.place(sequence);
                let found = self.ops.get(place).is_some_and(|ready| ready.sequence == sequence);
                if found { self.ops.remove(place) } else { None }
            }
        };
        if let Some(ready) = &found {
            self.ask_first -= usize::from(ready.asks_first);
        }
        found.is_some()
    }

    fn place(&self, sequence: u64) -> usize {
        self.ops.partition_point(|ready| ready.sequence < sequence)
    }

    pub(super) fn first(&self) -> Option<u32> {
        self.ops.front().map(|ready| ready.op)
    }

    /// Returns true if one of the operations can begin without the bus.
    #[inline]
    pub(super) fn has_one_without_bus(&self) -> bool {
        self.ask_first < self.ops.len()
    }

    /// Returns the first operation that can begin without the bus.
    pub(super) fn first_without_bus(&self) -> Option<u32> {
        if !self.has_one_without_bus() {
            return None;
        }
        self.ops.iter().find(|ready| !ready.asks_first).map(|ready| ready.op)
    }

    /// Returns the operations that were pushed after the one with this number.
    pub(super) fn after(&self, sequence: u64) -> impl Iterator<Item = u32> {
        self.ops.range(self.place(sequence + 1)..).map(|ready| ready.op)
    }
}

impl ByEvent {
    /// Adds `op` to its die's queue. It waits for `after`, unless that is [`NOBODY`], and for all operations that it
    /// must not overtake.
    pub(super) fn enqueue(&mut self, now: u64, mut op: Op, after: u32) -> u32 {
        let die = op.die as usize;
        let work = self.work(&op);
        let (is_host_read, is_erase) = (op.is_host_read(), op.step == DieStep::Erase);
        let (change, waits) = if op.touches.how == How::Read { (NO_CHANGE, false) } else { self.change };
        (op.sequence, op.arrived, op.change) = (self.sequence, now, change);
        let op = self.ops.add(op, after);
        self.sequence += 1;
        if !self.beside.is_empty()
            && let Some(others) = self.beside.get(&after)
        {
            others.iter().for_each(|other| self.ops.tie(op, *other));
        }
        if let Some(tracked) = self.tracked.as_ref().filter(|_| waits) {
            self.ops.tie_to_changes(op, tracked.blocks_per_pool);
        }
        if self.settings.scheduling != Scheduling::Fifo {
            if is_erase {
                // Even out of order, an erase must not come before the copies of its pages are written.
                self.ops.tie_to_copies(op);
            }
            if is_host_read {
                self.ops.tie_to_conflicts(op);
                self.dies[die].host_reads.push_back(op);
            }
        }
        #[cfg(test)]
        self.check_ties(op, after);
        self.ops.join_queue(&mut self.dies[die].queue, op);
        self.dies[die].queued += work;
        self.update_ready(op);
        self.wake(now, die);
        op
    }

    /// Puts `op`, which has to wait, back into its die's queue, at its old position.
    pub(super) fn put_back(&mut self, op: u32) {
        debug_assert!(!self.ops[op].may_begin());
        let work = self.work(&self.ops[op]);
        let die = &mut self.dies[self.ops[op].die as usize];
        die.queued += work;
        let ops = &mut self.ops;
        ops.join_queue(&mut die.queue, op);
        if self.settings.scheduling == Scheduling::Fifo {
            return;
        }
        if ops[op].is_host_read() {
            let place = die.host_reads.partition_point(|other| ops[*other].sequence < ops[op].sequence);
            die.host_reads.insert(place, op);
        }
        if self.settings.scheduling == Scheduling::OutOfOrder {
            let mut stopped = std::mem::take(&mut self.some_ops);
            ops.overtakers(op, |later| {
                if die.ready.remove(ops[later].sequence) {
                    stopped.push(later);
                }
            });
            stopped.drain(..).for_each(|later| ops.hold(later, op));
            self.some_ops = stopped;
        }
    }

    /// Takes `op`, which begins, out of its die's queue.
    #[inline(always)]
    pub(super) fn leave_queue(&mut self, op: u32) {
        let die = &mut self.dies[self.ops[op].die as usize];
        self.ops.leave_queue(&mut die.queue, op);
        match self.settings.scheduling {
            Scheduling::Fifo => return,
            Scheduling::ReadsFirst => {}
            Scheduling::OutOfOrder => {
                let was_ready = die.ready.remove(self.ops[op].sequence);
                debug_assert!(was_ready, "an operation began that had to wait");
            }
        }
        if self.ops[op].is_host_read() {
            let place = die.host_reads.iter().position(|read| *read == op).expect("it is a host read that waits");
            die.host_reads.remove(place);
        }
        while let Some(held) = self.ops.take_held(op) {
            self.update_ready(held);
        }
    }

    /// If dies serve out of order, checks whether `op`, which waits in a queue, may begin now. If another operation
    /// holds it up, `op` is checked again when that one leaves the queue.
    #[inline(always)]
    fn update_ready(&mut self, op: u32) {
        if self.settings.scheduling == Scheduling::OutOfOrder && self.ops[op].may_begin() {
            self.find_obstacle(op);
        }
    }

    /// If dies serve out of order, checks whether an earlier operation holds up `op`, which waits for no other to end.
    fn find_obstacle(&mut self, op: u32) {
        match self.ops.obstacle(op) {
            Some(obstacle) => self.ops.hold(op, obstacle),
            None => {
                let Op { sequence, die, .. } = self.ops[op];
                let asks_first = self.ops[op].asks_first();
                self.dies[die as usize].ready.insert(ReadyOp { sequence, op, asks_first });
            }
        }
    }

    /// Records that one of the operations that `op` waits for has ended.
    #[inline]
    pub(super) fn release(&mut self, op: u32, now: u64) {
        self.ops[op].waits -= 1;
        if self.ops[op].may_begin() {
            self.update_ready(op);
            self.wake(now, self.ops[op].die as usize);
        }
    }

    /// Releases all operations that wait for the end of one; `followers` is the first tie.
    #[inline]
    pub(super) fn release_all(&mut self, mut followers: u32, now: u64) {
        while let Some(follower) = self.ops.take_follower(&mut followers) {
            self.release(follower, now);
        }
        debug_assert_eq!(followers, NOBODY);
    }

    /// Makes `die` choose an operation at `now`, if it can begin one.
    #[inline(always)]
    pub(super) fn wake(&mut self, now: u64, die: usize) {
        let state = &mut self.dies[die];
        if !state.awake && state.phase.can_begin(self.settings.suspend.is_some()) {
            state.awake = true;
            self.buses[state.bus as usize].awake.push(die as u32);
            self.decide_later(now, die);
        }
    }

    /// Plans a decision at `now`: which die gets the bus of `die`, and what the awake dies on that bus begin.
    #[inline(always)]
    pub(super) fn decide_later(&mut self, now: u64, die: usize) {
        self.decide_at = now;
        let die = &self.dies[die];
        let bus = &mut self.buses[die.bus as usize];
        if !bus.undecided {
            bus.undecided = true;
            self.to_decide.push(die.channel);
        }
    }
}
