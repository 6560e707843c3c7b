//! How often extents are used, and which of them could move, as simply as can be: for the models of policies that use
//! [`Bins`](super::bins::Bins).

use std::cmp::Reverse;

/// Number of extents.
const EXTENTS: u32 = 30;

/// What is known of an extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// A number for the places of its copies.
    pub(super) tier: u16,
    pub(super) count: u32,
    /// How often all counts had been halved when this one was right.
    right_at: u32,
    /// When it got this count, or came here.
    since: u64,
    pub(super) moves: bool,
}

/// Looks at all extents each time.
#[derive(Clone, Debug)]
pub(super) struct PlainCounts {
    pub(super) extents: Vec<Known>,
    halvings: u32,
    /// The halvings that all counts are known to have seen.
    swept: u32,
    stamp: u64,
    /// A mistake: counts are never halved.
    never_halves: bool,
}

impl PlainCounts {
    pub(super) fn new(never_halves: bool) -> Self {
        let unknown = Known { tier: 9, count: 0, right_at: 0, since: 0, moves: false };
        Self { extents: vec![unknown; EXTENTS as usize], halvings: 0, swept: 0, stamp: 0, never_halves }
    }

    /// Halves what has to be halved, and puts the extent behind others with its count.
    fn refresh(&mut self, extent: u32) {
        self.stamp += 1;
        let known = &mut self.extents[extent as usize];
        if !self.never_halves {
            known.count >>= (self.halvings - known.right_at).min(31);
        }
        known.right_at = self.halvings;
        known.since = self.stamp;
    }

    pub(super) fn count(&mut self, extent: u32) {
        self.refresh(extent);
        let known = &mut self.extents[extent as usize];
        known.count = if self.never_halves { 18.min(known.count + 1) } else { known.count + 1 };
        if known.count == 18 {
            self.halvings += 1;
        }
    }

    pub(super) fn sweep(&mut self) {
        if self.swept != self.halvings {
            (0..EXTENTS).for_each(|extent| self.refresh(extent));
            self.swept = self.halvings;
        }
    }

    /// Returns the accesses of all extents that are somewhere.
    pub(super) fn total(&self) -> u32 {
        self.extents.iter().filter(|known| known.tier < 9).map(|known| known.count).sum()
    }

    /// Notes where an extent is now.
    pub(super) fn placed(&mut self, extent: u32, tier: u16) {
        self.stamp += 1;
        let known = &mut self.extents[extent as usize];
        (known.tier, known.since) = (tier, self.stamp);
    }

    /// Notes that an extent has ended to move, or to wait for another one.
    pub(super) fn rests(&mut self, extent: u32) {
        self.stamp += 1;
        let known = &mut self.extents[extent as usize];
        (known.since, known.moves) = (self.stamp, false);
    }

    /// Returns the extents of a tier that could move, each with its count, the one to move first at the end.
    pub(super) fn candidates(&self, tier: u16) -> Vec<(u32, u32)> {
        let mut found: Vec<_> = (0..)
            .zip(&self.extents)
            .filter(|(_, known)| known.tier == tier && !known.moves)
            .map(|(extent, known)| (known.count, known.since, extent))
            .collect();
        found.sort_by_key(|&(count, since, _)| (count, Reverse(since)));
        found.into_iter().map(|(count, _, extent)| (extent, count)).collect()
    }

    /// Returns the pair of a hot extent of `from` and a colder one of `other` that differ most, without differing by
    /// more than `left`, and the difference.
    pub(super) fn exchange(&self, from: u16, other: u16, left: f64) -> Option<(u32, u32, u32)> {
        let mut pairs = Vec::new();
        for &(hot, many) in &self.candidates(from) {
            for &(cold, few) in &self.candidates(other) {
                if many > few && f64::from(many) <= left + f64::from(few) {
                    let age = |extent: u32| self.extents[extent as usize].since;
                    pairs.push((many - few, Reverse((few, age(cold), age(hot))), hot, cold));
                }
            }
        }
        pairs.into_iter().max().map(|(gain, _, hot, cold)| (hot, cold, gain))
    }
}
