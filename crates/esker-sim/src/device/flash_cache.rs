//! Flash caches: a flash device in front of a backing device.

use std::sync::Arc;

use esker_controllers::{AllocationSettings, ControllerSettings, PartitionSettings};
use esker_core::registry::{Choice, ParameterSource};
use esker_core::{Arrival, Bytes, CannotOwn, Hint, Ratio};
use esker_results::{DeviceReport, Reporting};
use esker_tier::{
    BuildController, CacheRole, CacheStreams, FlashCacheEngine, FlashCacheError, FlashCacheSettings, OwnedFlash,
    SlotOrder, WriteHandling,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache_requests::{self, Needs};
use super::engine::EngineDevice;
use super::memory::{self, Filled};
use super::{ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// Memory for each slot of the flash, with the least of policies, and for each line of the volume, in bytes. Measured:
/// caches of 64 and 128 GiB before 256 and 512 GB take 1.45, 1.91, 2.42 and 2.88 GB.
const SLOT_MEMORY: u64 = 28;
const LINE_MEMORY: u64 = 16;

/// Refuses a cache whose map takes more memory than is free.
fn check_memory(settings: &FlashCacheSettings) -> Result<(), DeviceFault> {
    let of = |bytes: Bytes| bytes.0.checked_div(settings.line.0).unwrap_or(0);
    let (slots, lines) = (of(settings.flash), of(settings.backing));
    // A cache cannot number more; that has an error of its own.
    if lines > u64::from(u32::MAX) {
        return Ok(());
    }
    memory::check(
        &format!("its {slots} slots before {lines} lines of {}", settings.line),
        slots.saturating_mul(SLOT_MEMORY).saturating_add(lines * LINE_MEMORY),
        Filled::AtOnce,
        &["line", "flash_capacity"],
        "make `line` larger, or the devices smaller",
    )
}

/// The `cache` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "cache",
    summary: "A flash device that caches lines of a backing device of any kind",
    source: "Xia, chapters 1 and 2",
    parameters: ParameterSource::Schema(schema_of::<CacheSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<CacheSettings>(table),
        example: "[device.flash]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"8MiB\"\n\n\
                  [device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"256MiB\"\n\n\
                  [device.example]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\nline = \"4KiB\"\n\
                  policy = \"lru\"\nadmission = \"second-hit\"\nrole = \"unified\"\nwrite = \"write-back\"\n",
    },
};

/// Whether a cache owns its flash. What it evicts then stays there until the flash erases it, and lines that are used
/// again before that come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnFlash {
    /// It does not: the flash keeps all that it is given, as drives do.
    #[default]
    No,
    /// It does, and cleaning copies clean lines, as in a drive.
    Migrate,
    /// It does, and cleaning drops clean lines, so that it copies only what is dirty (Xia 2017, chapter 3).
    ZeroMigration,
    /// It does, and cleaning drops clean lines but those that were used last: half of what the cache may hold (Xia
    /// 2017, section 3.3).
    Conditional,
}

impl OwnFlash {
    fn is_no(&self) -> bool {
        *self == Self::No
    }
}

/// Settings of a flash cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSettings {
    /// The device that holds cached lines.
    pub flash: String,
    /// The device that holds the volume.
    pub backing: String,
    /// Bytes of the flash that lines may take; the rest stays unused, as spare space (default: all of it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_capacity: Option<Bytes>,
    /// Bytes of a line, which is cached as a whole: whole sectors.
    #[serde(default = "default_line")]
    pub line: Bytes,
    /// Whether the cache owns its flash, and what that does with clean lines when it cleans. Only for an `ssd` with one
    /// pool, and without link and write buffer. If that has `wear`, the cache holds less and less.
    #[serde(default, skip_serializing_if = "OwnFlash::is_no")]
    pub own_flash: OwnFlash,
    /// The replacement policy: a name, or a table with its parameters.
    #[serde(default = "default_policy")]
    pub policy: Choice,
    /// The order in which the slots of the flash are used.
    #[serde(default)]
    pub slots: SlotOrder,
    /// The streams of what is written to the flash: drives with `streams` keep them in different blocks.
    #[serde(default)]
    pub streams: CacheStreams,
    /// The admission policy, which refuses lines that miss: a name, or a table with its parameters.
    #[serde(default = "no_admission")]
    pub admission: Choice,
    /// Whether the backing device serves some of the reads that hit, and which: a name, or a table with its parameters.
    #[serde(default = "esker_tier::no_routing", skip_serializing_if = "esker_tier::routes_nothing")]
    pub routing: Choice,
    /// Which requests bring a line into the cache.
    #[serde(default)]
    pub role: CacheRole,
    /// What happens to writes.
    #[serde(default)]
    pub write: WriteHandling,
    /// While no request of the host is under way, dirty lines are copied back until no larger share of the flash is
    /// dirty. Assumed.
    #[serde(default = "default_low")]
    pub dirty_low: Ratio,
    /// From this share of dirty lines on, they are copied back whatever the host does. Assumed.
    #[serde(default = "default_high")]
    pub dirty_high: Ratio,
    /// Whether slots of the flash that become free are trimmed there.
    #[serde(default)]
    pub trim_freed: bool,
    /// How the cache chooses how much of the flash lines take, anew in each window (default: as much as
    /// `flash_capacity` says, always).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationSettings>,
    /// Parts of the cache, with fixed shares or with shares that are chosen anew in each window: of clean and dirty
    /// lines, or of volumes (default: the lines share all of it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionSettings>,
    /// Most requests under way (default: the sum of the children's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

const fn default_line() -> Bytes {
    Bytes::kib(4)
}

fn default_policy() -> Choice {
    Choice::named("lru")
}

pub(super) fn no_admission() -> Choice {
    Choice::named(esker_cache::NO_ADMISSION)
}

const fn default_low() -> Ratio {
    Ratio::percent(40)
}

const fn default_high() -> Ratio {
    Ratio::percent(60)
}

impl CacheSettings {
    /// A cache on the device called `flash` before the one called `backing`, with the default of every other key.
    pub fn new(flash: impl Into<String>, backing: impl Into<String>) -> Self {
        Self {
            flash: flash.into(),
            backing: backing.into(),
            flash_capacity: None,
            line: default_line(),
            own_flash: OwnFlash::No,
            policy: default_policy(),
            slots: SlotOrder::default(),
            streams: CacheStreams::default(),
            admission: no_admission(),
            routing: esker_tier::no_routing(),
            role: CacheRole::default(),
            write: WriteHandling::default(),
            dirty_low: default_low(),
            dirty_high: default_high(),
            trim_freed: false,
            allocation: None,
            partition: None,
            queue_depth: None,
        }
    }
}

impl DeviceSettings for CacheSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn notices_failures(&self) -> bool {
        true
    }

    fn reads_change_flash(&self) -> bool {
        self.role != CacheRole::Write
    }

    fn children(&self) -> Vec<ChildName> {
        let child =
            |key: &str, device: &String| ChildName { key: key.to_string(), device: device.clone(), count: None };
        vec![child("flash", &self.flash), child("backing", &self.backing)]
    }

    fn shrinks(&self, child: &str) -> bool {
        child == self.flash
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn check_requests(
        &self,
        built: &DeviceReport,
        requests: &mut dyn Iterator<Item = Arrival>,
        have_times: bool,
    ) -> Result<(), DeviceFault> {
        let needs = Needs {
            line: self.line,
            role: self.role,
            admits_all: self.admission == no_admission(),
            allocation: self.allocation.as_ref(),
            partition: self.partition.as_ref(),
        };
        cache_requests::check(&needs, built, requests, have_times)
    }

    fn build(&self, mut instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        if self.queue_depth == Some(0) {
            return Err(DeviceFault::new("`queue_depth` is 0; a cache takes at least one request").at(["queue_depth"]));
        }
        let owned = self.own(&mut instance)?;
        let capacity = |child: usize| instance.children[child].device.capacity();
        if let Some(asked) = self.flash_capacity
            && asked > capacity(0)
        {
            let message = format!("`flash_capacity` is {asked}, more than the {} of `{}`", capacity(0), self.flash);
            return Err(DeviceFault::new(message).at(["flash_capacity"]));
        }
        let settings = FlashCacheSettings {
            line: self.line,
            flash: self.flash_capacity.unwrap_or(capacity(0)),
            backing: capacity(1),
            policy: self.policy.clone(),
            slots: self.slots,
            streams: self.streams,
            admission: self.admission.clone(),
            routing: self.routing.clone(),
            role: self.role,
            write: self.write,
            dirty_low: self.dirty_low,
            dirty_high: self.dirty_high,
            trim_freed: self.trim_freed,
            controller: self.controller(),
            owned,
            seed: instance.seed,
        };
        check_memory(&settings)?;
        let engine = FlashCacheEngine::new(&settings).map_err(|error| fault_of(&error))?;
        let device = EngineDevice::new(KIND.name, engine, instance, self.queue_depth);
        Ok(Box::new(if owned.is_some() { device.owning(0) } else { device }))
    }
}

impl CacheSettings {
    fn controller(&self) -> Option<Arc<dyn BuildController>> {
        if self.allocation.is_none() && self.partition.is_none() {
            return None;
        }
        let settings = ControllerSettings { allocation: self.allocation.clone(), partition: self.partition.clone() };
        Some(Arc::new(settings))
    }

    /// Takes the flash over, if the cache is to own it.
    fn own(&self, instance: &mut Instance) -> Result<Option<OwnedFlash>, DeviceFault> {
        if self.own_flash.is_no() {
            return Ok(None);
        }
        if self.flash_capacity.is_some() {
            let message =
                "`flash_capacity` leaves a part of the flash unused, and `own_flash` leaves that to the flash";
            let hint = format!("set `over_provisioning` of `{}` instead", self.flash);
            return Err(DeviceFault::new(message).at(["flash_capacity", "own_flash"]).with_hint(Some(hint)));
        }
        let child = &mut instance.children[0].device;
        let cannot = || CannotOwn { message: "this device does not leave to others which data it keeps".to_string() };
        let room = child.ownable().ok_or_else(cannot).and_then(|flash| flash.own(self.own_flash != OwnFlash::Migrate));
        let room = room.map_err(|error| {
            DeviceFault::new(format!("`{}` cannot be owned: {error}", self.flash)).at(["own_flash"]).with_hint(Some(
                "leave `own_flash` out, or take an `ssd` such as the preset \"xia-cache-3g\"".to_string(),
            ))
        })?;
        if !self.line.0.is_multiple_of(room.unit.0) {
            let message = format!("`line` is {}, and the pages of `{}` are of {}", self.line, self.flash, room.unit);
            let hint = format!("set `line` to {} or a multiple of it", room.unit);
            return Err(DeviceFault::new(message).at(["line"]).with_hint(Some(hint)));
        }
        let hot = if self.own_flash == OwnFlash::Conditional { Bytes(room.user.0 / 2) } else { Bytes::ZERO };
        Ok(Some(OwnedFlash { user: room.user, suspects: room.suspects, hot }))
    }
}

fn fault_of(error: &FlashCacheError) -> DeviceFault {
    DeviceFault::new(error.to_string()).at(error.keys().iter().copied()).with_hint(error.hint())
}
