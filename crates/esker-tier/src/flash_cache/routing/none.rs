//! No routing.

use esker_core::registry::ParameterSource;

use super::RoutingEntry;

pub(super) const ENTRY: RoutingEntry = RoutingEntry {
    name: "none",
    summary: "no routing: the flash serves all reads that hit",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_, _| None,
};
