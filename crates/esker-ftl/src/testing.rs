//! Drive settings for tests.

use std::ops::{Deref, DerefMut};

use esker_core::{Bytes, Ratio};
use esker_nand::{GeometrySettings, PoolScope};

use crate::{Choice, CleaningSettings, FtlSettings, WriteFrontiers};

/// The shape of an array, and the settings of its translation layer.
#[derive(Clone, Debug)]
pub(crate) struct DriveSettings {
    pub(crate) geometry: GeometrySettings,
    pub(crate) block_summary: bool,
    pub(crate) layer: FtlSettings,
}

impl Deref for DriveSettings {
    type Target = FtlSettings;
    fn deref(&self) -> &FtlSettings {
        &self.layer
    }
}

impl DerefMut for DriveSettings {
    fn deref_mut(&mut self) -> &mut FtlSettings {
        &mut self.layer
    }
}

/// Returns settings of the layer `kind`, with optional features off.
pub(crate) fn layer(kind: &str, over_provisioning: u64, pool: PoolScope) -> FtlSettings {
    FtlSettings {
        over_provisioning: Some(Ratio::percent(over_provisioning)),
        spare_factor: None,
        factory_over_provisioning: None,
        ftl: Choice::named(kind),
        cleaning: CleaningSettings::default(),
        pool,
        write_frontiers: WriteFrontiers::Die,
        least_loaded: false,
        streams: 1,
        endurance_cycles: 1000,
        wear: None,
        refresh: false,
        re_encode: false,
        power_fails: false,
    }
}

/// Returns one plane of `blocks` blocks with `pages` pages each.
pub(crate) fn one_plane(blocks: u32, pages: u32) -> GeometrySettings {
    GeometrySettings {
        channels: 1,
        packages_per_channel: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        page_size: Bytes::kib(4),
        spare_size: Bytes(0),
        units_per_page: 1,
    }
}

/// Returns eight packages of two dies, each with four planes (Agrawal 2008, section 2).
pub(crate) fn agrawal() -> DriveSettings {
    let mut layer = layer("page", 0, PoolScope::Package);
    (layer.over_provisioning, layer.factory_over_provisioning) = (None, Some(Ratio::percent(15)));
    let geometry = GeometrySettings { channels: 8, dies_per_package: 2, planes_per_die: 4, ..one_plane(2048, 64) };
    DriveSettings { geometry, block_summary: false, layer }
}
