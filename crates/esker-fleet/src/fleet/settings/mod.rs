//! The fleet file.

mod check;
mod read;

use esker_core::registry::Choice;
use esker_core::{ByteRate, Bytes, Nanos, Ratio};
use serde::Deserialize;

/// A fleet: what is stored, on which servers, what is written, and what happens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetSettings {
    /// What is stored.
    pub data: DataSettings,
    /// Groups of servers that are alike.
    pub group: Vec<GroupSettings>,
    /// What is written.
    pub load: LoadSettings,
    /// How much may be copied.
    #[serde(default)]
    pub copies: CopySettings,
    /// Failures at random; none without this table.
    pub failures: Option<FailureSettings>,
    /// Servers that come in place of others; none without this table.
    pub replacement: Option<ReplacementSettings>,
    /// What happens at a given time.
    #[serde(default)]
    pub event: Vec<EventSettings>,
    /// The balancers to compare, each by its name or as a table with `kind` and parameters.
    #[serde(default = "life")]
    pub balancers: Vec<Choice>,
    /// The wear model, which says how many erases writes cost.
    #[serde(default = "light")]
    pub wear: Choice,
    /// How long, and in which steps.
    pub run: RunSettings,
}

/// What is stored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// Slices of the fleet.
    pub slices: u32,
    /// Consecutive objects in a slice.
    #[serde(default = "thousand")]
    pub objects_per_slice: u32,
    /// Size of an object.
    #[serde(default = "quarter_mebibyte")]
    pub object: Bytes,
    /// Copies of each slice, from 1 to 3.
    #[serde(default = "one")]
    pub replicas: u8,
    /// Ranges of the hash space; 64 for each server by default.
    pub partitions: Option<u32>,
    /// Points on the ring of the smallest server; larger ones have more in proportion.
    #[serde(default = "points")]
    pub virtual_nodes: u32,
    /// How cold slices are kept; by copies like all others without this table.
    pub erasure_code: Option<ErasureCodeSettings>,
}

/// Groups of cold slices that share parity and have no copies (Salman 2017, section 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErasureCodeSettings {
    /// Slices of a group, each on another server.
    #[serde(default = "four")]
    pub data: u8,
    /// Servers with parity of a group, each with as much as a slice. As many servers of a group may fail; by default as
    /// many as with copies.
    pub parity: Option<u8>,
    /// A slice is cold while it is written less than this share of the mean of all slices.
    #[serde(default = "tenth")]
    pub below: Ratio,
    /// For how long it has to be cold until it joins a group.
    #[serde(default = "week")]
    pub after: Nanos,
}

/// Servers that are alike.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSettings {
    /// The name by which events call them.
    pub name: String,
    /// Servers at the beginning. Zero for those that only join.
    pub count: u16,
    /// What fits on a server.
    pub capacity: Bytes,
    /// Rated life: how many times its capacity can be written each day, for `rated_years`.
    pub drive_writes_per_day: Option<f64>,
    /// Years for which the drive writes are rated.
    #[serde(default = "five")]
    pub rated_years: f64,
    /// Rated life in bytes that can be written, in place of drive writes.
    pub endurance: Option<Bytes>,
    /// The share of rated life that is used at the beginning: drawn evenly between these two.
    #[serde(default = "new")]
    pub life_used: [Ratio; 2],
    /// Servers that share a failure domain, in their order.
    #[serde(default = "one_server")]
    pub servers_per_domain: u16,
    /// The most that a server can be written; no limit without it.
    pub write_rate: Option<ByteRate>,
    /// Pages of 4 KiB in a block that is erased as a whole.
    #[serde(default = "pages")]
    pub pages_per_block: u32,
    /// Dies over which a write is spread, page by page.
    #[serde(default = "dies")]
    pub dies: u16,
    /// Flash beyond the capacity, as a share of it, without the blocks that cleaning always keeps free.
    #[serde(default = "spare")]
    pub over_provisioning: Ratio,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSettings {
    /// Bytes that hosts read and write a day, before they are replicated.
    pub bytes_per_day: Bytes,
    /// The share of them that is written. Reads do not wear.
    #[serde(default = "all")]
    pub write_share: Ratio,
    /// The exponent of Zipf's law by which slices are written: 0 is evenly.
    #[serde(default)]
    pub zipf: f64,
    /// The share of a slice's objects that is ever written. They are written alike.
    #[serde(default = "all")]
    pub written_objects: Ratio,
    /// The size of a write; by default that of an object, so that each write replaces one.
    pub write: Option<Bytes>,
    /// Whether each slice is written as often as is expected, or a number of times that is drawn.
    #[serde(default)]
    pub requests: RequestSettings,
    /// How much more is written after a year, as a share.
    #[serde(default = "nothing")]
    pub growth: Ratio,
    /// Slices that change places in popularity; none by default.
    pub turnover: Option<TurnoverSettings>,
}

/// How often slices are written in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestSettings {
    /// As often as is expected: in epochs with many requests for each slice, chance does not matter.
    #[default]
    Expected,
    /// A number of times by Poisson's law, as if hosts chose a slice for each write anew. Balancers see what was drawn.
    Drawn,
}

/// Slices that change places in popularity.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnoverSettings {
    /// How often.
    pub every: Nanos,
    /// The share of all slices that do so each time.
    #[serde(default = "all")]
    pub share: Ratio,
}

/// How much may be copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopySettings {
    /// The most that is copied in the whole fleet, for whatever reason: rebuilds come first. No limit by default.
    pub rate: Option<ByteRate>,
    /// The most that is copied to one server. No limit by default.
    pub server_rate: Option<ByteRate>,
    /// What balancers may plan to copy a day. No limit by default.
    pub balancing_per_day: Option<Bytes>,
}

/// Failures at random.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureSettings {
    /// The share of servers that fail in a year.
    pub annual_rate: Ratio,
}

/// Servers that come in place of others, new and of the same group.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacementSettings {
    /// How long it takes until one is there.
    #[serde(default = "week")]
    pub after: Nanos,
    /// Whether servers that failed are replaced.
    #[serde(default = "yes")]
    pub failed: bool,
    /// Whether servers are replaced once their rated life is used up. They are drained when the new one has joined.
    #[serde(default = "yes")]
    pub worn_out: bool,
}

/// What happens at a given time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSettings {
    /// When, from the beginning. It happens at the beginning of its epoch.
    pub at: Nanos,
    /// Again and again after this time.
    pub every: Option<Nanos>,
    /// What happens.
    pub kind: EventKind,
    /// The number of the server that fails or is drained.
    pub server: Option<u16>,
    /// The group of servers that join, or of which the first that serve fail or are drained.
    pub group: Option<String>,
    /// How many servers of the group.
    #[serde(default = "one_server")]
    pub count: u16,
}

/// What may happen to servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// It is gone, with what it holds.
    Fail,
    /// It is emptied.
    Drain,
    /// It is new.
    Join,
}

/// How long, and in which steps.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// Balancers are asked at the end of each epoch.
    #[serde(default = "day")]
    pub epoch: Nanos,
    /// How long, rounded up to whole epochs.
    pub duration: Nanos,
    /// When to stop before that.
    #[serde(default)]
    pub until: RunUntil,
    /// Seed of life used, popularity and failures.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Moments at which the wear of all servers is noted, beside the beginning.
    #[serde(default = "dozen")]
    pub snapshots: u32,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunUntil {
    /// After its duration.
    #[default]
    Duration,
    /// When the first server has used up its rated life, or after its duration.
    FirstWornOut,
}

fn life() -> Vec<Choice> {
    vec![Choice::named("life")]
}

fn light() -> Choice {
    Choice::named("light")
}

fn thousand() -> u32 {
    1000
}

fn quarter_mebibyte() -> Bytes {
    Bytes::kib(256)
}

fn one() -> u8 {
    1
}

fn four() -> u8 {
    4
}

fn tenth() -> Ratio {
    Ratio::percent(10)
}

fn one_server() -> u16 {
    1
}

fn points() -> u32 {
    128
}

fn five() -> f64 {
    5.0
}

fn new() -> [Ratio; 2] {
    [Ratio::ZERO; 2]
}

fn pages() -> u32 {
    1024
}

fn dies() -> u16 {
    32
}

fn spare() -> Ratio {
    Ratio::percent(7)
}

fn all() -> Ratio {
    Ratio::ONE
}

fn nothing() -> Ratio {
    Ratio::ZERO
}

fn week() -> Nanos {
    super::DAY * 7
}

fn yes() -> bool {
    true
}

fn day() -> Nanos {
    super::DAY
}

fn first_seed() -> u64 {
    1
}

fn dozen() -> u32 {
    12
}

impl DataSettings {
    /// The size of a slice.
    pub fn slice(&self) -> Bytes {
        Bytes(self.object.0 * u64::from(self.objects_per_slice))
    }
}

impl ErasureCodeSettings {
    /// Servers with parity of a group, if other slices have this many replicas.
    pub fn parity(&self, replicas: u8) -> u8 {
        self.parity.unwrap_or(replicas.saturating_sub(1))
    }
}

impl GroupSettings {
    /// Bytes that a new server can be written until its rated life is used up.
    pub fn rated(&self) -> f64 {
        let by_day = |writes: f64| writes * 365.0 * self.rated_years * self.capacity.0 as f64;
        self.endurance.map_or_else(|| by_day(self.drive_writes_per_day.unwrap_or(0.0)), |bytes| bytes.0 as f64)
    }

    /// Replicas of slices that fit on a server.
    pub fn room(&self, data: &DataSettings) -> u32 {
        u32::try_from(self.capacity.0 / data.slice().0.max(1)).unwrap_or(u32::MAX)
    }
}

impl RunSettings {
    /// The number of epochs.
    pub fn epochs(&self) -> u64 {
        self.duration.0.div_ceil(self.epoch.0.max(1))
    }

    /// When the last epoch ends.
    pub(crate) fn end(&self) -> Nanos {
        Nanos(self.epochs().saturating_mul(self.epoch.0))
    }
}
