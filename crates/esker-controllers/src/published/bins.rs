//! Sorts the extents of two tiers by how often they are used, and exchanges hot ones for cold ones.

use esker_core::{Linked, Links, List};
use esker_tier::{LogicalExtent, MoveOutcome, WishedMove, Wishes};

use super::tiers::MovesUnderWay;

/// Accesses of an extent after which all counts are halved.
pub(super) const COOLING: u8 = 18;

/// Bins by number of accesses.
const BINS: usize = COOLING as usize + 1;

/// In one call, the counts of at most this many extents are brought up to date.
const SWEPT_MAX: usize = 8192;

/// The copies that an extent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    Fast,
    Slow,
    /// One on the fast tier, and a second one on the slow tier.
    Both,
}

/// What is known about an extent, in sixteen bytes.
#[derive(Clone, Copy, Debug, Default)]
struct CountedExtent {
    links: Links,
    /// How often all counts had been halved when this one was last brought up to date. It wraps around, but not while
    /// an extent waits for that: the host would have to count more than 30 billion accesses meanwhile.
    halved: u32,
    count: u8,
    tier: Option<Tier>,
    /// Whether it is in a bin: what is moving is in none.
    listed: bool,
}

impl Linked for CountedExtent {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Counts of accesses, and for each tier a list of extents for each count.
#[derive(Debug)]
pub(super) struct Bins {
    extents: Vec<CountedExtent>,
    lists: [[List; BINS]; 3],
    /// The sum of all counts.
    total: u64,
    /// How often all counts have been halved. Wraps around.
    halved: u32,
    /// The next extent to bring up to date, and to which number of halvings.
    sweep: (usize, u32),
}

impl Bins {
    pub(super) fn new() -> Self {
        Self { extents: Vec::new(), lists: [[List::EMPTY; BINS]; 3], total: 0, halved: 0, sweep: (0, 0) }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Notes where `extent` is now; `is_moving` if it is to stay out of its bin until [`Bins::list`].
    pub(super) fn place(&mut self, extent: u32, tier: Option<Tier>, is_moving: bool) {
        if self.extents.len() <= extent as usize {
            self.extents.resize(extent as usize + 1, CountedExtent { halved: self.halved, ..CountedExtent::default() });
        }
        self.unlist(extent);
        let counted = &mut self.extents[extent as usize];
        counted.tier = tier;
        if tier.is_none() {
            self.total -= u64::from(std::mem::take(&mut counted.count));
        } else if !is_moving {
            self.list(extent);
        }
    }

    /// Counts an access. The counts of all are halved once this one has reached its limit.
    pub(super) fn count(&mut self, extent: u32) {
        if self.extents.get(extent as usize).is_none_or(|extent| extent.tier.is_none()) {
            return;
        }
        let was_listed = self.unlist(extent);
        self.update(extent);
        let counted = &mut self.extents[extent as usize];
        counted.count += 1;
        self.total += 1;
        self.halved = self.halved.wrapping_add(u32::from(counted.count == COOLING));
        if was_listed {
            self.list(extent);
        }
    }

    /// Brings some counts up to date.
    pub(super) fn sweep(&mut self) {
        let (next, halved) = self.sweep;
        if next == 0 && halved == self.halved {
            return;
        }
        let halved = if next == 0 { self.halved } else { halved };
        let end = (next + SWEPT_MAX).min(self.extents.len());
        for extent in next as u32..end as u32 {
            let was_listed = self.unlist(extent);
            self.update(extent);
            if was_listed {
                self.list(extent);
            }
        }
        self.sweep = (if end == self.extents.len() { 0 } else { end }, halved);
    }

    /// Returns the extent of `tier` that has been in its bin longest, of the fullest bin of at most `most` and more
    /// than `least` accesses; with its count.
    pub(super) fn hottest(&self, tier: Tier, least: u8, most: f64) -> Option<(u32, u8)> {
        let bins = (0..COOLING + 1).rev().filter(|&count| count > least && f64::from(count) <= most);
        bins.into_iter().find_map(|count| Some((self.lists[tier as usize][usize::from(count)].first()?, count)))
    }

    /// Returns the extent of `tier` that has been in its bin longest, of the lowest bin that has any; with its count.
    pub(super) fn coldest(&self, tier: Tier) -> Option<(u32, u8)> {
        let lists = self.lists[tier as usize].iter().zip(0..);
        lists.into_iter().find_map(|(list, count)| Some((list.first()?, count)))
    }

    /// Returns the pair of extents whose counts differ most, but at most by `most`: the hotter one is on `tier`, the
    /// other one on the other tier; with the difference.
    pub(super) fn best_pair(&self, tier: Tier, other: Tier, most: f64) -> Option<(u32, u32, u8)> {
        let mut best: Option<(u32, u32, u8)> = None;
        for cold in 0..COOLING {
            let Some(colder) = self.lists[other as usize][usize::from(cold)].first() else { continue };
            let Some((hotter, hot)) = self.hottest(tier, cold, most + f64::from(cold)) else { continue };
            if best.is_none_or(|(_, _, gain)| hot - cold > gain) {
                best = Some((hotter, colder, hot - cold));
            }
        }
        best
    }

    /// Takes `extent` out of its bin, before it moves. Returns whether it was in one.
    pub(super) fn unlist(&mut self, extent: u32) -> bool {
        let CountedExtent { count, tier, listed, .. } = self.extents[extent as usize];
        if let Some(tier) = tier.filter(|_| listed) {
            self.lists[tier as usize][usize::from(count)].remove(&mut self.extents, extent);
            self.extents[extent as usize].listed = false;
        }
        listed
    }

    /// Puts `extent` into its bin, if it is anywhere and in none.
    pub(super) fn list(&mut self, extent: u32) {
        let CountedExtent { count, tier, listed, .. } = self.extents[extent as usize];
        if let Some(tier) = tier.filter(|_| !listed) {
            self.lists[tier as usize][usize::from(count)].push_back(&mut self.extents, extent);
            self.extents[extent as usize].listed = true;
        }
    }

    /// Halves the count of `extent`, which is in no bin, as often as all have been since.
    fn update(&mut self, extent: u32) {
        let counted = &mut self.extents[extent as usize];
        let times = self.halved.wrapping_sub(std::mem::replace(&mut counted.halved, self.halved));
        let before = counted.count;
        counted.count = before.checked_shr(times).unwrap_or(0);
        self.total -= u64::from(before - counted.count);
    }
}

/// An extent that moves once another one has made room for it.
#[derive(Clone, Copy, Debug)]
struct Successor {
    of: LogicalExtent,
    wished: WishedMove,
}

/// Moves of extents from bins, some of which make room for others. What moves or waits is in no bin.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    moves: MovesUnderWay,
    successors: Vec<Successor>,
}

impl Exchanges {
    /// Number of moves under way.
    pub(super) fn under_way(&self) -> usize {
        self.moves.count()
    }

    /// Number of moves under way and of those that wait for one.
    pub(super) fn count(&self) -> usize {
        self.moves.count() + self.successors.len()
    }

    /// Returns true if `extent` moves, or waits for another one to make room.
    pub(super) fn has(&self, extent: LogicalExtent) -> bool {
        self.moves.has(extent) || self.successors.iter().any(|successor| successor.wished.extent == extent)
    }

    /// Asks for a move.
    pub(super) fn begin(&mut self, wished: WishedMove, bins: &mut Bins, wishes: &mut Wishes) {
        bins.unlist(wished.extent.0);
        self.moves.ask(wished, wishes);
    }

    /// Asks for the move `first`, and after it for `then`, for which it makes room.
    pub(super) fn begin_both(&mut self, first: WishedMove, then: WishedMove, bins: &mut Bins, wishes: &mut Wishes) {
        bins.unlist(then.extent.0);
        self.successors.push(Successor { of: first.extent, wished: then });
        self.begin(first, bins, wishes);
    }

    /// Notes that the move of `extent` has ended. What it has made room for moves next. Returns false if the policy had
    /// not asked for it.
    pub(super) fn ended(
        &mut self,
        extent: LogicalExtent,
        outcome: MoveOutcome,
        bins: &mut Bins,
        wishes: &mut Wishes,
    ) -> bool {
        if !self.moves.ended(extent) {
            return false;
        }
        bins.list(extent.0);
        if let Some(position) = self.successors.iter().position(|successor| successor.of == extent) {
            let Successor { wished, .. } = self.successors.swap_remove(position);
            match outcome {
                MoveOutcome::Done => self.begin(wished, bins, wishes),
                _ => bins.list(wished.extent.0),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often all counts were halved since, an extent that nobody used has none left.
    #[test]
    fn an_extent_that_rests_is_forgotten_for_good() {
        assert_eq!(size_of::<CountedExtent>(), 16);
        let mut bins = Bins::new();
        for extent in [0, 1] {
            bins.place(extent, Some(Tier::Slow), false);
        }
        (0..5).for_each(|_| bins.count(0));
        for times in [1_u32, 65_535, 65_536] {
            while bins.halved < times {
                bins.count(1);
            }
            bins.sweep();
            let expected = if times == 1 { 2 } else { 0 };
            assert_eq!((bins.halved, bins.extents[0].count), (times, expected));
        }
        // The same in one step.
        (0..5).for_each(|_| bins.count(0));
        let then = bins.halved + 65_536;
        while bins.halved < then {
            bins.count(1);
        }
        bins.sweep();
        assert_eq!(bins.extents[0].count, 0);
    }
}
