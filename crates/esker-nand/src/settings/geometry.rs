//! The shape of the array, and the times of its operations.

use esker_core::{ByteRate, Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The flash array, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeometrySettings {
    /// Serial buses.
    #[schemars(range(min = 1))]
    pub channels: u32,
    /// Packages that share a channel's bus (a shared-bus gang).
    #[schemars(range(min = 1))]
    pub packages_per_channel: u32,
    /// Dies of a package. Dies work independently.
    #[schemars(range(min = 1))]
    pub dies_per_package: u32,
    /// Planes of a die.
    #[schemars(range(min = 1))]
    pub planes_per_die: u32,
    /// Erase blocks of a plane.
    #[schemars(range(min = 1))]
    pub blocks_per_plane: u32,
    /// Pages of a block.
    #[schemars(range(min = 1, max = 65_534))]
    pub pages_per_block: u32,
    /// Data bytes of a page: a power of two, at least one sector.
    #[schemars(extend("least" = "512B", "most" = "1GiB"))]
    pub page_size: Bytes,
    /// How many consecutive pages of a block are read from the cells together. Above 1, a page here is the unit of
    /// mapping and transfer, and this many of them make a page of the flash. Units of one flash page that wait for a
    /// die one after the other are sensed once. `timing.page_program` is then a unit's share of the program. Divides
    /// `pages_per_block`.
    #[schemars(range(min = 1))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units_per_page: u32,
    /// Bytes of a page beside its data (identification, error correction). They cross the bus with the data.
    #[schemars(extend("most" = "1GiB"))]
    pub spare_size: Bytes,
}

/// Times of the flash array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingSettings {
    /// Read from cells to data register (data sheets: tR).
    pub page_read: Nanos,
    /// Program from data register to cells (data sheets: tPROG).
    pub page_program: Nanos,
    /// Erase of a block (data sheets: tBERS).
    pub block_erase: Nanos,
    /// Number of blocks that are erased together. Above 1, blocks are pieces of the drive's own blocks: one in this
    /// many takes `block_erase`, and the others take no time. So a part of a drive whose blocks are cut small keeps the
    /// erases of the whole drive, which reads wait for: equally long, and equally often for the same amount of data.
    #[schemars(range(min = 1))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub blocks_per_erase: u32,
    /// Rate of a channel's bus. 25 ns per byte are "40MB/s".
    pub bus_rate: ByteRate,
}

/// The part of the array that shares free blocks and is cleaned as one (Agrawal 2008, section 3.1: allocation pool).
/// Logical pages are spread over the pools page by page and never change their pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolScope {
    /// Each plane.
    Plane,
    /// Each die.
    Die,
    /// Each package, as in Agrawal 2008, section 4.2.
    #[default]
    Package,
    /// Each gang: the packages of a channel.
    Gang,
    /// The whole array.
    Device,
}

fn one() -> u32 {
    1
}
fn is_one(count: &u32) -> bool {
    *count == 1
}
