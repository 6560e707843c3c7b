//! Which block is cleaned next: one file per policy.
//!
//! # How to add a policy
//!
//! One file, `gc/emptiest_newest.rs`; in the tests of this crate this one is in the registry, and passes what they ask
//! of every policy:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod emptiest_newest;`, and `emptiest_newest::ENTRY` in [`VICTIM_POLICIES`]. The tests that walk
//! the registry cover it from then on, and `cleaning = { victim = "emptiest-newest" }` selects it.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod search_fraction;
mod stationary;
mod windowed;
#[cfg(test)]
mod worked_example;

use std::fmt;

use esker_core::registry::{self, Capability, Entry};

use crate::PoolBlock;
use crate::{BuildError, Choice, Parameters};

pub(crate) use stationary::Stationary;

/// Every policy, in the order in which lists show them.
pub static VICTIM_POLICIES: &[VictimEntry] = &[
    greedy::ENTRY,
    fifo::ENTRY,
    random::ENTRY,
    d_choices::ENTRY,
    windowed::ENTRY,
    cost_benefit::ENTRY,
    search_fraction::ENTRY,
    #[cfg(test)]
    worked_example::ENTRY,
];

/// Picks victims among the closed blocks of one pool. Blocks are counted within the pool.
pub trait VictimPolicy: fmt::Debug + Send {
    /// `block` was filled, and may be picked from now on. It has `valid` valid pages.
    fn closed(&mut self, block: PoolBlock, valid: u32);

    /// A page of `block` was superseded; `valid` are left. `block` is closed and was not taken.
    fn superseded(&mut self, block: PoolBlock, valid: u32);

    /// Picks the best closed block that `judge` takes, which is then no longer closed; `None` where there is none.
    ///
    /// Blocks are offered to `judge` the best one first, each at most once: next comes what the policy would pick if
    /// those that were spared were not there. They stay closed, and keep their order and age, as if nobody had looked
    /// at them.
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> Judgement) -> Option<PoolBlock>;

    /// Picks the best closed block, which is then no longer closed; `None` where there is none.
    fn take(&mut self) -> Option<PoolBlock> {
        self.take_where(&mut |_| Judgement::Take)
    }

    /// Takes out `block`, which is closed.
    fn remove(&mut self, block: PoolBlock);

    /// Bytes of memory that this takes.
    fn memory_bytes(&self) -> usize;

    /// Among how many blocks this takes the one with the fewest valid pages, where it goes by nothing else. Of such
    /// policies it is known how full blocks are in the steady state, so that preconditioning can begin there; `None`
    /// for others.
    fn compares(&self) -> Option<Compared> {
        None
    }
}

/// How many blocks a policy compares that takes the one with the fewest valid pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All that are closed.
    All,
    /// So many that it draws, with replacement.
    Drawn(u32),
}

/// What is to become of a block that a policy offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is cleaned.
    Take,
    /// It stays, and the next best is asked for.
    Spare,
    /// It stays, and no other one is asked for.
    Stop,
}

/// The pool that a policy works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShape {
    /// Blocks of the pool.
    pub blocks: u32,
    /// Pages of a block that can hold data.
    pub data_pages_per_block: u32,
}

/// Builds a policy for one pool, with its parameters and its own seed.
pub type BuildVictimPolicy = fn(&PoolShape, Parameters<'_>, u64) -> Result<Box<dyn VictimPolicy>, BuildError>;

/// A policy in the registry.
pub type VictimEntry = Entry<BuildVictimPolicy, VictimCapability>;

/// What some policies can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimCapability {
    /// It [compares](VictimPolicy::compares) blocks by their valid pages alone.
    KnownSteady,
}

impl Capability for VictimCapability {
    const ALL: &'static [Self] = &[Self::KnownSteady];

    fn name(self) -> &'static str {
        match self {
            Self::KnownSteady => "known-steady",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::KnownSteady => {
                "how full blocks are in the steady state is known, so that preconditioning begins there"
            }
        }
    }
}

/// The entry that `choice` names.
pub(crate) fn find(choice: &Choice) -> Result<&'static VictimEntry, BuildError> {
    registry::find(VICTIM_POLICIES, "victim policy", &choice.kind)
        .map_err(|name| BuildError::UnknownKind { key: "cleaning.victim", name })
}

/// Builds the policy that `choice` names.
pub fn build(choice: &Choice, shape: &PoolShape, seed: u64) -> Result<Box<dyn VictimPolicy>, BuildError> {
    let entry = find(choice)?;
    (entry.build)(shape, Parameters::new("cleaning.victim", choice, &entry.parameters)?, seed)
}

#[cfg(test)]
mod tests;
