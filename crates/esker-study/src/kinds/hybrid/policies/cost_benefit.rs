//! Moves an extent once leaving it has cost more than the move does.

use esker_core::registry::{Entry, ParameterSource};
use serde_json::json;

use super::{PolicyCapability, PolicyEntry, PolicyOfHybrid, settings};

/// Once the flash is full, the extent that would lose least there leaves it for one that gains more.
pub(super) const ENTRY: PolicyEntry = Entry {
    name: "cost-benefit",
    summary: "moves an extent once leaving it where it is has cost more than the move does",
    source: "docs/hybrids.md, What a move has to pay for",
    parameters: ParameterSource::NONE,
    capabilities: &[PolicyCapability::MovesBack],
    build: PolicyOfHybrid {
        settings: |first| settings("cost-benefit", [("weights", json!(first.weights))]),
        keeps_free: false,
    },
};
