//! Admission policies: which of the objects that miss enter the cache. Every write to the cache wears its flash, and an
//! object that is not used again was written in vain. One file per policy.
//!
//! # How to add a policy
//!
//! Add one file, such as `admission/flashield.rs`, and three lines here: `mod flashield;`, `flashield::ENTRY` in
//! [`ADMISSIONS`], and `flashield::MODEL` in `MODELS`. The model, at the end of the file, is the same policy, written
//! as simply as possible: tests compare the two.

mod bloom;
mod budget;
mod flashield;
mod larc;
mod none;
mod recent;
mod reject_first;
mod second_hit;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use esker_core::registry::{Capability, Choice, Entry, Parameters};
use esker_core::{Nanos, Ratio};

pub use self::budget::daily_budget;
use crate::policy::chosen;
use crate::{Access, BuildError, Shape};

/// Every policy, in the order in which lists show them.
pub static ADMISSIONS: &[AdmissionEntry] =
    &[none::ENTRY, second_hit::ENTRY, larc::ENTRY, bloom::ENTRY, reject_first::ENTRY, flashield::ENTRY];

/// What tests compare each policy with.
#[cfg(test)]
static MODELS: &[tests::ModelEntry] =
    &[none::MODEL, second_hit::MODEL, larc::MODEL, bloom::MODEL, reject_first::MODEL, flashield::MODEL];

/// Decides which objects may enter a cache. It is called for every access, in the order of time. The bytes of an access
/// are the bytes that it writes to the cache if it enters, or if it is a write that hits.
pub trait Admission: Debug + Send {
    /// Handles an access at `now` that missed. Returns true if the object may enter the cache, in which case the caller
    /// [`insert`](crate::Replacement::insert)s it.
    fn admits(&mut self, now: Nanos, access: &Access) -> bool;

    /// Handles an access at `now` that hit.
    fn hit(&mut self, _now: Nanos, _access: &Access) {}

    /// Sets the share of the accesses that come: each stands for 1/`rate` of them, and a budget is for the bytes of
    /// all.
    fn set_rate(&mut self, _rate: f64) {}

    /// Sets how many objects the cache may hold, at least one.
    fn set_capacity(&mut self, capacity: u32);

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;
}

/// Builds a policy with its parameters, for a cache of this shape.
pub type BuildAdmission = fn(&Shape, Parameters<'_>) -> Box<dyn Admission>;

/// A policy in the registry.
pub type AdmissionEntry = Entry<BuildAdmission, AdmissionCapability>;

/// The policy that admits every object that misses. Caches use it by default.
pub const NO_ADMISSION: &str = none::ENTRY.name;

/// Something that only some admission policies do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionCapability {
    /// The policy looks at the times of accesses, which have to be kept for it.
    Time,
}

impl Capability for AdmissionCapability {
    const ALL: &'static [Self] = &[Self::Time];

    fn name(self) -> &'static str {
        "time"
    }

    fn meaning(self) -> &'static str {
        "looks at the times of accesses: a trace without times has nothing for it"
    }
}

/// Builds the admission policy that `choice` names.
///
/// ```
/// use esker_cache::{Access, AccessKind, NEVER, ObjectId, Shape, build, build_admission, simulate_admitting};
/// use esker_core::{Nanos, registry::Choice};
///
/// let accesses = [0, 1, 0, 0].map(|object| Access {
///     object: ObjectId(object),
///     bytes: 4096,
///     kind: AccessKind::Read,
///     next_use: NEVER,
/// });
/// let times = [1, 2, 3, 4].map(Nanos::from_secs);
/// let shape = Shape { capacity: 2, objects: 2, seed: 1 };
/// let mut policy = build(&Choice::named("lru"), &shape).unwrap();
/// let mut admission = build_admission(&Choice::named("second-hit"), &shape).unwrap();
/// let counts = simulate_admitting(&mut *policy, &mut *admission, &times, &accesses);
/// assert_eq!((counts.misses, counts.refused, counts.written_bytes), (3, 2, 4096));
/// ```
pub fn build_admission(choice: &Choice, shape: &Shape) -> Result<Box<dyn Admission>, BuildError> {
    let (entry, parameters) = chosen(ADMISSIONS, "admission policy", choice, shape.capacity)?;
    Ok((entry.build)(shape, parameters))
}

/// Returns a share of a cache in objects, at least one.
fn objects_of(share: Ratio, capacity: u32) -> u32 {
    share.of(u64::from(capacity)).clamp(1, u64::from(u32::MAX)) as u32
}
