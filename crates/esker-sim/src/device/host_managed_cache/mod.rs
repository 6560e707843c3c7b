//! Read caches on flash that the host manages, in front of any other device.

mod device;
#[cfg(test)]
mod tests;

use esker_core::registry::{self, ParameterSource};
use esker_core::{Hint, Preset, Ratio};
use esker_flash::{CacheCleaning, Choice, HostManagedCache, HostManagedCacheError, SsdSettings, WearSettings};
use esker_results::Reporting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flash_cache::no_admission;
use super::memory::Filled;
use super::ssd;
use super::{ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};
use device::HostManagedCacheDevice;

/// The `host-managed-cache` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "host-managed-cache",
    summary: "A read cache on flash that the host manages, page by page, in front of another device",
    source: "Xia 2017, chapters 2 and 3; docs/host-managed-cache.md",
    parameters: ParameterSource::Schema(schema_of::<HostManagedCacheSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<HostManagedCacheSettings>(table),
        example: "[device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\nservers = 64\ncapacity = \"64MiB\"\n\n\
                  [device.example]\nkind = \"host-managed-cache\"\nbacking = \"disk\"\npolicy = \"flru\"\n\
                  cleaning = \"zero-migration\"\nblocks_per_plane = 12\nover_provisioning = \"25%\"\n",
    },
};

/// A read cache on flash. Reads are cached page by page. What misses is fetched, in one request for neighbouring pages,
/// and written to the flash. Writes go to the backing device, and the pages that they touch leave the cache. Cache and
/// translation layer share one map, in the host's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostManagedCacheSettings {
    /// The device behind it, with a table of its own: the volume whose reads are cached.
    pub backing: String,
    /// The drive, a preset of the kind `ssd`, whose flash the cache has: shape, times, threshold of cleaning, victims.
    #[serde(default = "xia")]
    pub flash_preset: String,
    /// The flash in full, as in a table of the kind `ssd`, instead of `flash_preset`. One pool (`pool` = "device"),
    /// layer `page`; without link, write buffer, power failures, bit errors and background cleaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<SsdSettings>,
    /// Share of the flash that the cache does not count on: OP = (C_total - C_user) / C_total (default: as the flash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Ratio>,
    /// Another number of blocks in each plane: the size of the cache (default: as the flash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_per_plane: Option<u32>,
    /// How blocks wear (default: as the flash). The cache holds less with each block that goes out of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSettings>,
    /// Erases that a block is rated for (default: as the flash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance_cycles: Option<u64>,
    /// Which pages leave: a policy of host-managed caches ([`esker_cache::FLASH_POLICIES`]).
    #[serde(default = "flru")]
    pub policy: Choice,
    /// Which of the pages that miss may enter: an admission policy ([`esker_cache::ADMISSIONS`]).
    #[serde(default = "no_admission")]
    pub admission: Choice,
    /// What cleaning does with valid pages, all of which have a copy on the backing device.
    #[serde(default)]
    pub cleaning: CacheCleaning,
    /// What is erased at a time, and therefore cleaned.
    #[serde(default)]
    pub erase: EraseUnit,
    /// Which block or zone is cleaned, as `cleaning.victim` of a drive (default: as the flash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<Choice>,
    /// Which pages are kept in blocks of their own.
    #[serde(default)]
    pub streams: PageStreams,
    /// When a read that missed is complete.
    #[serde(default)]
    pub reply: CacheReply,
}

/// What a cache erases at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseUnit {
    /// A block.
    #[default]
    Block,
    /// A zone: a block of each plane of the flash. Zones are filled one after the other, page by page over all planes,
    /// and erased as a whole (layer `zoned`).
    Zone,
}

/// Which pages are kept in blocks of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageStreams {
    /// Those of the flash's own settings: none, by default.
    #[default]
    None,
    /// Pages that were fetched; pages that cleaning copies from the head half of their queue; and other pages that it
    /// copies. Each kind has as many write frontiers as the flash has for one. Where `cleaning` drops pages of a kind,
    /// there is no such kind.
    ByPurpose,
}

/// When a read that missed is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheReply {
    /// Once its pages were fetched. They are written to the flash meanwhile.
    #[default]
    AfterFetch,
    /// Once its pages have been written to the flash, too, as algorithms 1 and 2 of Xia 2017 have it.
    AfterFill,
}

fn xia() -> String {
    "xia-cache-3g".to_string()
}

fn flru() -> Choice {
    Choice::named("flru")
}

impl HostManagedCacheSettings {
    /// Returns the settings of the flash, with the changes that this table makes to them.
    pub fn flash_settings(&self) -> Result<SsdSettings, DeviceFault> {
        let mut flash = match &self.flash {
            Some(flash) => flash.clone(),
            None => of_preset(&self.flash_preset)?,
        };
        if let Some(share) = self.over_provisioning {
            (flash.over_provisioning, flash.spare_factor, flash.factory_over_provisioning) = (Some(share), None, None);
        }
        if let Some(blocks) = self.blocks_per_plane {
            flash.geometry.blocks_per_plane = blocks;
        }
        if let Some(wear) = self.wear {
            flash.wear = Some(wear);
        }
        if let Some(endurance_cycles) = self.endurance_cycles {
            flash.endurance_cycles = endurance_cycles;
        }
        if self.erase == EraseUnit::Zone {
            flash.ftl = Choice::named("zoned");
        }
        if let Some(victim) = &self.victim {
            flash.cleaning.victim = victim.clone();
        }
        if self.streams == PageStreams::ByPurpose {
            flash.streams = self.cleaning.purposes();
        }
        Ok(flash)
    }

    /// The fault with the keys of this table that it is about.
    fn fault(&self, error: &HostManagedCacheError) -> DeviceFault {
        let key = |key: String| match key.as_str() {
            "flash.over_provisioning" if self.over_provisioning.is_some() => "over_provisioning".to_string(),
            "flash.geometry.blocks_per_plane" if self.blocks_per_plane.is_some() => "blocks_per_plane".to_string(),
            "flash.endurance_cycles" if self.endurance_cycles.is_some() => "endurance_cycles".to_string(),
            _ if key.starts_with("flash.wear") && self.wear.is_some() => key.replacen("flash.", "", 1),
            "flash.ftl" if self.erase != EraseUnit::Block => "erase".to_string(),
            _ if key.starts_with("flash.cleaning.victim") && self.victim.is_some() => {
                key.replacen("flash.cleaning.victim", "victim", 1)
            }
            "flash.streams" if self.streams != PageStreams::None => "streams".to_string(),
            _ if key.starts_with("flash.") && self.flash.is_none() => "flash_preset".to_string(),
            _ => key,
        };
        DeviceFault::new(error.to_string()).at(error.keys().into_iter().map(key)).with_hint(error.hint())
    }
}

/// Returns the drive called `name`.
fn of_preset(name: &str) -> Result<SsdSettings, DeviceFault> {
    let known: &[Preset] = esker_flash::PRESETS;
    let Some(preset) = known.iter().find(|preset| preset.name == name) else {
        let error = registry::NotFound::new("preset of drives", name, known.iter().map(|preset| preset.name));
        return Err(DeviceFault::new(error.to_string()).at(["flash_preset"]).with_hint(error.hint()));
    };
    Ok(toml::from_str(preset.toml).unwrap_or_else(|error| panic!("the preset {name} is broken: {error}")))
}

impl DeviceSettings for HostManagedCacheSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn children(&self) -> Vec<ChildName> {
        vec![ChildName { key: "backing".to_string(), device: self.backing.clone(), count: None }]
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        let flash = self.flash_settings()?;
        if flash.queue_depth == 0 {
            let fault = DeviceFault::new("`queue_depth` of the flash is 0; a cache takes at least one request");
            return Err(fault.at(["flash.queue_depth"]));
        }
        let keys = ["blocks_per_plane", "flash.geometry.blocks_per_plane", "flash.geometry", "flash", "flash_preset"];
        // It is never preconditioned.
        ssd::check_memory(&flash, Filled::AsUsed, &keys)?;
        let backing = instance.children.into_iter().next().expect("it has a backing device").device;
        let (policy, admission) = (&self.policy, &self.admission);
        let cache = HostManagedCache::new(&flash, policy, admission, self.cleaning, backing.capacity(), instance.seed)
            .map_err(|error| self.fault(&error))?;
        Ok(Box::new(HostManagedCacheDevice::new(instance.name, cache, backing, self.reply, flash.queue_depth)))
    }
}
