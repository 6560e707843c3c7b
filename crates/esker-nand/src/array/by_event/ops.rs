//! All operations that wait or are under way, linked to those that wait for them and to those that touch the same
//! block.

mod queue;

use super::NOBODY;
use super::op::{How, Op, Touch};

/// Number of roles that an operation can have for a block. It has an entry in the lists of blocks for each of its
/// roles.
const ROLES: usize = 3;
/// Role: the operation reads, programs or erases the block ([`Op::touches`]).
const TOUCHES: usize = 0;
/// Role: the operation is a copy-back that reads the block ([`Op::also`]).
const ALSO: usize = 1;
/// Role: the operation programs a page that was read in the block ([`Op::source`]).
const SOURCE: usize = 2;

/// The neighbours of an item in a linked list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

const ALONE: Link = Link { before: NOBODY, after: NOBODY };

/// Links of an operation to others.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// Whether it has not ended yet.
    live: bool,
    /// Whether it is in its die's queue.
    queued: bool,
    /// Its place in that queue.
    queue: Link,
    /// For each role, its neighbours in the list of the block. The neighbours are entries.
    of_block: [Link; ROLES],
    /// The first operation that this one holds up, and the next operation that the same obstacle holds up.
    first_held: u32,
    next_held: u32,
    /// The first tie to an operation that waits for the end of this one.
    followers: u32,
}

const UNLINKED: Links = Links {
    live: true,
    queued: false,
    queue: ALONE,
    of_block: [ALONE; ROLES],
    first_held: NOBODY,
    next_held: NOBODY,
    followers: NOBODY,
};

/// An operation that waits for the end of another, and the next tie to the same other one.
#[derive(Clone, Copy, Debug)]
struct Tie {
    op: u32,
    next: u32,
}

/// Number of lists per block. Each holds entries (an operation and its role) in the order of pushing.
const LISTS: usize = 2;
/// The list of programs and erases.
const CHANGES: usize = 0;
/// The list of reads, and of programs of data that were read in the block.
const READS: usize = 1;

/// An operation and its links.
#[derive(Debug)]
struct Slot {
    op: Op,
    links: Links,
}

pub(super) use queue::Queue;

/// All operations, by number.
#[derive(Debug)]
pub(super) struct Ops {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ties: Vec<Tie>,
    /// The first free tie.
    free_tie: u32,
    /// For each block, the last entry of each list. Empty if every die keeps the order of its operations, so that their
    /// order in a block need not be tracked.
    last_of_block: Vec<[u32; LISTS]>,
}

impl Ops {
    /// Starts without operations. `blocks` is the number of blocks whose operations are tracked; it may be zero.
    pub(super) fn new(blocks: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            ties: Vec::new(),
            free_tie: NOBODY,
            last_of_block: vec![[NOBODY; LISTS]; blocks],
        }
    }

    /// Drops all operations.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.last_of_block.len());
    }

    /// Adds an operation that waits for `after`, unless that is [`NOBODY`].
    #[inline]
    pub(super) fn add(&mut self, op: Op, after: u32) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                slot.op = op;
                slot.links = UNLINKED;
                index
            }
            None => {
                self.slots.push(Slot { op, links: UNLINKED });
                self.slots.len() as u32 - 1
            }
        };
        if after != NOBODY {
            self.tie(index, after);
        }
        if !self.last_of_block.is_empty() {
            self.for_each_block(index, Self::join_block);
        }
        index
    }

    /// Ends an operation. Returns the first tie to the operations that wait for it, for [`Self::take_follower`].
    #[inline(always)]
    pub(super) fn end(&mut self, op: u32) -> u32 {
        if !self.last_of_block.is_empty() {
            self.for_each_block(op, Self::leave_block);
        }
        let links = &mut self.slots[op as usize].links;
        links.live = false;
        std::mem::replace(&mut links.followers, NOBODY)
    }

    /// Ends `op`, which `again` repeats. Operations that waited for `op` now wait for `again`.
    pub(super) fn replace(&mut self, op: u32, again: u32) {
        let followers = self.end(op);
        self.slots[again as usize].links.followers = followers;
    }

    /// Removes an operation that ended.
    pub(super) fn free(&mut self, op: u32) {
        debug_assert!(!self.slots[op as usize].links.live, "an operation that still goes on was let go");
        self.free.push(op);
    }

    /// Makes `op` wait for the end of `after`.
    #[inline(always)]
    pub(super) fn tie(&mut self, op: u32, after: u32) {
        self[op].waits += 1;
        let followers = &mut self.slots[after as usize].links.followers;
        let tie = Tie { op, next: *followers };
        if self.free_tie == NOBODY {
            *followers = self.ties.len() as u32;
            self.ties.push(tie);
        } else {
            *followers = self.free_tie;
            self.free_tie = std::mem::replace(&mut self.ties[*followers as usize], tie).next;
        }
    }

    /// Takes the operation of `tie`, and sets `tie` to the next one.
    pub(super) fn take_follower(&mut self, tie: &mut u32) -> Option<u32> {
        if *tie == NOBODY {
            return None;
        }
        let Tie { op, next } = self.ties[*tie as usize];
        self.ties[*tie as usize].next = std::mem::replace(&mut self.free_tie, *tie);
        *tie = next;
        Some(op)
    }

    /// Makes `erase` wait for all copies over the bus from its block.
    pub(super) fn tie_to_copies(&mut self, erase: u32) {
        let mut entry = self.last_of_block[self[erase].touches.block as usize][READS];
        while entry != NOBODY {
            if role(entry) == SOURCE {
                self.tie(erase, owner(entry));
            }
            entry = self.link(entry).before;
        }
    }

    /// Makes `read`, which may overtake waiting operations of its die, wait for those that it must not overtake.
    pub(super) fn tie_to_conflicts(&mut self, read: u32) {
        let touch = self[read].touches;
        let mut entry = self.last_of_block[touch.block as usize][CHANGES];
        while entry != NOBODY {
            if touch.conflicts_with(&self.touch(entry)) {
                self.tie(read, owner(entry));
            }
            entry = self.link(entry).before;
        }
    }

    /// Makes `op` wait for all earlier changes in its pool of `blocks` blocks.
    pub(super) fn tie_to_changes(&mut self, op: u32, blocks: u32) {
        let (change, pool) = (self[op].change, self[op].touches.block / blocks);
        for other in 0..self.slots.len() as u32 {
            let Slot { op: earlier, links } = &self.slots[other as usize];
            if links.live && earlier.change < change && earlier.touches.block / blocks == pool {
                self.tie(op, other);
            }
        }
    }

    /// Returns an operation in the queue of the same die that was pushed before `op`, and that `op` must not overtake.
    pub(super) fn obstacle(&self, op: u32) -> Option<u32> {
        let Op { touches, also, .. } = &self[op];
        let obstacle = self.obstacle_of(op, TOUCHES, *touches);
        if obstacle.is_some() { obstacle } else { self.obstacle_of(op, ALSO, (*also)?) }
    }

    /// Returns an operation that `op` must not overtake because of its role `own`, in which its access is `touch`.
    #[inline]
    fn obstacle_of(&self, op: u32, own: usize, touch: Touch) -> Option<u32> {
        let last = &self.last_of_block[touch.block as usize];
        if touch.how == How::Read {
            return self.obstacle_among(last[CHANGES], op, touch);
        }
        let before = self.slots[op as usize].links.of_block[own].before;
        let obstacle = self.obstacle_among(before, op, touch);
        if obstacle.is_some() { obstacle } else { self.obstacle_among(last[READS], op, touch) }
    }

    /// Returns an obstacle of `op` among the entry `last` and those before it.
    #[inline]
    fn obstacle_among(&self, last: u32, op: u32, touch: Touch) -> Option<u32> {
        if last == NOBODY {
            return None;
        }
        let (mut entry, sequence) = (last, self[op].sequence);
        while entry != NOBODY {
            let other = owner(entry);
            let slot = &self.slots[other as usize];
            if slot.links.queued
                && role(entry) != SOURCE
                && slot.op.sequence < sequence
                && touch.conflicts_with(&self.touch(entry))
            {
                return Some(other);
            }
            entry = self.link(entry).before;
        }
        None
    }

    /// Calls `found` for each operation in the queue of the same die that was pushed after `op`, and that must not
    /// overtake it.
    pub(super) fn overtakers(&self, op: u32, mut found: impl FnMut(u32)) {
        let Op { touches, sequence, .. } = self[op];
        debug_assert!(touches.how == How::Read && self[op].also.is_none(), "only reads come back into a queue");
        let mut entry = self.last_of_block[touches.block as usize][CHANGES];
        while entry != NOBODY && self[owner(entry)].sequence > sequence {
            if self.slots[owner(entry) as usize].links.queued && touches.conflicts_with(&self.touch(entry)) {
                found(owner(entry));
            }
            entry = self.link(entry).before;
        }
    }

    /// Holds `op` up until `obstacle` leaves its queue.
    pub(super) fn hold(&mut self, op: u32, obstacle: u32) {
        let first = std::mem::replace(&mut self.slots[obstacle as usize].links.first_held, op);
        self.slots[op as usize].links.next_held = first;
    }

    /// Takes one of the operations that `op` holds up.
    pub(super) fn take_held(&mut self, op: u32) -> Option<u32> {
        let held = self.slots[op as usize].links.first_held;
        if held == NOBODY {
            return None;
        }
        self.slots[op as usize].links.first_held = self.slots[held as usize].links.next_held;
        Some(held)
    }

    /// Calls `change` for each entry of `op`, with its block and its list.
    #[inline(always)]
    fn for_each_block(&mut self, op: u32, change: fn(&mut Self, u32, u32, usize)) {
        let Op { touches, also, source, .. } = self[op];
        change(self, entry(op, TOUCHES), touches.block, touches.list());
        if let Some(also) = also {
            change(self, entry(op, ALSO), also.block, also.list());
        }
        if source != NOBODY {
            change(self, entry(op, SOURCE), source, READS);
        }
    }

    /// Adds `entry` to a list of `block`, behind all that were pushed before it.
    #[inline(always)]
    fn join_block(&mut self, entry: u32, block: u32, list: usize) {
        let (mut before, mut after) = (self.last_of_block[block as usize][list], NOBODY);
        let sequence = self[owner(entry)].sequence;
        while before != NOBODY && self[owner(before)].sequence > sequence {
            (before, after) = (self.link(before).before, before);
        }
        *self.link_mut(entry) = Link { before, after };
        if before != NOBODY {
            self.link_mut(before).after = entry;
        }
        match after {
            NOBODY => self.last_of_block[block as usize][list] = entry,
            _ => self.link_mut(after).before = entry,
        }
    }

    #[inline(always)]
    fn leave_block(&mut self, entry: u32, block: u32, list: usize) {
        let Link { before, after } = self.link(entry);
        if before != NOBODY {
            self.link_mut(before).after = after;
        }
        match after {
            NOBODY => self.last_of_block[block as usize][list] = before,
            _ => self.link_mut(after).before = before,
        }
    }

    /// The access of `entry`, whose role must not be [`SOURCE`].
    fn touch(&self, entry: u32) -> Touch {
        let op = &self[owner(entry)];
        if role(entry) == ALSO { op.also.expect("it reads another block") } else { op.touches }
    }

    fn link(&self, entry: u32) -> Link {
        self.slots[owner(entry) as usize].links.of_block[role(entry)]
    }

    fn link_mut(&mut self, entry: u32) -> &mut Link {
        &mut self.slots[owner(entry) as usize].links.of_block[role(entry)]
    }
}

#[cfg(test)]
impl Ops {
    /// Returns all operations that have not ended.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.slots.len() as u32).filter(|op| self.slots[*op as usize].links.live)
    }

    /// Returns the operations that wait for the end of `op`.
    pub(super) fn followers(&self, op: u32) -> Vec<u32> {
        let mut tie = self.slots[op as usize].links.followers;
        let mut followers = Vec::new();
        while tie != NOBODY {
            followers.push(self.ties[tie as usize].op);
            tie = self.ties[tie as usize].next;
        }
        followers
    }
}

impl Touch {
    /// Returns the list of its block to which the access belongs.
    #[inline]
    fn list(self) -> usize {
        if self.how == How::Read { READS } else { CHANGES }
    }
}

fn entry(op: u32, role: usize) -> u32 {
    debug_assert!(op < NOBODY >> 2, "operation {op} has no entries of its own");
    op << 2 | role as u32
}

fn owner(entry: u32) -> u32 {
    entry >> 2
}

fn role(entry: u32) -> usize {
    entry as usize & 3
}

impl std::ops::Index<u32> for Ops {
    type Output = Op;
    #[inline]
    fn index(&self, op: u32) -> &Op {
        &self.slots[op as usize].op
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, op: u32) -> &mut Op {
        &mut self.slots[op as usize].op
    }
}
