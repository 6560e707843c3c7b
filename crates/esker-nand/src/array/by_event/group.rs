//! Operations that a die does together.

use super::NOBODY;

/// Operations under way together; usually there is one, or none.
#[derive(Debug)]
pub(super) struct Group {
    /// The first operation. Kept apart since most groups have no other.
    leader: u32,
    others: Vec<u32>,
}

impl Default for Group {
    fn default() -> Self {
        Self { leader: NOBODY, others: Vec::new() }
    }
}

impl Group {
    /// Starts a group that has `leader` only.
    #[inline]
    pub(super) fn form(&mut self, leader: u32) {
        self.leader = leader;
        self.others.clear();
    }

    /// Adds a member.
    pub(super) fn add(&mut self, op: u32) {
        self.others.push(op);
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.form(NOBODY);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.leader == NOBODY { 0 } else { 1 + self.others.len() }
    }

    /// Returns the first operation. There must be one.
    #[inline]
    pub(super) fn leader(&self) -> u32 {
        debug_assert!(self.leader != NOBODY, "a group without members has no leader");
        self.leader
    }

    /// Returns the first operation, if there is one.
    pub(super) fn first(&self) -> Option<u32> {
        (self.leader != NOBODY).then_some(self.leader)
    }

    /// Returns the operation whose turn is number `turn`, counted from zero.
    #[inline]
    pub(super) fn member(&self, turn: usize) -> u32 {
        if turn == 0 { self.leader() } else { self.others[turn - 1] }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.first().into_iter().chain(self.others.iter().copied())
    }
}
