//! Starts pools in the steady state of uniformly random page writes.

use esker_core::Rng;
use esker_nand::state::FlashState;

use super::permutation::Permutation;
use super::{PageMap, Pools};
use crate::gc::{Compared, Stationary};

/// Consecutive owners with one valid page each, in random order.
#[derive(Clone, Debug)]
pub(crate) struct OwnerRun {
    first: u32,
    order: Permutation,
}

impl OwnerRun {
    /// Makes a run of `count` owners (at least one) from `first` on.
    pub(crate) fn new(first: u32, count: u32, rng: &mut Rng) -> Self {
        Self { first, order: Permutation::new(rng, count) }
    }

    pub(crate) fn count(&self) -> u32 {
        self.order.count()
    }

    /// Returns the owner of the valid page that is followed by `younger` later ones.
    #[inline(always)]
    pub(crate) fn owner(&self, younger: u32) -> u32 {
        self.first + self.order.at(younger)
    }
}

/// The owners of a pool's valid pages.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) data: OwnerRun,
    /// Pages of the map, if the pool has any.
    pub(crate) map: Option<OwnerRun>,
}

/// Distributions that were computed already. Most pools of a device share them.
#[derive(Debug, Default)]
pub(super) struct Laws(Vec<(Compared, bool, f64, Stationary)>);

impl Laws {
    /// Returns the distribution for blocks with `pages` pages (the same number in all calls), with a mean of `mean`
    /// valid pages.
    pub(super) fn of(&mut self, compared: Compared, spares_full: bool, pages: u32, mean: f64) -> Stationary {
        let key = (compared, spares_full, mean);
        if let Some((.., law)) = self.0.iter().find(|(policy, spares, valid, _)| (*policy, *spares, *valid) == key) {
            return law.clone();
        }
        let law = Stationary::new(compared, spares_full, pages, mean);
        self.0.push((compared, spares_full, mean, law.clone()));
        law
    }
}

impl Pools {
    /// Puts pools of erased blocks into the steady state of uniformly random writes to the owners in `contents`, one
    /// per pool, and reports the location of each page to `page_map`. Returns the number of data programs per host page
    /// write in that state; `None`, with nothing changed, if the steady state is not known.
    pub(crate) fn start_steady(
        &mut self,
        contents: &[Contents],
        seed: u64,
        flash: &mut FlashState,
        page_map: &mut impl PageMap,
    ) -> Option<f64> {
        let mut rng = Rng::derive(seed, "steady state");
        let mut laws = Laws::default();
        let mut plans = Vec::with_capacity(self.pools.len());
        let (mut pages, mut programs) = (0.0, 0.0);
        for (pool, contents) in self.pools.iter().zip(contents) {
            let map = contents.map.as_ref().map_or(0, OwnerRun::count);
            let plan = pool.plan_steady(contents.data.count(), map, &mut rng, &mut laws)?;
            pages += f64::from(contents.data.count());
            programs += f64::from(contents.data.count()) * plan.amplification;
            plans.push(plan);
        }
        for ((pool, contents), plan) in self.pools.iter_mut().zip(contents).zip(plans) {
            pool.start_steady(plan, contents, &mut rng, flash, page_map);
        }
        Some(programs / pages)
    }
}
