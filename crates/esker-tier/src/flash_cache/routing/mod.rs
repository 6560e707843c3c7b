//! Routing of hits: a share of the reads that the flash could serve goes to the backing device, so that both work. One
//! file per policy.
//!
//! # How to add a policy
//!
//! Add one file like `orthus.rs`, and two lines here: `mod name;`, and `name::ENTRY` in [`ROUTINGS`]. The policy only
//! says which share is routed, and whether lines that reads miss enter. The engine sees to it that nothing stale is
//! read.

mod none;
mod orthus;
mod served;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use esker_cache::BuildError;
use esker_core::registry::{self, Choice, Entry, Parameters};
use esker_core::{Bytes, Nanos, Ratio};
use esker_results::CacheRouting;

/// Every policy, in the order in which lists show them.
pub static ROUTINGS: &[RoutingEntry] = &[none::ENTRY, orthus::ENTRY];

/// The policy by which the flash serves every read that hits.
const NO_ROUTING: &str = none::ENTRY.name;

/// The default choice of a cache.
pub fn no_routing() -> Choice {
    Choice::named(NO_ROUTING)
}

/// Returns true if `routing` is that default. Settings leave it out where they are written down.
pub fn routes_nothing(routing: &Choice) -> bool {
    *routing == no_routing()
}

/// A policy in the registry.
pub type RoutingEntry = Entry<BuildRouting>;

/// Makes a policy for a cache with this number of slots; `None` if nothing is ever routed.
pub type BuildRouting = fn(slots: u32, Parameters<'_>) -> Option<Box<dyn HitRouting>>;

/// Decides which reads of clean lines the backing device serves although the flash could. A policy knows only what it
/// is told: it has no clock and does no I/O.
pub trait HitRouting: Debug + Send {
    /// Learns that the host reads a line, and whether the cache holds it.
    fn looked_up(&mut self, is_hit: bool);

    /// Learns that a read or a write of the host has succeeded at `now`: its length, and the time from its arrival.
    fn ended(&mut self, now: Nanos, bytes: Bytes, response: Nanos);

    /// Returns true if the lines that reads miss may enter the cache.
    fn admits(&self) -> bool;

    /// Returns true if the backing device is to serve the next read of clean lines.
    fn routes(&mut self) -> bool;

    /// Returns the share of these reads that is routed now.
    fn share(&self) -> Ratio;
}

/// A policy, and what came of it.
#[derive(Debug)]
pub(super) struct HitRouter {
    policy: Box<dyn HitRouting>,
    counts: CacheRouting,
}

impl HitRouter {
    /// Makes the router that `choice` names, for a cache of `slots` slots; `None` if the flash serves all hits.
    pub(super) fn new(choice: &Choice, slots: u32) -> Result<Option<Self>, BuildError> {
        let entry = registry::find(ROUTINGS, "routing", &choice.kind)?;
        let policy = (entry.build)(slots, Parameters::new(choice, &entry.parameters)?);
        Ok(policy.map(|policy| Self { policy, counts: CacheRouting::default() }))
    }

    /// A router with a policy that no registry has.
    #[cfg(test)]
    pub(super) fn of(policy: Box<dyn HitRouting>) -> Self {
        Self { policy, counts: CacheRouting::default() }
    }

    fn ended(&mut self, now: Nanos, bytes: Bytes, response: Nanos) {
        let admitted = self.policy.admits();
        self.policy.ended(now, bytes, response);
        self.counts.admission_stops += u64::from(admitted && !self.policy.admits());
    }

    pub(super) fn start_measuring(&mut self) {
        self.counts = CacheRouting::default();
    }

    /// Returns what was done since measuring started, in which `read_hits` reads of lines hit.
    pub(super) fn report(&self, read_hits: u64) -> CacheRouting {
        CacheRouting {
            routed_ratio: self.counts.routed as f64 / read_hits.max(1) as f64,
            share_at_end: self.policy.share().as_f64(),
            admits_at_end: self.policy.admits(),
            ..self.counts.clone()
        }
    }
}
