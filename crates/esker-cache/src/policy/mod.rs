//! Replacement policies: which object leaves a full cache. One file per policy.
//!
//! # How to add a policy
//!
//! Add one file, such as `policy/fifo.rs`, and three lines here: `mod fifo;`, `fifo::ENTRY` in [`REPLACEMENTS`], and
//! `fifo::REFERENCE` in `REFERENCES`. The tests that walk the registry then cover it, and `esker cache TRACE --policy
//! fifo` selects it. `queues.rs` has the lists that most policies are made of.
//!
//! `REFERENCE`, at the end of the file, has what the tests compare the policy with. The first is the same policy,
//! written as simply as possible, at the end of the file or, if it is long, in a file of `reference/`. The second are
//! its misses on a real trace, if possible as others count them. Tests also ask for a row of docs/cache-ranking.md.

mod arc;
mod belady;
mod cacheus;
mod clock;
mod clock_pro;
mod fifo;
mod gdsf;
mod lecar;
mod lfu;
mod lhd;
mod lirs;
mod lrfu;
mod lru;
mod one_queue;
mod queues;
mod s3_fifo;
mod sieve;
mod slru;
#[cfg(test)]
pub(crate) mod tests;
mod two_q;
mod w_tinylfu;

use std::fmt::Debug;

use esker_core::Hint;
use esker_core::registry::{self, Capability, Choice, ChoiceError, Entry, NotFound, Parameters};
use thiserror::Error;

use crate::{Access, Counts, ObjectId};

/// Every policy, in the order in which lists show them.
pub static REPLACEMENTS: &[ReplacementEntry] = &[
    lru::ENTRY,
    fifo::ENTRY,
    clock::ENTRY,
    lfu::ENTRY,
    gdsf::ENTRY,
    slru::ENTRY,
    two_q::ENTRY,
    arc::ENTRY,
    lirs::ENTRY,
    clock_pro::ENTRY,
    lrfu::ENTRY,
    sieve::ENTRY,
    s3_fifo::ENTRY,
    s3_fifo::ONE_BIT,
    w_tinylfu::ENTRY,
    lecar::ENTRY,
    cacheus::ENTRY,
    lhd::ENTRY,
    belady::ENTRY,
];

/// What tests compare each policy with, in the same order.
#[cfg(test)]
static REFERENCES: &[tests::Reference] = &[
    lru::REFERENCE,
    fifo::REFERENCE,
    clock::REFERENCE,
    lfu::REFERENCE,
    gdsf::REFERENCE,
    slru::REFERENCE,
    two_q::REFERENCE,
    arc::REFERENCE,
    lirs::REFERENCE,
    clock_pro::REFERENCE,
    lrfu::REFERENCE,
    sieve::REFERENCE,
    s3_fifo::REFERENCE,
    s3_fifo::REFERENCE_OF_ONE_BIT,
    w_tinylfu::REFERENCE,
    lecar::REFERENCE,
    cacheus::REFERENCE,
    lhd::REFERENCE,
    belady::REFERENCE,
];

/// Chooses the objects that a cache holds. All objects take the same room. A policy knows only the calls that it
/// receives.
pub trait Replacement: Debug + Send {
    /// Returns true if the cache holds `object`.
    fn holds(&self, object: ObjectId) -> bool;

    /// Handles an access. Returns true if the cache holds the object (a hit). If not, nothing has changed, and the
    /// caller decides whether to [`insert`](Self::insert).
    fn hit(&mut self, access: &Access) -> bool;

    /// Takes in an object that [`hit`](Self::hit) has just missed. Returns the object that had to leave for it. That
    /// may be the new object itself, if the policy finds it not worth its room.
    fn insert(&mut self, access: &Access) -> Option<ObjectId>;

    /// Drops `object`, because its data are invalid. Does nothing if the cache does not hold it.
    fn remove(&mut self, object: ObjectId);

    /// Removes the object that the policy would evict next, and returns it; `None` if the cache is empty.
    fn evict(&mut self) -> Option<ObjectId>;

    /// Returns the number of objects that the cache holds.
    fn len(&self) -> u32;

    /// Returns true if the cache holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of objects that the cache may hold.
    fn capacity(&self) -> u32;

    /// Sets the number of objects that the cache may hold, at least one. If it holds more, the caller evicts objects
    /// before the next insertion.
    fn set_capacity(&mut self, capacity: u32);

    /// Makes the policy weigh objects by their sizes, the [bytes](Access::bytes) with which they come in. Most policies
    /// do not use sizes.
    fn weigh_by_size(&mut self) {}

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;

    /// Loads what these accesses will need into the processor's cache, if that helps. Changes nothing.
    fn warm(&self, _accesses: &[Access]) {}

    /// Performs accesses one after another, and takes in every object that misses. This is the inner loop of
    /// simulations: with one call for many accesses, the compiler can optimise for the policy.
    fn perform(&mut self, accesses: &[Access], counts: &mut Counts) {
        for (number, batch) in accesses.chunks(BATCH).enumerate() {
            // The next batch is loaded while this one is performed.
            let next = ((number + 1) * BATCH).min(accesses.len());
            self.warm(&accesses[next..(next + BATCH).min(accesses.len())]);
            for access in batch {
                if self.hit(access) {
                    counts.hit(access);
                } else {
                    counts.miss(access);
                    self.insert(access);
                }
            }
        }
    }
}

/// Number of accesses that are warmed together, so that their cache misses overlap.
const BATCH: usize = 16;

/// The size of a cache, for which a policy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of objects that the cache may hold, at least one.
    pub capacity: u32,
    /// Number of objects: their ids are below this.
    pub objects: u32,
    /// Seed of the policy's random numbers.
    pub seed: u64,
}

/// Builds a policy with its parameters.
pub type BuildReplacement = fn(&Shape, Parameters<'_>) -> Box<dyn Replacement>;

/// A policy in the registry.
pub type ReplacementEntry = Entry<BuildReplacement, ReplacementCapability>;

/// A property that only some policies have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacementCapability {
    /// The policy looks at [`Access::next_use`]: it needs the whole trace in advance, and cannot run in a device.
    Future,
    /// `esker cache` compares this policy with others unless the user asks for particular ones.
    Compared,
    /// Objects leave in the order in which they came in, whatever is used: a log can hold them.
    Log,
    /// The policy does not depend on the number of objects that the cache may hold, so objects may have sizes of their
    /// own ([`build_by_size`](crate::build_by_size)).
    BySize,
}

impl Capability for ReplacementCapability {
    const ALL: &'static [Self] = &[Self::Future, Self::Compared, Self::Log, Self::BySize];

    fn name(self) -> &'static str {
        match self {
            Self::Future => "future",
            Self::Compared => "compared",
            Self::Log => "log",
            Self::BySize => "by-size",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Future => "knows which accesses will follow: a bound for the others, not something to be used",
            Self::Compared => "is among those that `esker cache` compares unless others are asked for",
            Self::Log => "evicts in the order of insertion, so that slots can be a log (`slots = \"log\"`)",
            Self::BySize => "can keep objects of different sizes (`esker cache --sized`)",
        }
    }
}

/// Why a policy cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BuildError {
    /// No policy has this name.
    #[error(transparent)]
    Name(#[from] NotFound),
    /// The policy does not accept a parameter.
    #[error(transparent)]
    Parameter(#[from] ChoiceError),
    /// The cache would hold nothing.
    #[error("a cache of no objects holds nothing")]
    NoCapacity,
    /// Objects have sizes of their own, which the policy does not support.
    #[error("`{policy}` shares its cache out by numbers of objects, and here each object has a size of its own")]
    NotBySize {
        /// The policy.
        policy: &'static str,
    },
}

impl Hint for BuildError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Name(name) => name.hint(),
            Self::Parameter(error) => error.hint(),
            Self::NoCapacity => None,
            Self::NotBySize { .. } => {
                let able: Vec<&str> = registry::names_with(REPLACEMENTS, ReplacementCapability::BySize).collect();
                Some(format!("these can deal with that: {}", able.join(", ")))
            }
        }
    }
}

/// Builds the policy that `choice` names.
pub fn build(choice: &Choice, shape: &Shape) -> Result<Box<dyn Replacement>, BuildError> {
    let (entry, parameters) = chosen(REPLACEMENTS, "cache policy", choice, shape.capacity)?;
    Ok((entry.build)(shape, parameters))
}

/// Returns the entry that `choice` names, with its parameters, for a cache of `capacity` objects.
pub(crate) fn chosen<'a, B, C>(
    entries: &'static [Entry<B, C>],
    what: &'static str,
    choice: &'a Choice,
    capacity: u32,
) -> Result<(&'static Entry<B, C>, Parameters<'a>), BuildError> {
    let entry = registry::find(entries, what, &choice.kind)?;
    let parameters = Parameters::new(choice, &entry.parameters)?;
    if capacity == 0 {
        return Err(BuildError::NoCapacity);
    }
    Ok((entry, parameters))
}
