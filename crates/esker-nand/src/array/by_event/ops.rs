//! All operations that wait or are under way: which of them wait for which, and which touch the same block.

mod queue;

use super::NOBODY;
use super::op::{How, Op, Touch};

/// Ways in which an operation belongs to a block, and so its places in lists of blocks.
const ROLES: usize = 3;
/// It reads, programs or erases the block; [`Op::touches`].
const TOUCHES: usize = 0;
/// It is a copy-back that reads the block; [`Op::also`].
const ALSO: usize = 1;
/// It programs a page that was read in the block; [`Op::source`].
const SOURCE: usize = 2;

/// A place in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

const ALONE: Link = Link { before: NOBODY, after: NOBODY };

/// How an operation is linked with others.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// Whether it has not ended yet.
    live: bool,
    /// Whether it is in its die's queue.
    queued: bool,
    /// Its place in that queue.
    queue: Link,
    /// Its places in the lists of blocks, as entries.
    of_block: [Link; ROLES],
    /// The first operation that is held up by this one, and the next one that is held up by the same as this one.
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

/// An operation that waits for the end of another, and the next tie to the same one.
#[derive(Clone, Copy, Debug)]
struct Tie {
    op: u32,
    next: u32,
}

/// The last entries of a block's lists, each in the order of pushing. An entry is an operation and its role.
#[derive(Clone, Copy, Debug)]
struct OfBlock {
    /// Programs and erases.
    changes: u32,
    /// Reads, and programs of what was read here.
    reads: u32,
}

pub(super) use queue::Queue;

/// All operations, by number.
#[derive(Debug)]
pub(super) struct Ops {
    ops: Vec<Op>,
    links: Vec<Links>,
    free: Vec<u32>,
    ties: Vec<Tie>,
    /// The first tie that is free.
    free_tie: u32,
    /// By block. Empty if the order of operations of a block need not be known, since that of their die is kept.
    of_block: Vec<OfBlock>,
}

impl Ops {
    /// No operations. Those of each of `blocks` blocks are known, which may be none.
    pub(super) fn new(blocks: usize) -> Self {
        Self {
            ops: Vec::new(),
            links: Vec::new(),
            free: Vec::new(),
            ties: Vec::new(),
            free_tie: NOBODY,
            of_block: vec![OfBlock { changes: NOBODY, reads: NOBODY }; blocks],
        }
    }

    /// Drops all operations.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.of_block.len());
    }

    /// Adds an operation that waits for `after`, if that is one.
    pub(super) fn add(&mut self, op: Op, after: u32) -> u32 {
        let index = match self.free.pop() {
            Some(index) => {
                self.ops[index as usize] = op;
                self.links[index as usize] = UNLINKED;
                index
            }
            None => {
                self.ops.push(op);
                self.links.push(UNLINKED);
                self.ops.len() as u32 - 1
            }
        };
        if after != NOBODY {
            self.tie(index, after);
        }
        if !self.of_block.is_empty() {
            self.for_each_block(index, Self::join_block);
        }
        index
    }

    /// Ends an operation. Returns the first of the ties to those that wait for it: see [`Self::take_follower`].
    pub(super) fn end(&mut self, op: u32) -> u32 {
        if !self.of_block.is_empty() {
            self.for_each_block(op, Self::leave_block);
        }
        let links = &mut self.links[op as usize];
        links.live = false;
        std::mem::replace(&mut links.followers, NOBODY)
    }

    /// Ends `op`, which is done once more by `again`: whoever waits for it waits on.
    pub(super) fn replace(&mut self, op: u32, again: u32) {
        let followers = self.end(op);
        self.links[again as usize].followers = followers;
    }

    /// Removes an operation that ended.
    pub(super) fn free(&mut self, op: u32) {
        debug_assert!(!self.links[op as usize].live, "an operation that still goes on was let go");
        self.free.push(op);
    }

    /// Makes `op` wait for the end of `after`.
    pub(super) fn tie(&mut self, op: u32, after: u32) {
        self.ops[op as usize].waits += 1;
        let followers = &mut self.links[after as usize].followers;
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
        let mut entry = self.of_block[self[erase].touches.block as usize].reads;
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
        let mut entry = self.of_block[touch.block as usize].changes;
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
        for other in 0..self.ops.len() as u32 {
            let earlier = &self.ops[other as usize];
            if self.links[other as usize].live && earlier.change < change && earlier.touches.block / blocks == pool {
                self.tie(op, other);
            }
        }
    }

    /// Returns an operation of its die's queue that was pushed before `op`, and that `op` must not overtake.
    pub(super) fn obstacle(&self, op: u32) -> Option<u32> {
        let also = self[op].also.map(|touch| (ALSO, touch));
        [(TOUCHES, self[op].touches)].into_iter().chain(also).find_map(|(own, touch)| {
            let OfBlock { changes, reads } = self.of_block[touch.block as usize];
            let before = self.links[op as usize].of_block[own].before;
            match touch.how {
                How::Read => self.obstacle_among(changes, op, touch),
                _ => self.obstacle_among(before, op, touch).or_else(|| self.obstacle_among(reads, op, touch)),
            }
        })
    }

    /// Returns an obstacle of `op` among the entry `last` and those before it.
    fn obstacle_among(&self, last: u32, op: u32, touch: Touch) -> Option<u32> {
        let (mut entry, sequence) = (last, self[op].sequence);
        while entry != NOBODY {
            let other = owner(entry);
            if self.links[other as usize].queued
                && role(entry) != SOURCE
                && self[other].sequence < sequence
                && touch.conflicts_with(&self.touch(entry))
            {
                return Some(other);
            }
            entry = self.link(entry).before;
        }
        None
    }

    /// Calls `found` for each operation of its die's queue that was pushed after `op`, and that must not overtake it.
    pub(super) fn overtakers(&self, op: u32, mut found: impl FnMut(u32)) {
        let Op { touches, sequence, .. } = self[op];
        debug_assert!(touches.how == How::Read && self[op].also.is_none(), "only reads come back into a queue");
        let mut entry = self.of_block[touches.block as usize].changes;
        while entry != NOBODY && self[owner(entry)].sequence > sequence {
            if self.links[owner(entry) as usize].queued && touches.conflicts_with(&self.touch(entry)) {
                found(owner(entry));
            }
            entry = self.link(entry).before;
        }
    }

    /// Holds `op` up until `obstacle` leaves its queue.
    pub(super) fn hold(&mut self, op: u32, obstacle: u32) {
        let first = std::mem::replace(&mut self.links[obstacle as usize].first_held, op);
        self.links[op as usize].next_held = first;
    }

    /// Takes one of the operations that `op` holds up.
    pub(super) fn take_held(&mut self, op: u32) -> Option<u32> {
        let held = self.links[op as usize].first_held;
        if held == NOBODY {
            return None;
        }
        self.links[op as usize].first_held = self.links[held as usize].next_held;
        Some(held)
    }

    /// Calls `change` for each entry of `op` and its block.
    #[inline]
    fn for_each_block(&mut self, op: u32, change: fn(&mut Self, u32, u32)) {
        let Op { touches, also, source, .. } = self.ops[op as usize];
        change(self, entry(op, TOUCHES), touches.block);
        if let Some(also) = also {
            change(self, entry(op, ALSO), also.block);
        }
        if source != NOBODY {
            change(self, entry(op, SOURCE), source);
        }
    }

    /// Adds `entry` to the list of `block`, behind all that were pushed before it.
    fn join_block(&mut self, entry: u32, block: u32) {
        let (mut before, mut after) = (*self.last_of(entry, block), NOBODY);
        let sequence = self[owner(entry)].sequence;
        while before != NOBODY && self[owner(before)].sequence > sequence {
            (before, after) = (self.link(before).before, before);
        }
        *self.link_mut(entry) = Link { before, after };
        if before != NOBODY {
            self.link_mut(before).after = entry;
        }
        match after {
            NOBODY => *self.last_of(entry, block) = entry,
            _ => self.link_mut(after).before = entry,
        }
    }

    fn leave_block(&mut self, entry: u32, block: u32) {
        let Link { before, after } = self.link(entry);
        if before != NOBODY {
            self.link_mut(before).after = after;
        }
        match after {
            NOBODY => *self.last_of(entry, block) = before,
            _ => self.link_mut(after).before = before,
        }
    }

    /// The last entry of the list of `block` that `entry` belongs in.
    fn last_of(&mut self, entry: u32, block: u32) -> &mut u32 {
        let reads = role(entry) == SOURCE || self.touch(entry).how == How::Read;
        let lists = &mut self.of_block[block as usize];
        if reads { &mut lists.reads } else { &mut lists.changes }
    }

    /// The access of `entry`, whose role must not be [`SOURCE`].
    fn touch(&self, entry: u32) -> Touch {
        let op = &self[owner(entry)];
        if role(entry) == ALSO { op.also.expect("it reads another block") } else { op.touches }
    }

    fn link(&self, entry: u32) -> Link {
        self.links[owner(entry) as usize].of_block[role(entry)]
    }

    fn link_mut(&mut self, entry: u32) -> &mut Link {
        &mut self.links[owner(entry) as usize].of_block[role(entry)]
    }
}

#[cfg(test)]
impl Ops {
    /// Returns all operations that have not ended.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.ops.len() as u32).filter(|op| self.links[*op as usize].live)
    }

    /// Returns the operations that wait for the end of `op`.
    pub(super) fn followers(&self, op: u32) -> Vec<u32> {
        let mut tie = self.links[op as usize].followers;
        let mut followers = Vec::new();
        while tie != NOBODY {
            followers.push(self.ties[tie as usize].op);
            tie = self.ties[tie as usize].next;
        }
        followers
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
        &self.ops[op as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, op: u32) -> &mut Op {
        &mut self.ops[op as usize]
    }
}
