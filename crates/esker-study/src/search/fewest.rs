//! Finds how many devices of each product and capacity are needed, if the cheapest designs miss a budget.
//!
//! More devices of a kind share the load, so they are no slower. If a number of devices is too few for the busiest
//! stretches, so are all smaller numbers, and a binary search finds the fewest. Looks are rough and have a margin;
//! designs that get through are simulated in full afterwards, the cheapest first.

use std::collections::{BTreeMap, VecDeque};

use esker_catalogue::Market;
use esker_core::jobs;
use esker_results::study::RuledOut;

use super::choice::takes_long;
use super::screen::margin;
use super::{BATCH, BATCH_MAX, NOT_REACHED, Search, SearchProgress};
use crate::StudyError;
use crate::look::look;
use crate::offers::Offer;
use crate::strain::FAR;

/// Offers that differ in the number of devices alone, with their least cost, ordered by the number of devices.
type Group<'o> = Vec<(f64, &'o Offer<'o>)>;

/// At most about this many rough looks are taken.
const LOOKS_MAX: usize = 64;
/// Designs that cost more than this many times the cheapest one that got through are not looked at, unless that one
/// misses a budget when the whole trace is replayed.
const MUCH_CHEAPER: f64 = 1.1;

/// What all offers of a group have in common: product, capacity in bytes, whether the user has them already, product
/// and capacity of the other parts, and the variant of how they work together.
pub(super) type Alike<'o> = (&'o str, u64, bool, Vec<(&'o str, u64)>, &'static str);

fn alike<'o>(offer: &Offer<'o>) -> Alike<'o> {
    let mut parts = offer.parts.iter().map(|part| (part.product.name.as_str(), part.capacity.bytes.0));
    let (product, capacity) = parts.next().unwrap_or_default();
    (product, capacity, offer.is_in_use(), parts.collect(), offer.arrangement.variant())
}

/// Which offers of a group get through the busiest stretches.
struct GroupLook<'o> {
    /// Index of the first offer that gets through; `None` if none does.
    first: Option<usize>,
    /// By how much the largest number of devices that was tried misses a budget, and its offer.
    largest: (f64, &'o Offer<'o>),
    looks: usize,
}

/// Prices of the cheapest designs that got through, infinite if there is none.
struct Cheapest {
    any: f64,
    /// The cheapest of those whose life cannot be told: if it is the answer, none that is more expensive is better.
    untold: f64,
}

impl Cheapest {
    /// Returns true if a design at this price may be the one to buy.
    fn may_win(&self, price: f64, is_untold: bool) -> bool {
        price <= self.any * MUCH_CHEAPER && (!is_untold || price <= self.untold)
    }

    fn note(&mut self, price: f64, is_untold: bool) {
        self.any = self.any.min(price);
        if is_untold {
            self.untold = self.untold.min(price);
        }
    }
}

impl Search<'_> {
    /// Rules out offers of `left` that have too few devices to keep the budgets in the busiest stretches. Offers much
    /// more expensive than the cheapest that gets through are not looked at.
    pub(super) fn without_too_few<'o>(
        &self,
        left: &mut VecDeque<(f64, &'o Offer<'o>)>,
        ruled: &mut Vec<RuledOut>,
        round: &mut SearchProgress<'o>,
    ) -> Result<(), StudyError> {
        let mut kept: Group<'o> = Vec::new();
        let (mut looks, mut cheapest) = (0, Cheapest { any: f64::INFINITY, untold: f64::INFINITY });
        let is_untold = |offer: &Offer<'o>| self.exceeds_warranty(offer).is_some();
        // For each product, the bytes below which its drives are most likely too slow, whatever their number.
        let mut too_small: BTreeMap<&str, f64> = BTreeMap::new();
        let mut groups = groups(left).into_iter().peekable();
        while groups.peek().is_some() {
            let mut batch: Vec<Group<'o>> = Vec::new();
            while batch.iter().filter(|group| takes_long(group[0].1)).count() < BATCH && batch.len() < BATCH_MAX {
                let Some(group) = groups.next() else { break };
                let near = |(least, offer): &(f64, &'o Offer<'o>)| cheapest.may_win(*least, is_untold(offer));
                let (near, dearer): (Group<'o>, Group<'o>) = group.into_iter().partition(near);
                kept.extend(dearer);
                let Some((least, offer)) = near.first() else { continue };
                let alike = alike(offer);
                if round.looked_at_groups.contains(&alike) {
                    cheapest.any = cheapest.any.min(*least);
                    kept.extend(near);
                } else if too_small
                    .get(&*offer.first().product.name)
                    .is_some_and(|least| (offer.first().capacity.bytes.0 as f64) < *least)
                {
                    // It is likely, not known: where requests queue, more dies may gain more than that.
                    ruled.extend(
                        near.iter().map(|(least, one)| one.ruled_out(NOT_REACHED, TOO_SMALL.into(), Some(*least))),
                    );
                } else if looks >= LOOKS_MAX {
                    kept.extend(near);
                } else {
                    round.looked_at_groups.insert(alike);
                    batch.push(near);
                }
            }
            let found = jobs::collect(self.task.settings.threads, batch.len(), |index| self.through(&batch[index]));
            for (group, found) in batch.iter().zip(found) {
                let found = found?;
                looks += found.looks;
                let few = found.first.unwrap_or(group.len());
                let reason = if found.first.is_some() { TOO_FEW } else { TOO_SLOW };
                ruled.extend(group[..few].iter().map(|one| too_slow(one, reason)));
                round.got_through.extend(group[few..].iter().map(|(_, offer)| offer.name()));
                kept.extend(&group[few..]);
                if let Some(first) = found.first {
                    cheapest.note(group[first].0, is_untold(group[first].1));
                    continue;
                }
                note_too_slow(&found, &mut too_small, round);
            }
        }
        *left = super::cheapest_first(left.drain(..).chain(kept).collect());
        Ok(())
    }

    /// Finds the fewest devices of a group that get through the busiest stretches. The group is not empty.
    fn through<'o>(&self, group: &[(f64, &'o Offer<'o>)]) -> Result<GroupLook<'o>, StudyError> {
        let (_, largest) = group[group.len() - 1];
        let missed = self.missed(largest, FAR)?;
        let mut through = GroupLook { first: None, largest: (missed, largest), looks: 1 };
        if missed > margin() {
            return Ok(through);
        }
        let (mut few, mut enough) = (0, group.len() - 1);
        // Tries the fewest first: often they are enough, and if not, that is known soon.
        let mut tried = 0;
        while few < enough {
            through.looks += 1;
            // It does not matter by how much these miss.
            if self.missed(group[tried].1, margin().exp())? > margin() {
                few = tried + 1;
            } else {
                enough = tried;
            }
            tried = few.midpoint(enough);
        }
        through.first = Some(enough);
        Ok(through)
    }

    /// Returns roughly by how much an offer misses a budget in the busiest stretches; see [`look`] for `until`.
    fn missed(&self, offer: &Offer<'_>, until: f64) -> Result<f64, StudyError> {
        let task = self.task;
        let (active, utilisation) = (self.active, task.settings.utilisation);
        let rough = offer.rough_design(active, utilisation)?;
        task.tell(&format!("looking at {} in the busiest times", rough.name));
        match look(task, &rough, until) {
            // The part is too small for the space that the drive keeps free.
            Err(StudyError::Design(_)) => look(task, &offer.design(active, utilisation)?, until),
            found => found,
        }
    }
}

/// Notes by how much the best of a group that does not get through misses, and the capacity below which its product is
/// too small.
fn note_too_slow<'o>(found: &GroupLook<'o>, too_small: &mut BTreeMap<&'o str, f64>, round: &mut SearchProgress<'o>) {
    let (missed, offer) = found.largest;
    // Of several parts, one may have too little room or too much to do. Dies decide neither.
    let Some(part) = offer.only() else { return };
    // The number of dies grows with the capacity. Mostly, twice as many dies are at best twice as fast.
    let least = part.capacity.bytes.0 as f64 * missed.min(LIKE_NONE).exp();
    let known = too_small.entry(&part.product.name).or_insert(least);
    *known = known.max(least);
    if round.nearest.as_ref().is_none_or(|(least, _)| missed < *least) {
        round.nearest = Some(found.largest);
    }
}

const TOO_FEW: &str = "more of this product are needed to keep the budgets in the busiest stretches";
const TOO_SLOW: &str = "as many of it as were looked at do not keep the budgets in the busiest stretches";
const TOO_SMALL: &str =
    "not simulated: a smaller one of this product misses a budget by more than its dies are likely to make up for";

/// A design that cannot keep up counts as too slow by this logarithm: a factor of four.
const LIKE_NONE: f64 = 1.386_294_361_119_890_6;

fn too_slow((least, offer): &(f64, &Offer<'_>), reason: &str) -> RuledOut {
    offer.ruled_out("busiest stretches", reason.into(), Some(*least))
}

/// Takes the devices out of `left` and groups those that differ in number alone, the group with the cheapest offer
/// first.
fn groups<'o>(left: &mut VecDeque<(f64, &'o Offer<'o>)>) -> Vec<Group<'o>> {
    let mut groups: BTreeMap<Alike<'o>, Group<'o>> = BTreeMap::new();
    let mut others = VecDeque::new();
    for (least, offer) in left.drain(..) {
        if offer.market() == Market::OnPremises {
            groups.entry(alike(offer)).or_default().push((least, offer));
        } else {
            others.push_back((least, offer));
        }
    }
    *left = others;
    let mut groups: Vec<Group<'o>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|(_, offer)| offer.first().count));
    // Groups with the same price stay in the order of their names.
    groups.sort_by(|one, other| one[0].0.total_cmp(&other[0].0));
    groups
}
