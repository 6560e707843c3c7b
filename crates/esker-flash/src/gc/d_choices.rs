//! The block with the fewest valid pages among a few drawn at random.

use esker_core::Rng;

use super::{Compared, PoolShape, VictimEntry, VictimPolicy};

pub(crate) static ENTRY: VictimEntry = VictimEntry {
    name: "d-choices",
    summary: "of d blocks drawn at random, the one with the fewest valid pages",
    source: "Van Houdt 2013; Li, Lee and Lui 2013",
    build: |shape, mut parameters, seed| {
        let draws = parameters.integer("d", 10, 1..=1_000_000)?;
        parameters.finish()?;
        Ok(Box::new(Sampled::new(shape, draws as u32, seed)))
    },
};

const NONE: u32 = u32::MAX;

/// Draws with replacement, as the mean-field model does.
#[derive(Debug)]
pub(super) struct Sampled {
    draws: u32,
    rng: Rng,
    /// Closed blocks in no order.
    closed: Vec<u32>,
    valid: Vec<u32>,
}

impl Sampled {
    pub(super) fn new(shape: &PoolShape, draws: u32, seed: u64) -> Self {
        Self {
            draws,
            rng: Rng::derive(seed, "victim"),
            closed: Vec::with_capacity(shape.blocks as usize),
            valid: vec![NONE; shape.blocks as usize],
        }
    }
}

impl VictimPolicy for Sampled {
    fn closed(&mut self, block: u32, valid: u32) {
        self.closed.push(block);
        self.valid[block as usize] = valid;
    }

    #[inline]
    fn superseded(&mut self, block: u32, valid: u32) {
        self.valid[block as usize] = valid;
    }

    fn take(&mut self) -> Option<u32> {
        let count = self.closed.len() as u64;
        if count == 0 {
            return None;
        }
        let mut best = self.rng.below(count) as usize;
        for _ in 1..self.draws {
            let other = self.rng.below(count) as usize;
            if self.valid[self.closed[other] as usize] < self.valid[self.closed[best] as usize] {
                best = other;
            }
        }
        Some(self.closed.swap_remove(best))
    }

    fn remove(&mut self, block: u32) {
        self.closed.retain(|other| *other != block);
    }

    fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<u32>() + size_of_val(&*self.valid)
    }

    fn compares(&self) -> Option<Compared> {
        Some(Compared::Drawn(self.draws))
    }
}
