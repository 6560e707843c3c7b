//! A tournament of ours: every placement policy and every flash cache on the same pairs of devices, under the same
//! loads, with its own defaults. docs/tournament.md has the rules.

mod contestants;
mod loads;
mod measured;
mod pairs;
mod runs;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

use std::num::NonZeroUsize;

use esker_core::Bytes;

use crate::{Context, Item, ItemOutcome, ReproduceError};
use loads::Load;
use pairs::Pair;

/// The form that takes minutes: one size of the fast device, one number of requests under way, one seed.
pub(super) const QUICK: Item = Item {
    name: "tournament/quick",
    title: "Placement policies and flash caches on three pairs of devices, the short form",
    source: "ours: docs/tournament.md",
    sections: &[],
    run: |item, context| play(item, context, &Plan::quick()),
};

/// The form that takes days.
pub(super) const FULL: Item = Item {
    name: "tournament/full",
    title: "Placement policies and flash caches on three pairs of devices, in full",
    source: "ours: docs/tournament.md",
    sections: &[],
    run: |item, context| play(item, context, &Plan::full()),
};

/// How much of everything a form of the tournament has.
#[derive(Clone, Debug)]
struct Plan {
    /// Requests of a run. The first half warms up.
    requests: u64,
    /// Sizes of the fast device, in percent of the bytes that a load touches.
    fast_percents: Vec<u64>,
    /// Requests under way in closed loops.
    depths: Vec<u32>,
    /// Runs of everything with different seeds.
    seeds: u64,
    pairs: Vec<Pair>,
    loads: Vec<Load>,
    /// Bytes of the load that is made up.
    made_up: Bytes,
    threads: usize,
}

impl Plan {
    fn quick() -> Self {
        Self {
            requests: 100_000,
            fast_percents: vec![20],
            depths: vec![32],
            seeds: 1,
            pairs: pairs::PAIRS.to_vec(),
            loads: loads::LOADS.to_vec(),
            made_up: Bytes::gib(1),
            threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        }
    }

    fn full() -> Self {
        Self {
            requests: 1_000_000,
            fast_percents: vec![5, 20, 60],
            depths: vec![8, 32],
            seeds: 5,
            made_up: Bytes::gib(4),
            ..Self::quick()
        }
    }

    /// Everything that each load is played on.
    fn cells(&self) -> Vec<Cell> {
        let sizes = |pair: &Pair| {
            let pair = *pair;
            let depths =
                move |fast_percent: u64| self.depths.iter().map(move |&depth| Cell { pair, fast_percent, depth });
            self.fast_percents.iter().copied().flat_map(depths)
        };
        self.pairs.iter().flat_map(sizes).collect()
    }
}

/// A pair of devices, the size of the fast one and the requests under way: what a load is played on.
#[derive(Clone, Copy, Debug)]
struct Cell {
    pair: Pair,
    fast_percent: u64,
    depth: u32,
}

impl Cell {
    /// Its name in claims and figures.
    fn title(&self) -> String {
        format!("{}, fast device {} %, {} under way", self.pair.title, self.fast_percent, self.depth)
    }
}

fn play(item: &Item, context: &Context<'_>, plan: &Plan) -> Result<ItemOutcome, ReproduceError> {
    let played = runs::all(item, context, plan)?;
    Ok(tables::outcome(item, plan, &played))
}
