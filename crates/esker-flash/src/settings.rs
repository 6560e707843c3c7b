//! What a configuration says of a drive, as it is written. [`crate::Ssd::new`] checks it and works out the rest.

use esker_core::{ByteRate, Bytes, Nanos, Ratio};
use esker_ftl::{Choice, CleaningRules, FtlSettings, Separation, WearSettings, WriteFrontiers};
use esker_nand::{ArraySettings, EccSettings, GeometrySettings, Placement, PoolScope, TimingSettings, Wiring};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A solid-state drive. Physical parameters have no default: a preset states them, or the configuration does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdSettings {
    /// Share of all raw pages that the host cannot address. Excludes `spare_factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Ratio>,
    /// Exact spare factor S of the literature: host pages = (1 - S) x (data pages - reserve), where data pages are raw
    /// pages without block summaries, and the reserve is the blocks that cleaning always keeps free. Excludes
    /// `over_provisioning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<Ratio>,
    /// What applies where neither `over_provisioning` nor `spare_factor` is given: the share of all raw pages that the
    /// drive is sold with. Presets state this one, so that either of the others may be laid over a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factory_over_provisioning: Option<Ratio>,
    /// Whether the last page of each block holds the block's map (Agrawal 2008, section 3.5). Its programs count as
    /// mapping, and in write amplification.
    #[serde(default)]
    pub block_summary: bool,
    /// Translation layer: one of [`crate::FTLS`].
    #[serde(default = "page_ftl")]
    pub ftl: Choice,
    /// How space is made.
    #[serde(default)]
    pub cleaning: CleaningSettings,
    /// Where the pages of one stripe unit may go.
    #[serde(default)]
    pub pool: PoolScope,
    /// How many blocks of a pool take writes at the same time.
    #[serde(default)]
    pub write_frontiers: WriteFrontiers,
    /// How many streams of the host are kept apart in blocks of their own (the default is 1, none): each then has as many
    /// write frontiers as `write_frontiers` says, and writes of stream s go to those of number s modulo this. What
    /// cleaning copies stays with its stream, unless `cleaning.separate` = "copied" keeps it apart from all. For layer
    /// `page`.
    #[schemars(range(min = 1, max = 16))]
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Requests that the drive takes at once.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub queue_depth: u32,
    /// Rated erases per block.
    #[schemars(range(min = 1))]
    pub endurance_cycles: u64,
    /// The flash array.
    pub geometry: GeometrySettings,
    /// How long its operations take.
    pub timing: TimingSettings,
    /// How the array is wired and driven.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub array: ArraySettings,
    /// The way to the host; left out, requests and data reach the drive in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSettings>,
    /// How blocks wear; left out, erases are counted and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSettings>,
    /// Bit errors and the code that corrects them; left out, reads never fail and take no decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccSettings>,
    /// Memory for data; left out, every write waits for the flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<WriteBufferSettings>,
    /// Has power fail once in the run; left out, it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_failure: Option<PowerFailureSettings>,
}

impl SsdSettings {
    /// What the translation layer has to know of them.
    pub fn layer(&self) -> FtlSettings {
        FtlSettings {
            over_provisioning: self.over_provisioning,
            spare_factor: self.spare_factor,
            factory_over_provisioning: self.factory_over_provisioning,
            ftl: self.ftl.clone(),
            cleaning: self.cleaning.rules(),
            pool: self.pool,
            write_frontiers: self.write_frontiers,
            least_loaded: self.array.placement == Placement::LeastLoaded,
            streams: self.streams,
            endurance_cycles: self.endurance_cycles,
            wear: self.wear,
            refresh: self.ecc.as_ref().is_some_and(|ecc| ecc.refresh_above.is_some()),
            power_fails: self.power_failure.is_some(),
        }
    }

    /// How the array is wired, and in which pools it is used.
    pub fn wiring(&self) -> Wiring<'_> {
        Wiring { geometry: &self.geometry, array: &self.array, pool: self.pool }
    }
}

/// A power failure in the run, at one of these moments. New requests wait until the drive has found out where its data
/// are. A pool keeps at least a free block more than it has write frontiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerFailureSettings {
    /// After so many requests, those of the warm-up included. Requests under way end first; what the drive does on its
    /// own, for its write buffer or in idle time, is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_requests: Option<u64>,
    /// At this time of the run, the warm-up included, whatever is under way. Requests under way end with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Nanos>,
    /// As soon as dies have ended so many flash operations of the run, whatever else is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_operations: Option<u64>,
}

impl PowerFailureSettings {
    /// After so many requests.
    pub fn after_requests(requests: u64) -> Self {
        Self { after_requests: Some(requests), ..Self::default() }
    }
    /// At this time of the run.
    pub fn at(time: Nanos) -> Self {
        Self { at: Some(time), ..Self::default() }
    }
    /// After so many flash operations.
    pub fn after_operations(operations: u64) -> Self {
        Self { after_operations: Some(operations), ..Self::default() }
    }
}

/// Plain arrays leave no trace in resolved configurations.
fn is_plain(array: &ArraySettings) -> bool {
    *array == ArraySettings::default()
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

/// The way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// Rate in each direction; the two directions do not disturb each other.
    pub rate: ByteRate,
    /// What each request spends in the controller before anything else. Requests pass it at the same time.
    #[schemars(extend("most" = "60s"))]
    pub overhead: Nanos,
}

/// The drive's memory for data. Writes of the same page meet in it, reads of what it holds need no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteBufferSettings {
    /// How much data it holds, in whole pages.
    pub size: Bytes,
    /// Whether writes end in memory or in flash.
    #[serde(default)]
    pub mode: BufferMode,
    /// What a request takes that needs nothing but the memory.
    #[schemars(extend("most" = "60s"))]
    pub latency: Nanos,
    /// Writing to flash begins when more than this share of the memory holds what the flash lacks.
    #[schemars(extend("most" = "100%"))]
    #[serde(default = "three_quarters")]
    pub high_water: Ratio,
    /// It ends when no more than this share does. The pages that were used longest ago go first, at most one for each
    /// die of a pool at a time; while writes wait for room, as many more at a time as those still bring.
    #[serde(default = "half")]
    pub low_water: Ratio,
    /// Whether pages that were read from flash are kept for further reads.
    #[serde(default)]
    pub keep_reads: bool,
    /// Whether capacitors bring the content to flash when power fails, from where it is read back. Then flushes have
    /// nothing to do, and writes with forced unit access end in memory as others do.
    #[serde(default)]
    pub power_protected: bool,
}

fn three_quarters() -> Ratio {
    Ratio::percent(75)
}
fn half() -> Ratio {
    Ratio::percent(50)
}

/// When a write is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// Once it is in memory. It waits for room where everything there is still to be written to flash.
    #[default]
    WriteBack,
    /// Once it is in flash. The memory keeps it for reads.
    WriteThrough,
}

/// How space is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleaningSettings {
    /// Which block is cleaned: one of [`crate::VICTIM_POLICIES`].
    #[serde(default = "greedy")]
    pub victim: Choice,
    /// A pool cleans when its free blocks fall below this share of its blocks.
    #[serde(default = "five_percent")]
    pub threshold: Ratio,
    /// Below this share of free blocks each page written to a pool also copies some pages of a victim: as many as it
    /// takes to clean the victim by the time that the space it gives is used up. So no single write waits for a whole
    /// block. Above `threshold`; left out, writes clean only when they must, and then whole blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradual: Option<Ratio>,
    /// Below this share of free blocks a pool is cleaned while the drive has no requests. Above `threshold`; left out,
    /// idle time is not used. The more is kept free, the less spare space is left for cleaning to be cheap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Ratio>,
    /// How long the drive has had no requests before it begins with `background`.
    #[schemars(extend("most" = "1d"))]
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_before_background: Nanos,
    /// Which pages are kept apart in blocks of their own: each kind then has as many write frontiers as
    /// `write_frontiers` says. For layers that can `separate`.
    #[serde(default, skip_serializing_if = "is_together")]
    pub separate: Separation,
    /// With `separate` = "hot-cold": a page is hot if it was written among the last writes of its pool, one to two
    /// times as many as this share of the pool's host pages.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    pub hot_window: Ratio,
}

fn is_together(separation: &Separation) -> bool {
    *separation == Separation::None
}
fn is_half(share: &Ratio) -> bool {
    *share == half()
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

fn greedy() -> Choice {
    CleaningRules::default().victim
}
fn five_percent() -> Ratio {
    CleaningRules::default().threshold
}

impl CleaningSettings {
    /// What of them is the translation layer's business.
    fn rules(&self) -> CleaningRules {
        CleaningRules {
            victim: self.victim.clone(),
            threshold: self.threshold,
            gradual: self.gradual,
            background: self.background,
            separate: self.separate,
            hot_window: self.hot_window,
        }
    }
}

impl Default for CleaningSettings {
    fn default() -> Self {
        Self {
            victim: greedy(),
            threshold: five_percent(),
            gradual: None,
            background: None,
            idle_before_background: Nanos::ZERO,
            separate: Separation::None,
            hot_window: half(),
        }
    }
}
