//! The settings of a drive, as a configuration writes them. [`crate::Ssd::new`] checks them and derives the rest.

use esker_core::{ByteRate, Bytes, Nanos, Ratio};
use esker_ftl::modes::ModeCapability;
use esker_ftl::{Choice, CleaningSettings, FtlSettings, WearSettings, WriteFrontiers};
use esker_nand::{
    EccSettings, FlashArraySettings, GeometrySettings, Placement, PoolScope, TimingSettings, Wiring, WriteModeSettings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A solid-state drive. Physical parameters have no default: a preset states them, or the configuration does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdSettings {
    /// Share of all raw pages that the host cannot address. Cannot be combined with `spare_factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Ratio>,
    /// Exact spare factor S as in the literature: host pages = (1 - S) x (data pages - reserve). Data pages are raw
    /// pages without block summaries; the reserve is the blocks that cleaning always keeps free. Cannot be combined
    /// with `over_provisioning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<Ratio>,
    /// Over-provisioning that the drive is sold with, as a share of all raw pages. It applies if neither
    /// `over_provisioning` nor `spare_factor` is given. Presets state this one, so that a configuration can override it
    /// with either of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factory_over_provisioning: Option<Ratio>,
    /// Whether the last page of each block holds the block's map (Agrawal 2008, section 3.5). Programs of these
    /// pages count as mapping, and in write amplification.
    #[serde(default)]
    pub block_summary: bool,
    /// The translation layer, by name ([`crate::FTLS`]).
    #[serde(default = "page_ftl")]
    pub ftl: Choice,
    /// Cleaning (garbage collection): when and how blocks are made free.
    #[serde(default)]
    pub cleaning: CleaningSettings,
    /// Part of the array in which the pages of one stripe unit may be placed.
    #[serde(default)]
    pub pool: PoolScope,
    /// How many blocks of a pool are open for writes at the same time.
    #[serde(default)]
    pub write_frontiers: WriteFrontiers,
    /// Number of host streams that are kept in separate blocks (default 1: not separated). Writes of stream s go to
    /// group s modulo this number, and each group has as many write frontiers as `write_frontiers` says. Pages that
    /// cleaning copies stay with their stream, unless `cleaning.separate` = "copied" keeps them apart from all streams.
    /// Only for layer `page`.
    #[schemars(range(min = 1, max = 16))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Most requests that the drive accepts at a time.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub queue_depth: u32,
    /// Rated erases per block.
    #[schemars(range(min = 1))]
    pub endurance_cycles: u64,
    /// Shape of the flash array.
    pub geometry: GeometrySettings,
    /// How long flash operations take.
    pub timing: TimingSettings,
    /// How the array is wired, and how its operations are scheduled.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub array: FlashArraySettings,
    /// The link to the host. If left out, requests and data reach the drive in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSettings>,
    /// Limits of the controller. If left out, only the link and the flash limit the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerSettings>,
    /// How blocks wear. If left out, erases are only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSettings>,
    /// Bit errors and the code that corrects them. If left out, reads never fail and need no decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccSettings>,
    /// Write modes: pages that are programmed fast and read slowly, or the other way around. If left out, all pages are
    /// programmed alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_modes: Option<WriteModeSettings>,
    /// The drive's memory for data. If left out, every write waits for the flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<WriteBufferSettings>,
    /// A power failure during the run. If left out, power does not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_failure: Option<PowerFailureSettings>,
}

impl SsdSettings {
    /// Returns the settings of the translation layer.
    pub fn layer(&self) -> FtlSettings {
        FtlSettings {
            over_provisioning: self.over_provisioning,
            spare_factor: self.spare_factor,
            factory_over_provisioning: self.factory_over_provisioning,
            ftl: self.ftl.clone(),
            cleaning: self.cleaning.clone(),
            pool: self.pool,
            write_frontiers: self.write_frontiers,
            least_loaded: self.array.placement == Placement::LeastLoaded,
            streams: self.streams,
            endurance_cycles: self.endurance_cycles,
            wear: self.wear,
            refresh: self.ecc.as_ref().is_some_and(|ecc| ecc.refresh_above.is_some()),
            re_encode: self.re_encodes(),
            power_fails: self.power_failure.is_some(),
        }
    }

    /// Returns true if reads by the host may cause pages to be programmed again in another write mode.
    pub(crate) fn re_encodes(&self) -> bool {
        let entry = self.write_modes.as_ref().and_then(|modes| esker_ftl::modes::find(&modes.policy).ok());
        entry.is_some_and(|entry| entry.can(ModeCapability::ReEncode))
    }

    /// Returns how the array is wired, and how it is divided into pools.
    pub fn wiring(&self) -> Wiring<'_> {
        Wiring { geometry: &self.geometry, array: &self.array, pool: self.pool }
    }
}

/// One power failure during the run, at one of these moments. New requests then wait until the drive has found its data
/// again. Each pool keeps at least one more free block than it has write frontiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerFailureSettings {
    /// Power fails once this many requests have completed, including those of the warm-up. Requests under way complete
    /// first; what the drive does on its own, for its write buffer or in idle time, is interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_requests: Option<u64>,
    /// Power fails at this time of the run, including the warm-up. Requests under way end with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Nanos>,
    /// Power fails as soon as dies have completed this many flash operations of the run. Requests under way end with an
    /// error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_operations: Option<u64>,
}

impl PowerFailureSettings {
    /// A power failure after this many requests.
    pub fn after_requests(requests: u64) -> Self {
        Self { after_requests: Some(requests), ..Self::default() }
    }
    /// A power failure at this time of the run.
    pub fn at(time: Nanos) -> Self {
        Self { at: Some(time), ..Self::default() }
    }
    /// A power failure after this many flash operations.
    pub fn after_operations(operations: u64) -> Self {
        Self { after_operations: Some(operations), ..Self::default() }
    }
}

/// Returns true if `array` is the default, which resolved configurations leave out.
fn is_plain(array: &FlashArraySettings) -> bool {
    *array == FlashArraySettings::default()
}
fn one() -> u32 {
    1
}
fn is_one(count: &u32) -> bool {
    *count == 1
}
fn page_ftl() -> Choice {
    Choice::named("page")
}

/// The link to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// Transfer rate in each direction. The two directions do not slow each other down.
    pub rate: ByteRate,
    /// Time that the controller spends on each request before anything else. Requests spend it in parallel.
    #[schemars(extend("most" = "60s"))]
    pub overhead: Nanos,
}

/// What the controller can do at most, however much flash is behind it. A drive of many dies is limited by these, as
/// data sheets show: its rates no longer grow with its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerSettings {
    /// Commands per second. The controller takes one at a time, in order of arrival, before `link.overhead`. Needs a
    /// `link`. If left out, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands_per_second: Option<u64>,
    /// Rate at which pages leave the write buffer for flash, one after the other. Needs a `write_buffer`. If left out,
    /// any rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_rate: Option<ByteRate>,
    /// Rate at which the controller moves the pages that cleaning copies for these writes, in addition. The next page
    /// leaves the buffer once the controller is done with the page before it and with its copies. Needs a
    /// `write_buffer`. If left out, any rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_rate: Option<ByteRate>,
}

impl ControllerSettings {
    /// Returns true if the controller takes time for each page that leaves the write buffer.
    pub(crate) fn paces_writes(&self) -> bool {
        self.write_rate.is_some() || self.copy_rate.is_some()
    }
}

/// The drive's memory for data. Writes to one page are combined in it, and reads of what it holds need no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteBufferSettings {
    /// How much data it holds. Only whole pages of it are used.
    pub size: Bytes,
    /// When a write is complete: once it is in memory, or once it is in flash.
    #[serde(default)]
    pub mode: BufferMode,
    /// How long a request takes that needs only the memory.
    #[schemars(extend("most" = "60s"))]
    pub latency: Nanos,
    /// When more than this share of the memory holds data that flash lacks, the drive begins to write pages to flash.
    #[schemars(extend("most" = "100%"))]
    #[serde(default = "three_quarters")]
    pub high_water: Ratio,
    /// When this share of the memory or less does, the drive stops writing pages to flash. The least recently used
    /// pages go first, at most one at a time for each die of a pool. While writes wait for room, one more page may go
    /// for each page that they still bring.
    #[serde(default = "half")]
    pub low_water: Ratio,
    /// Whether pages that were read from flash are kept for further reads.
    #[serde(default)]
    pub keep_reads: bool,
    /// Whether capacitors power the drive until the buffer is saved to flash after a power failure; it is read back
    /// when power returns. Flushes then have nothing to do, and writes with forced unit access (FUA) end in memory like
    /// others.
    #[serde(default)]
    pub power_protected: bool,
}

fn three_quarters() -> Ratio {
    Ratio::percent(75)
}
fn half() -> Ratio {
    Ratio::percent(50)
}

/// When a write is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// Once it is in memory. It waits for room while everything there still has to be written to flash.
    #[default]
    WriteBack,
    /// Once it is in flash. The memory keeps a copy for reads.
    WriteThrough,
}
