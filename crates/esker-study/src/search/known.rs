//! Simulates each design once, even if several offers or steps need it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use esker_core::jobs;

use super::{Search, SimulatedOffer, saving};
use crate::design::Design;
use crate::look::look;
use crate::offers::Offer;
use crate::simulate::simulate;
use crate::strain::{FAR, StressResults};
use crate::{StudyError, strain};

impl Search<'_> {
    /// Simulates offers. A design that was already simulated is not simulated again.
    pub(crate) fn try_all(&mut self, offers: &[&Offer<'_>]) -> Result<Vec<SimulatedOffer>, StudyError> {
        let designs = self.designs(offers)?;
        let keys: Vec<String> = designs.iter().map(Design::key).collect();
        let task = self.task;
        each_once(&mut self.simulated, task.settings.threads, &keys, |index| {
            let design = &designs[index];
            task.tell(&format!("simulating {}", design.name));
            let simulated = simulate(task, design);
            task.done.fetch_add(1, Ordering::Relaxed);
            simulated
        })?;
        let tried = offers.iter().zip(designs).zip(&keys).map(|((offer, design), key)| {
            let simulated = &self.simulated[key];
            let missed_warranty = offer.missed_warranty(self.demand.bytes_per_day().map(|[fewest, _]| fewest));
            let (slowest, saving) = (simulated.slowest, offer.design_saving_up(saving::LONG)?);
            let candidate = self.candidate(offer, &design, simulated);
            let arrangement = Arc::clone(&offer.arrangement);
            let family = offer.family();
            Ok(SimulatedOffer { candidate, design, arrangement, family, slowest, saving, missed_warranty })
        });
        tried.collect()
    }

    pub(super) fn designs(&self, offers: &[&Offer<'_>]) -> Result<Vec<Design>, StudyError> {
        offers.iter().map(|offer| offer.design(self.active, self.task.settings.utilisation)).collect()
    }

    /// Plays the busiest stretches on designs, once for each design, seed and search.
    pub(super) fn stress_all(
        &mut self,
        designs: &[(Design, strain::LoadSearch)],
        seed: u64,
    ) -> Result<Vec<Option<StressResults>>, StudyError> {
        let keys: Vec<_> = designs.iter().map(|(design, search)| (design.key(), seed, *search)).collect();
        let task = self.task;
        each_once(&mut self.stressed, task.settings.threads, &keys, |index| {
            let (design, search) = &designs[index];
            task.tell(&format!("looking at {} in the busiest times", design.name));
            design.stressed(task, seed, *search)
        })?;
        Ok(keys.iter().map(|key| self.stressed[key].clone()).collect())
    }

    /// Looks at designs, once for each.
    pub(super) fn look_at_all(&mut self, designs: &[Design]) -> Result<Vec<f64>, StudyError> {
        let keys: Vec<String> = designs.iter().map(Design::key).collect();
        let task = self.task;
        each_once(&mut self.looked_at, task.settings.threads, &keys, |index| {
            let design = &designs[index];
            task.tell(&format!("looking at {} in the busiest times", design.name));
            look(task, design, FAR)
        })?;
        Ok(keys.iter().map(|key| self.looked_at[key]).collect())
    }
}

/// Calls `find` with the index of each key that is not in `known`, once for equal keys, and adds the results.
fn each_once<K: Ord + Clone, V: Send>(
    known: &mut BTreeMap<K, V>,
    threads: usize,
    keys: &[K],
    find: impl Fn(usize) -> Result<V, StudyError> + Sync,
) -> Result<(), StudyError> {
    let mut seen = BTreeSet::new();
    let new: Vec<usize> = (0..keys.len()).filter(|&n| !known.contains_key(&keys[n]) && seen.insert(&keys[n])).collect();
    let found = jobs::collect(threads, new.len(), |index| find(new[index]));
    for (index, value) in new.into_iter().zip(found) {
        known.insert(keys[index].clone(), value?);
    }
    Ok(())
}
