//! Moves hot data to flash, and nothing back.

use esker_core::registry::{Entry, ParameterSource};
use serde_json::json;

use super::{PolicyEntry, PolicyOfHybrid, settings};

/// A budget is for 99 of 100 requests, so every hot extent has to be on flash: policies that balance devices leave some
/// on disks.
pub(super) const ENTRY: PolicyEntry = Entry {
    name: "migration",
    summary: "moves hot data to flash, and nothing back",
    source: "Wu 2011, section II.B",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: PolicyOfHybrid {
        settings: |first| settings("migration", [("weights", json!(first.weights))]),
        keeps_free: false,
    },
};
