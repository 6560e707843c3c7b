//! Simulates each design once, whatever it is simulated for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use esker_core::jobs;

use super::{Search, Tried, saving};
use crate::look::{FAR, look};
use crate::offers::{Design, Offer};
use crate::simulate::simulate;
use crate::strain::Stressed;
use crate::stress::stressed;
use crate::{StudyError, strain};

impl Search<'_> {
    /// Simulates offers, or takes what is known of the same simulated design.
    pub(crate) fn try_all(&mut self, offers: &[Offer<'_>]) -> Result<Vec<Tried>, StudyError> {
        let designs = self.designs(offers)?;
        let keys: Vec<String> = designs.iter().map(Design::key).collect();
        let new = unknown(&self.simulated, &keys);
        let task = self.task;
        let found = jobs::collect(task.settings.threads, new.len(), |index| {
            let design = &designs[new[index]];
            task.tell(&format!("simulating {}", design.name));
            let simulated = simulate(task, design);
            task.done.fetch_add(1, Ordering::Relaxed);
            simulated
        });
        for (index, simulated) in new.into_iter().zip(found) {
            self.simulated.insert(keys[index].clone(), simulated?);
        }
        let tried = offers.iter().zip(designs).zip(&keys).map(|((offer, design), key)| {
            let simulated = &self.simulated[key];
            let missed_warranty = offer.missed_warranty(self.demand.bytes_per_day().map(|[fewest, _]| fewest));
            let (slowest, saving) = (simulated.slowest, offer.design_saving_up(saving::LONG)?);
            let candidate = self.candidate(offer, &design, simulated);
            Ok(Tried { candidate, design, slowest, saving, missed_warranty })
        });
        tried.collect()
    }

    pub(super) fn designs(&self, offers: &[Offer<'_>]) -> Result<Vec<Design>, StudyError> {
        offers.iter().map(|offer| offer.design(self.active, self.task.settings.utilisation)).collect()
    }

    /// Plays the busiest stretches on designs, or takes what is known of the same simulated design.
    pub(super) fn stress_all(
        &mut self,
        designs: &[Design],
        seed: u64,
        search: strain::Search,
    ) -> Result<Vec<Option<Stressed>>, StudyError> {
        let keys: Vec<_> = designs.iter().map(|design| (design.key(), seed, search)).collect();
        let new = unknown(&self.stressed, &keys);
        let task = self.task;
        let found = jobs::collect(task.settings.threads, new.len(), |index| {
            let design = &designs[new[index]];
            task.tell(&format!("looking at {} in the busiest times", design.name));
            stressed(task, design, seed, search)
        });
        for (index, stressed) in new.into_iter().zip(found) {
            self.stressed.insert(keys[index].clone(), stressed?);
        }
        Ok(keys.iter().map(|key| self.stressed[key].clone()).collect())
    }

    /// Looks at designs, or takes what is known of the same simulated design.
    pub(super) fn look_at_all(&mut self, designs: &[Design]) -> Result<Vec<f64>, StudyError> {
        let keys: Vec<String> = designs.iter().map(Design::key).collect();
        let new = unknown(&self.looked_at, &keys);
        let task = self.task;
        let found = jobs::collect(task.settings.threads, new.len(), |index| {
            let design = &designs[new[index]];
            task.tell(&format!("looking at {} in the busiest times", design.name));
            look(task, design, FAR)
        });
        for (index, missed) in new.into_iter().zip(found) {
            self.looked_at.insert(keys[index].clone(), missed?);
        }
        Ok(keys.iter().map(|key| self.looked_at[key]).collect())
    }
}

/// The indices of the keys that are not known, of equal ones the first.
fn unknown<K: Ord, V>(known: &BTreeMap<K, V>, keys: &[K]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    (0..keys.len()).filter(|&n| !known.contains_key(&keys[n]) && seen.insert(&keys[n])).collect()
}
