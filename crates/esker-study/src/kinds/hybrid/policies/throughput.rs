//! Splits requests between flash and disks.

use esker_core::registry::{Entry, ParameterSource};
use serde_json::json;

use super::{PolicyCapability, PolicyEntry, PolicyOfHybrid, settings};

/// Once the flash is full, what is not in use leaves it for what is.
pub(super) const ENTRY: PolicyEntry = Entry {
    name: "throughput",
    summary: "splits requests between flash and disks so that they are answered fastest on the whole",
    source: "docs/hybrids.md, Throughput",
    parameters: ParameterSource::NONE,
    capabilities: &[PolicyCapability::MovesBack],
    build: PolicyOfHybrid {
        settings: |first| settings("throughput", [("weights", json!(first.weights))]),
        keeps_free: false,
    },
};
