//! Searches designs on request after the others: from the cheapest on, as long as they cost less than the best of
//! those.

use std::collections::{BTreeSet, VecDeque};

use esker_core::words;
use esker_results::study::RuledOut;

use super::{LOOKS, SIMULATED_MAX, Search, SearchProgress, SimulatedOffer, cheapest_first};
use crate::offers::Offer;
use crate::{StudyError, kinds};

/// For each reason, at most this many ruled-out designs of a kind are listed.
const LISTED_MAX: usize = 20;

/// Offers with their least cost, the cheapest first.
pub(super) type Left<'o> = VecDeque<(f64, &'o Offer<'o>)>;

/// For a large trace, at most this many designs of a kind are simulated.
const WHOLE_MAX: usize = 6;

impl Search<'_> {
    /// Simulates offers on request that may be cheaper than the best design, one kind after the other. Returns the
    /// offers that are left.
    pub(super) fn on_request<'o>(
        &mut self,
        mut offers: Vec<(f64, &'o Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Left<'o>, StudyError> {
        let mut left = Left::new();
        for kind in kinds::on_request() {
            let of_kind: Vec<_> = offers.extract_if(.., |(_, offer)| offer.kind.name == kind.name).collect();
            left.extend(self.of_kind(of_kind, tried, ruled)?);
        }
        Ok(left)
    }

    /// Does so for the offers of one kind.
    fn of_kind<'o>(
        &mut self,
        offers: Vec<(f64, &'o Offer<'o>)>,
        tried: &mut Vec<SimulatedOffer>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Left<'o>, StudyError> {
        let mut left = cheapest_first(offers);
        // What depends on what it has served is replayed in full, however large the trace: there is no shorter look.
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

/// For each reason and each kind on request, replaces all but the cheapest designs that are ruled out by one line:
/// there are thousands of them.
pub(super) fn shortened(ruled: Vec<RuledOut>, offers: &[Offer<'_>]) -> Vec<RuledOut> {
    kinds::on_request().fold(ruled, |ruled, kind| {
        let of_kind = offers.iter().filter(|offer| offer.kind.name == kind.name);
        shortened_of(ruled, kind.name, &of_kind.map(Offer::name).collect())
    })
}

/// Shortens the list of offers whose names are in `names`; `kind` is what they are called.
fn shortened_of(ruled: Vec<RuledOut>, kind: &str, names: &BTreeSet<String>) -> Vec<RuledOut> {
    let (mut of_kind, mut kept): (Vec<RuledOut>, Vec<RuledOut>) =
        ruled.into_iter().partition(|ruled| names.contains(&ruled.name));
    let total = |ruled: &RuledOut| ruled.total.unwrap_or(f64::INFINITY);
    of_kind.sort_by(|one, other| one.by.cmp(&other.by).then(total(one).total_cmp(&total(other))));
    for alike in of_kind.chunk_by(|one, other| one.by == other.by) {
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
