//! Policies of caches that own their flash. Objects that such a cache evicts still lie in the flash until their block
//! is erased. Policies that make use of this remember them as *suspected*, and revive an object that is read again,
//! which takes no read of the backing device and no write to flash (Xia 2017, chapter 2).
//!
//! # How to add a policy
//!
//! Add one file, such as `owned/flru.rs`, and two lines here: `mod flru;`, and `flru::ENTRY` in [`FLASH_POLICIES`]. The
//! tests that walk the registry then cover it, and `policy = "flru"` of a host-managed cache selects it. `queue.rs` has
//! the queues of all policies. One that suspects objects is named in `policy_suspects` of `owned/tests.rs`, too. The
//! tests of whole caches list policies by name: `shrinking_cache.rs` and `host_managed_cache.rs` of `tests/device` in
//! esker-flash.

mod arc;
mod farc;
mod flru;
mod lru;
mod queue;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use esker_core::registry::{Choice, Entry, Parameters};

use crate::policy::chosen;
use crate::{BuildError, ObjectId};

/// Every policy, in the order in which lists show them.
pub static FLASH_POLICIES: &[FlashPolicyEntry] = &[lru::ENTRY, flru::ENTRY, arc::ENTRY, farc::ENTRY];

/// Chooses the objects that a cache over its own flash holds. All objects take one page.
pub trait FlashPolicy: Debug + Send {
    /// Reads `object`, which the cache holds afterwards. Appends to `left` the objects that have to leave for it, in
    /// order, and what happens to their data. They leave before `object` comes in.
    fn access(&mut self, object: ObjectId, left: &mut Vec<Left>) -> Found;

    /// Returns true if the cache holds `object`. A suspected object is not held.
    fn holds(&self, object: ObjectId) -> bool;

    /// Returns true if `object` is suspected, so that a read would revive it.
    fn is_suspected(&self, object: ObjectId) -> bool;

    /// Returns true if `object` is held in the head half of its queue. Conditional cleaning copies such pages.
    fn is_hot(&self, object: ObjectId) -> bool;

    /// Forgets `object`, held or suspected, because it was written to or cleaning has dropped it.
    fn remove(&mut self, object: ObjectId);

    /// Limits the cache to `capacity` objects and `suspects` suspected objects from now on, neither of which may be
    /// more than before. Appends to `left` the objects that have to leave, in order, and what happens to their data.
    fn shrink(&mut self, capacity: u32, suspects: u32, left: &mut Vec<Left>);

    /// Records that the data of `object`, if it is suspected, have been erased.
    fn erased(&mut self, object: ObjectId);

    /// Returns the number of objects that the cache holds.
    fn held(&self) -> u32;

    /// Returns the number of suspected objects.
    fn suspected(&self) -> u32;

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;
}

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The cache holds the object.
    Hit,
    /// The object was suspected, and is held again, since its data still lie in the flash.
    Revived,
    /// The data have to be fetched.
    Miss,
}

/// What happens to the data of an object that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The data count as invalid, and may be revived until they are erased.
    Suspected(ObjectId),
    /// The data will not be asked for again. The object was held or suspected before.
    Gone(ObjectId),
}

/// The size of a cache, for which a policy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashShape {
    /// Number of objects that the cache may hold: C_user, in pages.
    pub capacity: u32,
    /// Number of objects that may be suspected ([`suspects_max`]).
    pub suspects: u32,
    /// Number of objects: their ids are below this.
    pub objects: u32,
}

/// Returns the most suspected pages of a cache, N_SQ = (OP - GC_th) x C_total (Xia 2017, equation 2.2), where OP =
/// (C_total - C_user) / C_total (equation 2.1; equation 4.1, which has C_cache / C_total for it, is inverted): all
/// pages except those that the cache holds and those that cleaning keeps free. `total` and `user` are C_total and
/// C_user, `kept_free` is GC_th x C_total, all in pages.
///
/// ```
/// // A cache of 100 pages with 15 % over-provisioning; cleaning keeps 5 % free.
/// assert_eq!(esker_cache::suspects_max(100, 85, 5), 10);
/// ```
pub fn suspects_max(total: u32, user: u32, kept_free: u32) -> u32 {
    total.saturating_sub(user).saturating_sub(kept_free)
}

/// Builds a policy with its parameters.
pub type BuildFlashPolicy = fn(&FlashShape, Parameters<'_>) -> Box<dyn FlashPolicy>;

/// A policy in the registry.
pub type FlashPolicyEntry = Entry<BuildFlashPolicy>;

/// Builds the policy that `choice` names.
pub fn build_flash_policy(choice: &Choice, shape: &FlashShape) -> Result<Box<dyn FlashPolicy>, BuildError> {
    let (entry, parameters) = chosen(FLASH_POLICIES, "policy of host-managed caches", choice, shape.capacity)?;
    Ok((entry.build)(shape, parameters))
}
