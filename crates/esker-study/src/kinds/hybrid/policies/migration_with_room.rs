//! Moves hot data to flash, and cold data back to disks.

use esker_core::Ratio;
use esker_core::registry::{Entry, ParameterSource};
use serde_json::json;

use super::{FirstPlaces, PolicyCapability, PolicyEntry, PolicyOfHybrid, settings};

pub(super) const ENTRY: PolicyEntry = Entry {
    name: "migration-with-room",
    summary: "moves hot data to flash, and the coldest data back to disks when less of it is free than shall be",
    source: "Wu 2011, sections II.B and III.B",
    parameters: ParameterSource::NONE,
    capabilities: &[PolicyCapability::MovesBack],
    build: PolicyOfHybrid {
        settings: |first| settings("migration", [("weights", json!(first.weights)), ("make_room", make_room(first))]),
        keeps_free: true,
    },
};

/// The share of the flash that is made free at a time. If it were large, data would leave in rare bursts, of which a
/// trace of an hour may have none.
const MADE_FREE: Ratio = Ratio::parts_per_billion(5_000_000);
/// How long devices are idle before cold data leave. With the usual 10 ms, nothing leaves under 300 requests a second.
const IDLE: &str = "1ms";

fn make_room(FirstPlaces { spare, .. }: &FirstPlaces) -> serde_json::Value {
    let until = Ratio::parts_per_billion(spare.as_parts_per_billion() + MADE_FREE.as_parts_per_billion());
    json!({ "below": spare, "until": until, "idle": IDLE })
}
