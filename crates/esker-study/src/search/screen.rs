//! Rules out designs by their busiest stretches alone, so that they need not be replayed in full.

use std::collections::{BTreeMap, VecDeque};

use esker_catalogue::Market;
use esker_core::words;
use esker_results::study::RuledOut;

use super::{BATCH, Search};
use crate::StudyError;
use crate::choose::far;
use crate::offers::{Offer, missed_bounds};

/// Designs that miss a budget in the busiest stretches by less than this share are replayed in full all the same.
const SCREEN_MARGIN: f64 = 0.25;

/// [`SCREEN_MARGIN`] as a logarithm, like the misses of designs.
pub(super) fn margin() -> f64 {
    SCREEN_MARGIN.ln_1p()
}

impl Search<'_> {
    /// Leaves out all orders of a volume product if even the largest order does not get through the busiest stretches.
    pub(super) fn without_hopeless_orders<'o>(
        &mut self,
        left: Vec<(f64, &'o Offer<'o>)>,
        ruled: &mut Vec<RuledOut>,
    ) -> Result<Vec<(f64, &'o Offer<'o>)>, StudyError> {
        /// The peak operations and bytes of an order, and the order.
        type Order<'o> = ((u64, u64), &'o Offer<'o>);
        let mut largest: BTreeMap<(&str, u32), Order<'o>> = BTreeMap::new();
        for (_, offer) in &left {
            let Some(peaks) = offer.arrangement.peaks(offer) else { continue };
            let part = offer.first();
            let known = largest.entry((part.product.name.as_str(), part.count)).or_insert((peaks, *offer));
            if peaks > known.0 {
                *known = (peaks, *offer);
            }
        }
        let tried: Vec<&'o Offer<'o>> = largest.into_values().map(|(_, offer)| offer).collect();
        let mut through = Vec::new();
        for batch in tried.chunks(BATCH) {
            through.extend(self.screen(batch, &mut Vec::new(), &mut None)?);
        }
        let kept = |offer: &Offer<'_>| {
            let kind = |one: &Offer<'_>| (one.first().product.name.clone(), one.first().count);
            let alike = |one: &Offer<'_>| kind(one) == kind(offer);
            offer.arrangement.peaks(offer).is_none() || through.iter().any(|one| alike(one))
        };
        let (kept, hopeless): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, offer)| kept(offer));
        if kept.is_empty() {
            // The answer has to name one of them as the nearest.
            return Ok(hopeless);
        }
        let reason = "not even the largest order of this volume keeps the budgets in the busiest stretches";
        ruled.extend(
            hopeless.iter().map(|(least, offer)| offer.ruled_out("busiest stretches", reason.into(), Some(*least))),
        );
        Ok(kept)
    }

    /// Returns the offer ruled out by bounds whose [`far`] of misses and price is least.
    pub(super) fn nearest_beyond_bounds<'o>(&self, market: Market, offers: &'o [Offer<'o>]) -> Option<&'o Offer<'o>> {
        let of_market = offers.iter().filter(|offer| offer.market() == market);
        let ranked = of_market.filter_map(|offer| {
            let missed = missed_bounds(offer, &self.bounds)?;
            Some((far(missed, self.least_cost(offer)), offer))
        });
        ranked.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, offer)| offer)
    }

    /// Rules out drives of `left` that may be written more than their warranty allows. If no design is known to last,
    /// such a drive is no better than the cheaper one that was found.
    pub(super) fn without_lives_that_cannot_be_told<'o>(
        &self,
        left: &mut VecDeque<(f64, &'o Offer<'o>)>,
        ruled: &mut Vec<RuledOut>,
    ) {
        left.retain(|(least, offer)| {
            let Some((most, warranted)) = self.exceeds_warranty(offer) else { return true };
            let reason = format!(
                "is warranted for {} a day, and up to {} may be written: it is not known to last either",
                words::bytes(warranted),
                words::bytes(most)
            );
            ruled.push(offer.ruled_out("endurance", reason, Some(*least)));
            false
        });
    }

    /// Returns the bytes that may be written to an offer's drives in a day and the warranted bytes, if these are fewer:
    /// then their life cannot be told. With devices of several products, it is not known how much each of them takes.
    pub(super) fn exceeds_warranty(&self, offer: &Offer<'_>) -> Option<(f64, f64)> {
        let [_, most] = self.demand.bytes_per_day()?;
        let warranted = offer.warranty()?.bytes_per_day;
        (most > warranted).then_some((most, warranted))
    }

    /// Returns true if the trace is so large that designs have to get through its busiest stretches first.
    pub(super) fn screens(&self) -> bool {
        self.task.is_large() && self.task.busy.is_some()
    }

    /// Looks at each offer. Returns those that keep the budgets in the busiest stretches, or nearly do.
    pub(super) fn screen<'o>(
        &mut self,
        offers: &[&'o Offer<'o>],
        ruled: &mut Vec<RuledOut>,
        nearest: &mut Option<(f64, &'o Offer<'o>)>,
    ) -> Result<Vec<&'o Offer<'o>>, StudyError> {
        let found = self.look_at_all(&self.designs(offers)?)?;
        let mut through = Vec::new();
        for (offer, missed) in offers.iter().zip(found) {
            if missed <= margin() {
                through.push(*offer);
                continue;
            }
            let reason = "does not keep the budgets in the busiest stretches of the trace";
            ruled.push(offer.ruled_out("busiest stretches", reason.into(), Some(self.least_cost(offer))));
            if nearest.as_ref().is_none_or(|(least, _)| missed < *least) {
                *nearest = Some((missed, *offer));
            }
        }
        Ok(through)
    }
}
