//! A design of flash and disks as one volume.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProductSummary;

/// What a hybrid is made of, and whether its policy has found its split between the parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridResults {
    /// The policy that chooses where extents go, such as "migration".
    pub policy: String,
    /// Bytes of an extent, which is moved as a whole.
    pub extent_bytes: u64,
    /// Capacity of one copy's volume as it is sold: that of all its devices, less `reserve_bytes`.
    pub capacity_bytes: u64,
    /// Places that stay free, so that extents can move.
    pub reserve_bytes: u64,
    /// The flash.
    pub flash: HybridPart,
    /// The disks.
    pub disks: HybridPart,
    /// Extents that moved in the measured run.
    pub moved_extents: u64,
    /// Whether few enough of them moved in its last quarter; absent if it was not looked at, because the design misses
    /// another budget.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<PolicySettled>,
}

/// The devices of one kind in a hybrid or a cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridPart {
    /// The product.
    pub product: ProductSummary,
    /// Capacity of one device as it is sold.
    pub capacity_on_sale_bytes: u64,
    /// Number of devices bought, of all copies.
    pub count: u32,
    /// Price of these devices, in the currency of the candidate's cost.
    pub purchase: f64,
    /// Their electricity over the budgeted years, and that of their cooling.
    pub power: f64,
}

/// How much a policy still moved at the end of the measured run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySettled {
    /// Extents that moved during the last quarter of the requests.
    pub late_moves: u64,
    /// The most that may, for the policy to count as settled.
    pub late_moves_max: u64,
    /// Whether no more did.
    pub settled: bool,
}
