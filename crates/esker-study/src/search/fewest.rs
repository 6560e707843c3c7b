//! Where the cheapest designs miss a budget: how many devices of each product and capacity it takes.
//!
//! More devices of a kind share the load, so that as many more are no slower. What the busiest stretches say of a
//! number of devices therefore holds for all smaller ones if it is too few, and halves the numbers that are left. Looks
//! are rough and have a margin: what gets through is simulated whole afterwards, from the cheapest on.

use std::collections::{BTreeMap, VecDeque};

use esker_core::jobs;
use esker_plan::Market;
use esker_results::study::RuledOut;

use super::choice::takes_long;
use super::screen::margin;
use super::{BATCH, BATCH_MAX, NOT_REACHED, Round, Search};
use crate::StudyError;
use crate::look::look;
use crate::offers::Offer;
use crate::strain::FAR;

/// Offers of one product and capacity with what they cost at least, from the fewest devices on.
type Group<'o> = Vec<(f64, Offer<'o>)>;

/// No more rough looks at designs are taken than about this many.
const LOOKS_MAX: usize = 64;
/// Designs that cost more than this many times the cheapest one that got through are not looked at, unless that one
/// misses a budget when it is replayed whole.
const MUCH_CHEAPER: f64 = 1.1;

/// What the offers of a group have in common: product, capacity in bytes, whether they are in use already, the disks of
/// hybrids and caches, by product and capacity, and how caches write.
pub(super) type Kind<'o> = (&'o str, u64, bool, Option<(&'o str, u64)>, Option<&'static str>);

fn kind<'o>(offer: &Offer<'o>) -> Kind<'o> {
    let disks = offer.disks.map(|disks| (disks.product.name.as_str(), disks.capacity.bytes.0));
    let write = offer.cache.map(|cache| cache.write_name());
    (offer.product.name.as_str(), offer.capacity.bytes.0, offer.in_use, disks, write)
}

/// Of a group, the offers that get through the busiest stretches.
struct Through<'o> {
    /// Index of the first of them; `None` if there is none.
    first: Option<usize>,
    /// The one that was tried with most devices, and by how much it misses a budget.
    largest: (f64, Offer<'o>),
    looks: usize,
}

/// Prices of the cheapest designs that got through.
struct Cheapest {
    any: f64,
    /// Of those whose life cannot be told: if one of these does, none that is dearer is better.
    untold: f64,
}

impl Cheapest {
    /// Whether a design at this price may be the one to buy.
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
    /// Rules out of `left` what has too few devices to keep the budgets in the busiest stretches. What is much dearer
    /// than the cheapest that get through is not looked at.
    pub(super) fn without_too_few<'o>(
        &self,
        left: &mut VecDeque<(f64, Offer<'o>)>,
        ruled: &mut Vec<RuledOut>,
        round: &mut Round<'o>,
    ) -> Result<(), StudyError> {
        let mut kept: Group<'o> = Vec::new();
        let (mut looks, mut cheapest) = (0, Cheapest { any: f64::INFINITY, untold: f64::INFINITY });
        let is_untold = |offer: &Offer<'o>| self.exceeds_warranty(offer).is_some();
        // Drives of a product that have less capacity than this are most likely too slow, however many.
        let mut too_small: BTreeMap<&str, f64> = BTreeMap::new();
        let mut groups = groups(left).into_iter().peekable();
        while groups.peek().is_some() {
            let mut batch: Vec<Group<'o>> = Vec::new();
            while batch.iter().filter(|group| takes_long(&group[0].1)).count() < BATCH && batch.len() < BATCH_MAX {
                let Some(group) = groups.next() else { break };
                let near = |(least, offer): &(f64, Offer<'o>)| cheapest.may_win(*least, is_untold(offer));
                let (near, dearer): (Group<'o>, Group<'o>) = group.into_iter().partition(near);
                kept.extend(dearer);
                let Some((least, offer)) = near.first() else { continue };
                let kind = kind(offer);
                if round.looked_at_kinds.contains(&kind) {
                    cheapest.any = cheapest.any.min(*least);
                    kept.extend(near);
                } else if too_small
                    .get(&*offer.product.name)
                    .is_some_and(|least| (offer.capacity.bytes.0 as f64) < *least)
                {
                    // Where requests queue, more dies may do more than that: it is likely, and not known.
                    ruled.extend(
                        near.iter().map(|(least, one)| one.ruled_out(NOT_REACHED, TOO_SMALL.into(), Some(*least))),
                    );
                } else if looks >= LOOKS_MAX {
                    kept.extend(near);
                } else {
                    round.looked_at_kinds.insert(kind);
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
                    cheapest.note(group[first].0, is_untold(&group[first].1));
                    continue;
                }
                note_too_slow(&found, &mut too_small, round);
            }
        }
        *left = super::cheapest_first(left.drain(..).chain(kept).collect());
        Ok(())
    }

    /// Finds the fewest devices of a group, which is not empty, that get through the busiest stretches.
    fn through<'o>(&self, group: &[(f64, Offer<'o>)]) -> Result<Through<'o>, StudyError> {
        let (_, largest) = group[group.len() - 1];
        let missed = self.missed(&largest, FAR)?;
        let mut through = Through { first: None, largest: (missed, largest), looks: 1 };
        if missed > margin() {
            return Ok(through);
        }
        let (mut few, mut enough) = (0, group.len() - 1);
        // Often even the fewest are enough; if not, that is soon known.
        let mut tried = 0;
        while few < enough {
            through.looks += 1;
            // By how much these miss it does not matter.
            if self.missed(&group[tried].1, margin().exp())? > margin() {
                few = tried + 1;
            } else {
                enough = tried;
            }
            tried = few.midpoint(enough);
        }
        through.first = Some(enough);
        Ok(through)
    }

    /// By how much an offer misses a budget in the busiest stretches, roughly; see [`look`] for `until`.
    fn missed(&self, offer: &Offer<'_>, until: f64) -> Result<f64, StudyError> {
        let task = self.task;
        let (active, utilisation) = (self.active, task.settings.utilisation);
        let rough = offer.rough_design(active, utilisation)?;
        task.tell(&format!("looking at {} in the busiest times", rough.name));
        match look(task, &rough, until) {
            // So small a part has no room for what the drive keeps free.
            Err(StudyError::Design(_)) => look(task, &offer.design(active, utilisation)?, until),
            found => found,
        }
    }
}

/// Notes by how much a group misses of which none gets through, and below which capacity its product is too small.
fn note_too_slow<'o>(found: &Through<'o>, too_small: &mut BTreeMap<&'o str, f64>, round: &mut Round<'o>) {
    let (missed, offer) = found.largest;
    if offer.disks.is_some() {
        // The flash of a hybrid or a cache may have too little room, or its disks too much to do: dies decide neither.
        return;
    }
    // Dies grow with the capacity; mostly twice as many dies are twice as fast at best.
    let least = offer.capacity.bytes.0 as f64 * missed.min(LIKE_NONE).exp();
    let known = too_small.entry(&offer.product.name).or_insert(least);
    *known = known.max(least);
    if round.nearest.as_ref().is_none_or(|(least, _)| missed < *least) {
        round.nearest = Some(found.largest);
    }
}

const TOO_FEW: &str = "more of this product are needed to keep the budgets in the busiest stretches";
const TOO_SLOW: &str = "as many of it as were looked at do not keep the budgets in the busiest stretches";
const TOO_SMALL: &str =
    "not simulated: a smaller one of this product misses a budget by more than its dies are likely to make up for";

/// How much too slow a design counts that cannot keep up, as a logarithm: four times.
const LIKE_NONE: f64 = 1.386_294_361_119_890_6;

fn too_slow((least, offer): &(f64, Offer<'_>), reason: &str) -> RuledOut {
    offer.ruled_out("busiest stretches", reason.into(), Some(*least))
}

/// Takes the devices out of `left`: those of one product and capacity together, the group with the cheapest first.
fn groups<'o>(left: &mut VecDeque<(f64, Offer<'o>)>) -> Vec<Group<'o>> {
    let mut groups: BTreeMap<Kind<'o>, Group<'o>> = BTreeMap::new();
    let mut others = VecDeque::new();
    for (least, offer) in left.drain(..) {
        if offer.market() == Market::OnPremises {
            groups.entry(kind(&offer)).or_default().push((least, offer));
        } else {
            others.push_back((least, offer));
        }
    }
    *left = others;
    let mut groups: Vec<Group<'o>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|(_, offer)| offer.count));
    // Of the same price, in the order of their names.
    groups.sort_by(|one, other| one[0].0.total_cmp(&other[0].0));
    groups
}
