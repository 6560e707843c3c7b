//! Pools that begin in the steady state of uniformly random page writes.

use esker_core::Rng;
use esker_nand::state::FlashState;

use super::permutation::Permutation;
use super::{PageMap, Pools};
use crate::gc::{Compared, Stationary};

/// Consecutive owners that have a valid page each, in the random order in which pages are given to them.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    first: u32,
    order: Permutation,
}

impl Run {
    /// `count` owners, at least one, from `first` on.
    pub(crate) fn new(first: u32, count: u32, rng: &mut Rng) -> Self {
        Self { first, order: Permutation::new(rng, count) }
    }

    pub(crate) fn count(&self) -> u32 {
        self.order.count()
    }

    /// The owner of the valid page that comes after `younger` ones that were written later.
    #[inline(always)]
    pub(crate) fn owner(&self, younger: u32) -> u32 {
        self.first + self.order.at(younger)
    }
}

/// Whose pages are valid in a pool.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) data: Run,
    /// Pages of the map, where the pool has some.
    pub(crate) map: Option<Run>,
}

/// What was computed for one pool serves the others.
#[derive(Debug, Default)]
pub(super) struct Laws(Vec<(Compared, bool, f64, Stationary)>);

impl Laws {
    /// For blocks with `pages` pages, the same in all calls, of which `mean` are valid in the mean.
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
    /// Brings pools of erased blocks into the steady state that uniformly random writes of the owners in `contents`,
    /// one for each pool, would bring about in the end, and tells `page_map` where the pages of each lie. Says the
    /// programs of data per page that the host writes from then on. Where the steady state is not known, nothing is
    /// changed.
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
            let map = contents.map.as_ref().map_or(0, Run::count);
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
