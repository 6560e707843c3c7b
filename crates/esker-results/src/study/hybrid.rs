//! A design of flash and disks as one volume.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a hybrid is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hybrid {
    /// The policy that chooses where extents go, such as "migration".
    pub policy: String,
    /// Bytes of an extent, which is moved as a whole.
    pub extent_bytes: u64,
    /// Places that stay free, so that extents can move. The volume has the capacity of all devices without them.
    pub reserve_bytes: u64,
}
