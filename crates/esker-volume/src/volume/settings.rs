//! The settings of a volume's engine, as its superblocks keep them.

use esker_core::{Bytes, Ratio};
use esker_tier::{PLACEMENTS, PlacementEngine, PlacementSettings, PolicySettings, SettingsError};
use serde::{Deserialize, Serialize};

/// The engine of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VolumeSettings {
    /// A map of extents, which a policy places and moves.
    Placement {
        /// Bytes of an extent, the unit of placement: a multiple of 4 KiB.
        extent_bytes: u64,
        /// The policy, which chooses a device for each extent.
        policy: PolicySettings,
        /// Whether an extent gives up its place when the host trims all of it.
        free_on_trim: bool,
        /// Parts in a billion of each device that stay free, so that extents can move there.
        kept_free_per_billion: u64,
        /// Bytes that the host can address; `None` for all that the devices hold beside what is kept free.
        capacity_bytes: Option<u64>,
    },
}

/// Records that one extent takes in a checkpoint at most: its place, and bits for each 96 blocks.
fn records_an_extent(extent: u64) -> u64 {
    1 + (extent / 4096).div_ceil(96)
}

impl VolumeSettings {
    /// Bytes of an extent.
    pub fn extent(&self) -> Bytes {
        let Self::Placement { extent_bytes, .. } = self;
        Bytes(*extent_bytes)
    }

    /// The most records that a checkpoint has if the devices hold `bytes`.
    pub(super) fn records_max(&self, bytes: u64) -> u64 {
        let extent = self.extent().0;
        bytes.div_ceil(extent.max(1)) * records_an_extent(extent)
    }

    /// The settings of the engine over devices with this much data.
    pub(super) fn placement(&self, devices: Vec<Bytes>) -> PlacementSettings {
        let Self::Placement { extent_bytes, policy, free_on_trim, .. } = self;
        PlacementSettings {
            extent: Bytes(*extent_bytes),
            devices,
            policy: policy.clone(),
            policies: PLACEMENTS,
            free_on_trim: *free_on_trim,
        }
    }

    /// Has `engine` offer what the settings say.
    pub(super) fn offer(&self, engine: &mut PlacementEngine) -> Result<(), SettingsError> {
        let Self::Placement { kept_free_per_billion, capacity_bytes, .. } = self;
        let share = Ratio::parts_per_billion(*kept_free_per_billion);
        let capacity = capacity_bytes.map_or_else(|| engine.capacity_beside(share), Bytes);
        engine.offer(capacity)?;
        engine.keep_free(share);
        Ok(())
    }
}
