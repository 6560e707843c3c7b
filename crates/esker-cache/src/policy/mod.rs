//! Replacement policies: which object leaves a full cache. One file per policy.
//!
//! # How to add a policy
//!
//! Add one file, such as `policy/fifo.rs`, and two lines here: `mod fifo;`, and `fifo::ENTRY` in [`REPLACEMENTS`]. The
//! tests that walk the registry then cover it, and `esker cache TRACE --policy fifo` selects it. `queues.rs` has the
//! lists that most policies are made of.
//!
//! The tests ask for the same policy a second time, written as simply as it can be said, and compare the two access by
//! access: a file in `reference/`, its two lines in `reference.rs` (which has the simplest ones itself), and a line of
//! `naive` in `policy/tests.rs`. They also ask for its misses on a real trace, if possible as others count them
//! (`tests/reference_counts.rs`), and for its name in `examples/cache-ranking.toml` and docs/cache-ranking.md.

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

/// Chooses the objects that a cache holds. All objects take the same room. A policy knows nothing but the calls that it
/// gets.
pub trait Replacement: Debug + Send {
    /// Whether the cache holds `object`.
    fn holds(&self, object: ObjectId) -> bool;

    /// An access. Returns true if the cache holds the object (a hit), else false: then nothing has changed, and the
    /// caller decides whether to [`insert`](Self::insert).
    fn hit(&mut self, access: &Access) -> bool;

    /// Takes an object in that [`hit`](Self::hit) has just missed. Returns the object that had to leave for it; that
    /// may be the new one itself, if the policy finds it not worth its room.
    fn insert(&mut self, access: &Access) -> Option<ObjectId>;

    /// Forgets that the cache holds `object`, because its data are invalid. Nothing happens if it does not.
    fn remove(&mut self, object: ObjectId);

    /// Removes the object that the policy would evict next, and returns it; `None` if the cache is empty.
    fn evict(&mut self) -> Option<ObjectId>;

    /// How many objects the cache holds.
    fn len(&self) -> u32;

    /// Whether the cache holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many objects the cache may hold.
    fn capacity(&self) -> u32;

    /// Sets how many objects the cache may hold, at least one. If it holds more, the caller evicts before the next
    /// insertion.
    fn set_capacity(&mut self, capacity: u32);

    /// Has the policy weigh objects by their sizes, the [bytes](Access::bytes) with which they come in. Most policies
    /// have no use for them.
    fn weigh_by_size(&mut self) {}

    /// Bytes of memory in use.
    fn memory_bytes(&self) -> usize;

    /// Loads what these accesses will need into the processor's cache, if that helps. Changes nothing.
    fn warm(&self, _accesses: &[Access]) {}

    /// Performs accesses one after the other, and takes in every object that misses. This is the inner loop of
    /// simulations: one call for many accesses lets the compiler see the policy.
    fn perform(&mut self, accesses: &[Access], counts: &mut Counts) {
        for (number, batch) in accesses.chunks(BATCH).enumerate() {
            // While this batch is performed, the next one is on its way.
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

/// Accesses that are warmed together, so that their cache misses overlap.
const BATCH: usize = 16;

/// What a policy is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many objects the cache may hold; at least one.
    pub capacity: u32,
    /// How many objects there are: their ids are below this.
    pub objects: u32,
    /// Seed of the policy's random numbers.
    pub seed: u64,
}

/// Builds a policy with its parameters.
pub type BuildReplacement = fn(&Shape, Parameters<'_>) -> Box<dyn Replacement>;

/// A policy in the registry.
pub type ReplacementEntry = Entry<BuildReplacement, ReplacementCapability>;

/// Something that some policies can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacementCapability {
    /// It looks at [`Access::next_use`]: it needs the whole trace beforehand, and cannot run in a device.
    Future,
    /// `esker cache` compares it with others unless the user asks for some.
    Compared,
    /// Objects leave in the order in which they came in, whatever is used: a log can hold them.
    Log,
    /// It does not look at how many objects the cache may hold: objects may have sizes of their own
    /// ([`build_by_size`](crate::build_by_size)).
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
    /// Objects have sizes of their own, and the policy cannot deal with that.
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

/// The entry that `choice` names, with its parameters, for a cache of `capacity` objects.
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
