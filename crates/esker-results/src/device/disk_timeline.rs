//! Timelines of disks: single accesses, and what the arm did for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Some accesses of the measured phase, the first ones. Those of disks with several arms are listed arm by arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskTimeline {
    /// In the order in which each arm turned to them.
    pub accesses: Vec<DiskAccess>,
}

/// What an access is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskAccessKind {
    /// A read from the medium.
    #[default]
    Read,
    /// A write that ends on the medium.
    Write,
    /// A write from the buffer to the medium, which ended for the host when it came into the buffer.
    EarlyWrite,
    /// A read that the buffer answered.
    BufferedRead,
}

/// An access. Times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskAccess {
    /// What it is for.
    pub kind: DiskAccessKind,
    /// Which arm, from zero.
    pub arm: u32,
    /// Length in bytes.
    pub length_bytes: u64,
    /// When the disk took the request.
    pub arrival_ns: u64,
    /// When the arm turned to it, or the buffer answered it.
    pub start_ns: u64,
    /// From then on: moving the arm, changing heads and settling.
    pub seek_ns: u64,
    /// After that: waiting for the first sector.
    pub rotation_ns: u64,
    /// After that: passing the sectors.
    pub transfer_ns: u64,
    /// When the request had ended for the host; of an early write, when it was on the medium.
    pub end_ns: u64,
    /// The cylinder at which the arm was left; absent if it did not move for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cylinder: Option<u32>,
}
