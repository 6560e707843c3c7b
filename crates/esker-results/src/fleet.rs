//! Results of `esker cluster sim`: how fleets of servers wear under each balancer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON schema of [`FleetResults`].
pub const FLEET_SCHEMA: u32 = 1;

/// Result of `esker cluster sim`. Its table is drawn from this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The seed of popularity, life used and failures.
    pub seed: u64,
    /// Servers at the beginning.
    pub servers: u64,
    /// Slices of the fleet.
    pub slices: u64,
    /// Copies of each slice.
    pub replicas: u64,
    /// Bytes of a slice.
    pub slice_bytes: u64,
    /// The length of an epoch.
    pub epoch_ns: u64,
    /// One simulation for each balancer, in the order of the table.
    pub runs: Vec<FleetRun>,
}

/// A fleet under one balancer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetRun {
    /// The balancer, with the parameters that were set: "life", "life tolerance=0.2".
    pub balancer: String,
    /// Epochs that were simulated.
    pub epochs: u64,
    /// When the first server had used up its rated life, from the beginning; none if none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_worn_out_ns: Option<u64>,
    /// When all servers would be worn out together, if writes were spread in proportion to the life left: all life left
    /// divided by all writes. No balancer can be better. None if nothing is written, or it is more than 292 years away.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// The share of the bound after which the first server was worn out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share_of_bound: Option<f64>,
    /// Rated life used at the end, over servers that serve.
    pub life_used: FleetSpread,
    /// Erases at the end, by the wear model, over servers that serve.
    pub erases: FleetSpread,
    /// What was written.
    pub written: FleetWrites,
    /// What happened.
    pub counts: FleetCounts,
    /// The fleet over time: at the beginning, at the end, and between.
    pub snapshots: Vec<FleetSnapshot>,
    /// All servers that ever took part, by number.
    pub servers: Vec<FleetServer>,
}

/// A figure over servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetSpread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// What 99 of 100 servers do not exceed.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// Bytes that servers were written, of all replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetWrites {
    /// By hosts, updates of parity among it: a large fleet is written more bytes than an integer of 64 bits holds.
    pub host_bytes: f64,
    /// By copies for moves that the balancer planned.
    pub balancing_bytes: u64,
    /// By the rest of objects that part writes moved: not limited in rate, since the host waits for it.
    pub merged_bytes: u64,
    /// By copies to servers that joined, and from servers that were drained.
    pub member_bytes: u64,
    /// By rebuilds after failures.
    pub rebuild_bytes: u64,
    /// By erasure coding: parity, and copies of slices that hosts write again.
    pub code_bytes: u64,
    /// What balancing wrote, copies and merges, as a share of what hosts wrote.
    pub extra_share: f64,
    /// The most that was copied in an epoch, merges apart.
    pub most_copied_bytes: u64,
}

/// How often things happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetCounts {
    /// Moves of plans that began.
    pub moves: u64,
    /// Moves of plans that could not begin: copies of before were not complete, or a server had failed.
    pub moves_refused: u64,
    /// Servers that used up their rated life.
    pub worn_out: u64,
    /// Servers that failed.
    pub failed: u64,
    /// Servers that joined, replacements among them.
    pub joined: u64,
    /// Servers that came in place of others.
    pub replaced: u64,
    /// Replicas, and parity, that were on servers that failed.
    pub replicas_lost: u64,
    /// Slices of which no server had every object any more.
    pub slices_lost: u64,
    /// Objects that no server had any more.
    pub objects_lost: u64,
    /// Replicas that had no server at the end.
    pub homeless: u64,
    /// Slices that were kept as an erasure code at the end.
    pub coded: u64,
    /// How often a slice became one of a code.
    pub became_coded: u64,
    /// How often a slice of a code got copies again.
    pub became_copied: u64,
}

/// The fleet at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetSnapshot {
    /// The moment, from the beginning.
    pub at_ns: u64,
    /// Rated life used, over servers that serve.
    pub life_used: FleetSpread,
    /// Rated life used by each server that ever took part, by number, to a millionth.
    pub life_used_by_server: Vec<f64>,
}

/// A server of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetServer {
    /// Its group.
    pub group: String,
    /// When it joined, from the beginning.
    pub joined_ns: u64,
    /// When it failed, or was empty after it was drained; none if it serves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_ns: Option<u64>,
    /// Whether it failed.
    pub failed: bool,
    /// What it can be written until its rated life is used up.
    pub rated_bytes: u64,
    /// Rated life used when it joined, to a millionth.
    pub life_used_before: f64,
    /// Replicas on it at the end, and on their way there or from there.
    pub replicas: u64,
}

impl FleetSpread {
    /// The spread of some values; zeros of none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let Some(max) = values.last().copied() else { return Self::default() };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let rank = (values.len() * 99).div_ceil(100);
        Self { mean, sd: variance.sqrt(), p99: values[rank - 1], max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_over_all_values() {
        let spread = FleetSpread::of((1..=200).rev().map(f64::from).collect());
        assert_eq!((spread.mean, spread.p99, spread.max), (100.5, 198.0, 200.0));
        assert!((spread.sd - (200.0f64 * 200.0 - 1.0).sqrt() / 12f64.sqrt()).abs() < 1e-9);
        assert_eq!(FleetSpread::of(vec![3.0]), FleetSpread { mean: 3.0, sd: 0.0, p99: 3.0, max: 3.0 });
        assert_eq!(FleetSpread::of(Vec::new()), FleetSpread::default());
    }
}
