//! Claims as they are stated before a run, and how they are judged after it.

use super::found::{Found, Value};
use crate::{Claim, StatedClaim};

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// The published value, and the share by which ours may differ.
    Within(f64, f64),
    /// Shown beside the published value, or alone.
    Beside(Option<f64>),
    /// No run of ours measures it.
    Unreachable,
}

/// A claim, its limit, and how its value follows from what was measured.
pub(super) struct Stated {
    pub(super) claim: String,
    pub(super) limit: Limit,
    /// What the paper says, or why the limit is what it is.
    pub(super) reason: &'static str,
    pub(super) value: Box<dyn Fn(&Found) -> Value>,
}

impl Stated {
    pub(super) fn new(
        claim: impl Into<String>,
        limit: Limit,
        reason: &'static str,
        value: impl Fn(&Found) -> Value + 'static,
    ) -> Self {
        Self { claim: claim.into(), limit, reason, value: Box::new(value) }
    }

    /// What no run of ours measures.
    pub(super) fn unreachable(claim: impl Into<String>, why: &'static str) -> Self {
        Self::new(claim, Limit::Unreachable, why, move |_| Err(why.into()))
    }

    /// Misses of caches and TLBs.
    pub(super) fn counted(claim: &str) -> Self {
        Self::new(claim, Limit::Unreachable, COUNTED, |_| Err(format!("{COUNTED}{}", counters_here())))
    }

    /// The verdict on what was found. Without a value the claim is unreachable, never met.
    pub(super) fn judged(&self, item: &str, found: &Found) -> Claim {
        let (claim, reason) = (&self.claim, self.reason);
        match ((self.value)(found), self.limit) {
            (Err(why), Limit::Within(published, _)) => Claim::unreachable(item, claim, Some(published), &why),
            (Err(why), Limit::Beside(published)) => Claim::unreachable(item, claim, published, &why),
            (Err(why), _) => Claim::unreachable(item, claim, None, &why),
            (Ok(value), Limit::AtLeast(limit)) => Claim::at_least(item, claim, limit, value, reason),
            (Ok(value), Limit::AtMost(limit)) => Claim::at_most(item, claim, limit, value, reason),
            (Ok(value), Limit::Within(published, tolerance)) => {
                Claim::within(item, claim, published, value, tolerance, reason)
            }
            (Ok(value), Limit::Beside(Some(published))) => Claim::compared(item, claim, published, value, reason),
            (Ok(value), Limit::Beside(None)) => Claim::beside(item, claim, value, reason),
            (Ok(_), Limit::Unreachable) => Claim::unreachable(item, claim, None, reason),
        }
    }

    /// For documents.
    pub(super) fn in_words(&self) -> StatedClaim {
        let (published, limit) = match self.limit {
            Limit::AtLeast(limit) => (None, Claim::at_least("", "", limit, limit, "").stated_tolerance()),
            Limit::AtMost(limit) => (None, Claim::at_most("", "", limit, limit, "").stated_tolerance()),
            Limit::Within(published, tolerance) => {
                (Some(published), Claim::within("", "", published, published, tolerance, "").stated_tolerance())
            }
            Limit::Beside(published) => (published, None),
            Limit::Unreachable => (None, Some("unreachable".into())),
        };
        StatedClaim { claim: self.claim.clone(), published, limit, reason: self.reason.into() }
    }
}

const COUNTED: &str = "counted with PAPI in the paper; esker reads no counters of the processor";

/// What the kernel says of the processor's counters.
fn counters_here() -> &'static str {
    let has = |name: &str| std::path::Path::new("/sys/bus/event_source/devices").join(name).exists();
    // "cpu" on most processors; on those with two kinds of cores each has its own.
    if ["cpu", "cpu_core", "armv8_pmuv3_0"].into_iter().any(has) {
        ""
    } else {
        ", and this machine has none (no cpu in /sys/bus/event_source/devices)"
    }
}
