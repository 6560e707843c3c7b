//! Results of clusters: what was written to each server, what moved, and how even wear is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a cluster did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterReport {
    /// Slices of the cluster.
    pub slices: u32,
    /// Objects of each slice.
    pub objects_per_slice: u32,
    /// Size of an object.
    pub object_bytes: u64,
    /// Copies of each slice.
    pub replicas: u8,
    /// Ends of epochs at which the balancer wanted slices moved.
    pub rounds: u64,
    /// Moves of slices that began: wanted by the balancer, or because servers joined or were drained.
    pub moves_begun: u64,
    /// Copies of slices that were on servers that failed, and are made anew on others.
    pub copies_lost: u64,
    /// Moves that are complete, and lost copies that are there again.
    pub moves_done: u64,
    /// Moves that could not begin, because there was no room or an earlier round was not complete.
    pub moves_refused: u64,
    /// Objects that writes of the host moved.
    pub objects_moved_by_requests: u64,
    /// Objects that were copied.
    pub objects_copied: u64,
    /// Writes for which the rest of an object had to be fetched from the server that it left.
    pub merges: u64,
    /// Memory that the off-loading map takes at the end.
    pub map_bytes: u64,
    /// Erases of a server, the mean over all servers.
    pub erases_mean: f64,
    /// Standard deviation of the servers' erases.
    pub erases_sd: f64,
    /// The servers, in their order.
    pub servers: Vec<ClusterServerReport>,
    /// Wear at the end of each epoch.
    pub epochs: Vec<ClusterEpoch>,
}

/// A server of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterServerReport {
    /// Copies of slices that are there, on their way there, or leaving, at the end.
    pub slices: u32,
    /// Bytes that were written to it for requests of the host.
    pub written_bytes: u64,
    /// Bytes that were copied to it.
    pub copied_bytes: u64,
    /// Erases: by its own count since it was new, or by the wear model.
    pub erases: f64,
}

/// Wear of all servers at the end of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterEpoch {
    /// Time since the start of the run.
    pub at_s: f64,
    /// Erases of a server, the mean over all servers.
    pub erases_mean: f64,
    /// Their standard deviation.
    pub erases_sd: f64,
    /// Erases of the server that has most.
    pub erases_max: f64,
}
