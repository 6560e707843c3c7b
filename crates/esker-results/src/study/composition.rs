//! What a design is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CachedVolume, Hybrid, ProductSummary};

/// How the parts of a design work together, by its kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Composition {
    /// Devices or volumes of one product, alone or striped.
    #[default]
    Alike,
    /// Flash and disks as one volume, run by a placement policy.
    Hybrid(Hybrid),
    /// Flash that caches disks.
    Cache(CachedVolume),
}

/// The devices of one product in a design of several products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignPart {
    /// What these devices are called in the design: "flash", "disks".
    pub name: String,
    /// What they are there for.
    pub role: PartRole,
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

/// What devices are in a design for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartRole {
    /// They give the volume its capacity.
    Capacity,
    /// They come on top to make the volume faster, and add no capacity.
    OnTop,
}
