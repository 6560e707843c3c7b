//! Decides for all extents together where each serves best.

use esker_core::registry::{Entry, ParameterSource};
use serde_json::json;

use super::{PolicyCapability, PolicyEntry, PolicyOfHybrid, settings};

/// Extents leave full flash for hotter ones.
pub(super) const ENTRY: PolicyEntry = Entry {
    name: "collective",
    summary: "moves extents to where a linear programme finds all of them served best",
    source: "docs/hybrids.md, All extents at once",
    parameters: ParameterSource::NONE,
    capabilities: &[PolicyCapability::MovesBack],
    build: PolicyOfHybrid {
        settings: |first| settings("collective", [("weights", json!(first.weights))]),
        keeps_free: false,
    },
};
