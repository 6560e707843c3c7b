//! Searches hybrids and caches after the designs of one kind of device: from the cheapest on, as long as they cost less
//! than the best of those.

use std::collections::{BTreeSet, VecDeque};

use esker_core::words;
use esker_results::study::RuledOut;

use super::{LOOKS, SIMULATED_MAX, Search, SearchProgress, SimulatedOffer, cheapest_first};
use crate::StudyError;
use crate::offers::Offer;

/// For each reason, at most this many ruled-out hybrids are listed, and at most this many caches.
const LISTED_MAX: usize = 20;

/// Pairs with their least cost, the cheapest first.
type Left<'o> = VecDeque<(f64, Offer<'o>)>;

/// For a large trace, at most this many hybrids are simulated, and at most this many caches.
const WHOLE_MAX: usize = 6;

impl Search<'_> {
    /// Simulates pairs that may be cheaper than the best design, hybrids first. Returns the pairs that are left.
    pub(super) fn pairs<'o>(
        &mut self,
        pairs: Vec<(f64, Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Left<'o>, StudyError> {
        let (caches, hybrids): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, offer)| offer.cache.is_some());
        let mut left = self.pairs_of_kind(hybrids, tried, ruled)?;
        left.extend(self.pairs_of_kind(caches, tried, ruled)?);
        Ok(left)
    }

    /// Does so for hybrids alone, or for caches alone.
    fn pairs_of_kind<'o>(
        &mut self,
        pairs: Vec<(f64, Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Left<'o>, StudyError> {
        let mut left = cheapest_first(pairs);
        // For a large trace each pair is replayed in full: there is no shorter look at it.
        let (large, thorough) = (self.screens(), self.task.settings.thorough);
        let limit = match (thorough, large) {
            (true, _) => usize::MAX,
            (false, true) => WHOLE_MAX,
            (false, false) => SIMULATED_MAX,
        };
        let whole = tried.len().saturating_add(limit);
        let mut round = SearchProgress { whole, limit, ..SearchProgress::default() };
        self.cheapest_on(&mut left, tried, ruled, &mut round)?;
        for _ in 0..if thorough || large { 0 } else { LOOKS } {
            let best = self.settled(tried).unwrap_or(f64::INFINITY);
            let (cheaper, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|(least, _)| *least < best);
            let mut cheaper: Left<'o> = cheaper.into();
            let nothing_left = cheaper.is_empty();
            if !nothing_left {
                self.without_too_few(&mut cheaper, ruled, &mut round)?;
                round.limit = round.looked_at + SIMULATED_MAX;
                self.cheapest_on(&mut cheaper, tried, ruled, &mut round)?;
            }
            left = cheapest_first(cheaper.into_iter().chain(others).collect());
            if nothing_left {
                break;
            }
        }
        Ok(left)
    }
}

/// For each reason, replaces all but the cheapest ruled-out hybrids by one line, and does the same for caches: there
/// are thousands of pairs.
pub(super) fn shortened(ruled: Vec<RuledOut>, offers: &[Offer<'_>]) -> Vec<RuledOut> {
    let pairs = |cached: bool| {
        let pairs = offers.iter().filter(move |offer| offer.disks.is_some() && offer.cache.is_some() == cached);
        pairs.map(Offer::name).collect::<BTreeSet<String>>()
    };
    let without_hybrids = shortened_of(ruled, "hybrids", &pairs(false));
    shortened_of(without_hybrids, "caches", &pairs(true))
}

/// Shortens the list of offers whose names are in `names`; `kind` is what they are called.
fn shortened_of(ruled: Vec<RuledOut>, kind: &str, names: &BTreeSet<String>) -> Vec<RuledOut> {
    let (mut pairs, mut kept): (Vec<RuledOut>, Vec<RuledOut>) =
        ruled.into_iter().partition(|ruled| names.contains(&ruled.name));
    let total = |ruled: &RuledOut| ruled.total.unwrap_or(f64::INFINITY);
    pairs.sort_by(|one, other| one.by.cmp(&other.by).then(total(one).total_cmp(&total(other))));
    for alike in pairs.chunk_by(|one, other| one.by == other.by) {
        let (listed, others) = alike.split_at(alike.len().min(LISTED_MAX));
        kept.extend_from_slice(listed);
        if let (Some(first), count) = (others.first(), others.len() as u64) {
            kept.push(RuledOut {
                name: format!("other-{kind}-{}", first.by.replace(' ', "-")),
                title: format!("{} other {kind}", words::count(count)),
                reason: "dearer ones, for the same reason as those that are listed".into(),
                ..first.clone()
            });
        }
    }
    kept
}
