//! Victim policies: which block is cleaned next. One file per policy.
//!
//! # How to add a policy
//!
//! Add one file, `gc/emptiest_newest.rs`. This one is in the registry of this crate's tests and passes the tests of
//! every policy:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and its lines here: `mod emptiest_newest;`, `emptiest_newest::ENTRY` in [`VICTIM_POLICIES`] and, if it offers blocks
//! in an order of its own, `emptiest_newest::RULE` in `RULES`. The tests that walk the registry then cover it, and
//! `cleaning = { victim = "emptiest-newest" }` selects it.
//!
//! Cleaning a block without superseded pages gains no space. A policy need not look for that: such a block is passed
//! over as long as cleaning another one gains space. A policy that is published otherwise, such as `fifo`, or that
//! picks such a block only where there is no other, as `greedy` does, says so with [`VictimPolicy::decides_alone`].

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
#[cfg(test)]
mod mru;
mod random;
mod search_fraction;
mod stationary;
mod windowed;
#[cfg(test)]
mod worked_example;

use std::fmt;

use dyn_clone::DynClone;
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
    #[cfg(test)]
    mru::ENTRY,
];

/// The order in which policies offer blocks. Those without a rule may offer them in any order.
#[cfg(test)]
const RULES: &[tests::Rule] = &[
    greedy::RULE,
    fifo::RULE,
    windowed::RULE,
    cost_benefit::RULE,
    search_fraction::RULE,
    worked_example::RULE,
    mru::RULE,
];

/// Picks victims among the closed blocks of one pool.
pub trait VictimPolicy: DynClone + fmt::Debug + Send {
    /// Called when `block` was filled: it may be picked from now on. It has `valid` valid pages.
    fn closed(&mut self, block: PoolBlock, valid: u32);

    /// Called when a page of `block`, which is closed, was superseded; `valid` valid pages are left.
    fn superseded(&mut self, block: PoolBlock, valid: u32);

    /// Called when a superseded page of `block`, which is closed, was [revived](crate::Ftl::revive); the block now has
    /// `valid` valid pages. Nothing was written: the age of the block stays as it is.
    fn revived(&mut self, block: PoolBlock, valid: u32);

    /// Picks the best closed block that `judge` accepts, and removes it from the closed blocks; `None` if there is
    /// none.
    ///
    /// Offers blocks to `judge` from best to worst, each at most once: the next one is what the policy would pick if
    /// the skipped blocks did not exist. Skipped blocks stay closed, and keep their order and age.
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock>;

    /// Picks the best closed block, and removes it from the closed blocks; `None` if there is none.
    fn take(&mut self) -> Option<PoolBlock> {
        self.take_where(&mut |_| VictimAnswer::Take)
    }

    /// Removes `block` from the closed blocks.
    fn remove(&mut self, block: PoolBlock);

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;

    /// Returns true if the policy's choice is cleaned even if it has no superseded page, so that cleaning it gains no
    /// space. Such a policy must not pick blocks like that for ever: those that were just filled with copies have to
    /// wait for others. By default they are passed over as long as cleaning another block gains space.
    fn decides_alone(&self) -> bool {
        false
    }

    /// Returns among how many blocks the policy takes the one with the fewest valid pages, if it considers nothing
    /// else. For such policies, the distribution of valid pages in the steady state is known, and preconditioning can
    /// start there. Returns `None` for all others.
    fn compares(&self) -> Option<Compared> {
        None
    }
}

dyn_clone::clone_trait_object!(VictimPolicy);

/// The blocks from which a policy takes the one with the fewest valid pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All closed blocks.
    All,
    /// A number of blocks, drawn at random with replacement.
    Drawn(u32),
}

/// The answer to a block that a policy offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimAnswer {
    /// Clean it.
    Take,
    /// Leave it, and offer the next best block.
    Skip,
    /// Leave it, and offer no other block.
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

/// Something that some policies can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimCapability {
    /// [Compares](VictimPolicy::compares) blocks by their valid pages alone.
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
                "the distribution of valid pages in the steady state is known, so that preconditioning can begin there"
            }
        }
    }
}

/// Returns the registry entry that `choice` names.
pub(crate) fn find(choice: &Choice) -> Result<&'static VictimEntry, BuildError> {
    registry::find(VICTIM_POLICIES, "victim policy", &choice.kind)
        .map_err(|name| BuildError::UnknownKind { key: "cleaning.victim", name })
}

/// Takes the block that `policy` would have cleaned next. `gains` returns true for blocks whose cleaning gains space;
/// with `gainful`, no other block is taken.
pub(crate) fn take_victim(
    policy: &mut dyn VictimPolicy,
    gainful: bool,
    gains: impl Fn(PoolBlock) -> bool,
) -> Option<PoolBlock> {
    let alone = policy.decides_alone();
    if alone && !gainful {
        return policy.take();
    }
    let otherwise = if alone { VictimAnswer::Stop } else { VictimAnswer::Skip };
    let taken = policy.take_where(&mut |block| if gains(block) { VictimAnswer::Take } else { otherwise });
    if taken.is_some() || gainful { taken } else { policy.take() }
}

/// Builds the policy that `choice` names.
pub fn build(choice: &Choice, shape: &PoolShape, seed: u64) -> Result<Box<dyn VictimPolicy>, BuildError> {
    let entry = find(choice)?;
    let parameters = Parameters::new(choice, &entry.parameters);
    (entry.build)(shape, parameters.map_err(|error| BuildError::of_choice("cleaning.victim", error))?, seed)
}

#[cfg(test)]
mod tests;
