//! The rules that policies have to follow, one function each. A rule works with what happened to the blocks.
//!
//! A policy without a rule here may offer its blocks in any order. To add a rule, add a function and a line of
//! [`RULES`].

use super::{ClosedBlock, Event, Model, SHAPE};
use crate::{Choice, ParameterValue, PoolBlock};

/// A rule: what a policy may offer.
pub(super) struct Rule {
    /// The policy, with parameters that suit [`SHAPE`].
    pub(super) choice: fn() -> Choice,
    /// Returns the blocks that the policy may offer next. The blocks left are in the order of filling, and there is at
    /// least one.
    pub(super) best: fn(&Model, &[ClosedBlock]) -> Vec<PoolBlock>,
}

pub(super) const RULES: &[Rule] = &[
    Rule { choice: || Choice::named("greedy"), best: greedy },
    Rule { choice: || Choice::named("fifo"), best: fifo },
    Rule { choice: || with("windowed", "window", ParameterValue::Integer(WINDOW as u64)), best: windowed },
    Rule { choice: || Choice::named("cost-benefit"), best: cost_benefit },
    Rule { choice: || with("search-fraction", "fraction", ParameterValue::Text("100%".into())), best: emptiest },
    Rule { choice: || Choice::named("emptiest-newest"), best: emptiest_newest },
    Rule { choice: || Choice::named("mru"), best: mru },
];

/// Number of blocks that `windowed` looks at.
const WINDOW: usize = 3;

fn with(policy: &str, name: &str, value: ParameterValue) -> Choice {
    let mut choice = Choice::named(policy);
    choice.parameters.insert(name.into(), value);
    choice
}

/// The fewest valid pages; of these the lowest block.
fn greedy(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    left.iter().min_by_key(|closed| (closed.valid, closed.block)).map(|closed| closed.block).into_iter().collect()
}

/// The block that was filled first.
fn fifo(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    vec![left[0].block]
}

/// The fewest valid pages among the blocks that were filled first; of these the first.
fn windowed(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    let window = &left[..left.len().min(WINDOW)];
    window.iter().min_by_key(|closed| closed.valid).map(|closed| closed.block).into_iter().collect()
}

/// The largest ratio of benefit to cost; of these the block that was filled first.
fn cost_benefit(model: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    let merit = |closed: &ClosedBlock| {
        // Counts the changes of the pool since the block last changed.
        let changed = |event: &Event| match *event {
            Event::Filled(block) | Event::Superseded(block) => block == closed.block,
        };
        let age = model.events.iter().rev().position(changed).expect("it was filled") + 1;
        let benefit = f64::from(SHAPE.data_pages_per_block - closed.valid) * age as f64;
        if closed.valid == 0 { 1e9 * benefit } else { benefit / f64::from(closed.valid) }
    };
    let best = left.iter().map(merit).fold(0.0, f64::max);
    left.iter().find(|closed| merit(closed) == best).map(|closed| closed.block).into_iter().collect()
}

/// The fewest valid pages; any of these blocks.
fn emptiest(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    let fewest = left.iter().map(|closed| closed.valid).min();
    left.iter().filter(|closed| Some(closed.valid) == fewest).map(|closed| closed.block).collect()
}

/// The fewest valid pages; of these the block that was filled last.
fn emptiest_newest(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    // Of several minima, `min_by_key` keeps the first.
    left.iter().rev().min_by_key(|closed| closed.valid).map(|closed| closed.block).into_iter().collect()
}

/// The block that was filled last.
fn mru(_: &Model, left: &[ClosedBlock]) -> Vec<PoolBlock> {
    left.last().map(|closed| closed.block).into_iter().collect()
}
