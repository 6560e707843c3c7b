//! Hybrids, which are looked through after the designs of one kind of device: from the cheapest on, as far as they cost
//! less than the best of those.

use std::collections::{BTreeSet, VecDeque};

use esker_core::words;
use esker_results::study::RuledOut;

use super::{LOOKS, Round, SIMULATED_MAX, Search, Tried, WHOLE, cheapest_first};
use crate::StudyError;
use crate::offers::Offer;

/// No more hybrids than this are listed of those that one reason rules out.
const LISTED_MAX: usize = 20;

/// Hybrids with what they cost at least, from the cheapest on.
type Left<'o> = VecDeque<(f64, Offer<'o>)>;

impl Search<'_> {
    /// Simulates hybrids that may be cheaper than the best so far. Returns those that are left.
    pub(super) fn hybrids<'o>(
        &mut self,
        hybrids: Vec<(f64, Offer<'o>)>,
        tried: &mut Vec<Tried>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Left<'o>, StudyError> {
        let mut left = cheapest_first(hybrids);
        // Of a large trace, each is replayed whole: there is no shorter look at it.
        let (large, thorough) = (self.screens(), self.task.settings.thorough);
        let limit = match (thorough, large) {
            (true, _) => usize::MAX,
            (false, true) => WHOLE[0],
            (false, false) => SIMULATED_MAX,
        };
        let looked_at_kinds = BTreeSet::new();
        let whole = tried.len().saturating_add(limit);
        let mut round = Round { whole, nearest: None, looked_at_kinds, looked_at: 0, limit };
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

/// Replaces all but the cheapest hybrids that the same reason rules out by one line: there are thousands of pairs.
pub(super) fn shortened(ruled: Vec<RuledOut>, offers: &[Offer<'_>]) -> Vec<RuledOut> {
    let names: BTreeSet<String> =
        offers.iter().filter(|offer| offer.disks.is_some()).map(|offer| offer.name()).collect();
    if names.is_empty() {
        return ruled;
    }
    let (mut hybrids, mut kept): (Vec<RuledOut>, Vec<RuledOut>) =
        ruled.into_iter().partition(|ruled| names.contains(&ruled.name));
    let total = |ruled: &RuledOut| ruled.total.unwrap_or(f64::INFINITY);
    hybrids.sort_by(|one, other| one.by.cmp(&other.by).then(total(one).total_cmp(&total(other))));
    for alike in hybrids.chunk_by(|one, other| one.by == other.by) {
        let (listed, others) = alike.split_at(alike.len().min(LISTED_MAX));
        kept.extend_from_slice(listed);
        if let (Some(first), count) = (others.first(), others.len() as u64) {
            kept.push(RuledOut {
                name: format!("other-hybrids-{}", first.by.replace(' ', "-")),
                title: format!("{} other hybrids", words::count(count)),
                reason: "dearer ones, for the same reason as those that are listed".into(),
                ..first.clone()
            });
        }
    }
    kept
}
