//! Controllers for the tests: they decide at random, every few accesses.

use esker_cache::Partitioned;
use esker_core::{Nanos, Rng};
use esker_results::FlashCacheReport;

use crate::{BuildController, CacheController, CacheDecision, CacheSizes, ControllerFault, LineAccess};

/// Number of accesses between two decisions.
const WINDOW: u32 = 10;

/// What the controller of a test decides.
#[derive(Clone, Copy, Debug)]
pub(super) enum RandomController {
    /// The size of the cache.
    Size,
    /// The shares of clean and of dirty lines.
    Accesses,
    /// The shares of volumes.
    Volumes,
}

impl BuildController for RandomController {
    fn check(&self, _: &super::FlashCacheSettings) -> Result<(), ControllerFault> {
        Ok(())
    }

    fn build(&self, sizes: &CacheSizes) -> Option<Box<dyn CacheController>> {
        let rng = Rng::new(u64::from(sizes.slots));
        let weights = if matches!(self, Self::Accesses) { vec![1; 2] } else { vec![1] };
        Some(Box::new(Decider { kind: *self, rng, weights, accesses: 0 }))
    }
}

#[derive(Debug)]
struct Decider {
    kind: RandomController,
    rng: Rng,
    weights: Vec<u32>,
    accesses: u32,
}

impl CacheController for Decider {
    fn first_decision(&self) -> CacheDecision {
        match self.kind {
            RandomController::Size => CacheDecision::LeaveToCleaning(0.35),
            RandomController::Accesses | RandomController::Volumes => CacheDecision::Divide(self.weights.clone()),
        }
    }

    fn access(&mut self, _: Nanos, access: &LineAccess) -> Option<CacheDecision> {
        self.accesses += 1;
        let decides = self.accesses.is_multiple_of(WINDOW);
        if matches!(self.kind, RandomController::Size) {
            let percent = 15 + self.rng.below(71) as u32;
            return decides.then(|| CacheDecision::LeaveToCleaning(f64::from(percent) / 100.0));
        }
        let parts = self.weights.len().max(usize::from(self.part_of(access)) + 1);
        let joins = parts > self.weights.len();
        self.weights.resize(parts, 1);
        if decides {
            self.weights.iter_mut().for_each(|weight| *weight = self.rng.below(4) as u32);
            self.weights[0] += 1;
        }
        (joins || decides).then(|| CacheDecision::Divide(self.weights.clone()))
    }

    fn part_of(&self, access: &LineAccess) -> u16 {
        match self.kind {
            RandomController::Size => 0,
            RandomController::Accesses => u16::from(access.is_write || access.is_dirty),
            RandomController::Volumes => access.volume.min(3),
        }
    }

    fn part_of_restored(&self, is_dirty: bool) -> u16 {
        u16::from(is_dirty && matches!(self.kind, RandomController::Accesses))
    }

    fn report(&self, _: Option<&Partitioned>, _: &mut FlashCacheReport) {}
}
