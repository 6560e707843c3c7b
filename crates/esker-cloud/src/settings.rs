//! The settings of a cloud volume, as written in an experiment file.

use esker_core::{ByteRate, Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Credits, FineByteRate, OperationRate};

/// All settings of a cloud volume: what its type allows at each size, and which volume was ordered. The rules of a type
/// have no default: name a preset or give them all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudVolumeSettings {
    /// Size that was ordered, which is what the host can address. Default: 100GiB, or the type's smallest size if that
    /// is more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<Bytes>,
    /// The sizes that the type has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sizes: Option<SizeBounds>,
    /// How many operations per second a volume may do, and what counts as one.
    pub operations: OperationSettings,
    /// How many bytes per second a volume may move.
    pub throughput: ThroughputSettings,
    /// Size classes, in rising order: a volume has the limits of the first one that is as large as it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<SizeClass>,
    /// Credits that let a volume exceed its limits for a while. The buckets are full at the start, and are filled at
    /// the rate of the limit that is exceeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<BurstSettings>,
    /// What was ordered beyond what every volume of this size has, where the type allows it.
    #[serde(skip_serializing_if = "ProvisionedSettings::is_nothing", default)]
    pub provisioned: ProvisionedSettings,
    /// How long a volume that is idle saves up what its limits, and those of its instance, allow: as much passes at
    /// once
    /// when requests come faster. (Credits of `burst` are apart from that.) No provider publishes it. Default: 10ms,
    /// which is assumed.
    #[schemars(extend("most" = "1h"))]
    #[serde(default = "default_saves_up")]
    pub saves_up: Nanos,
    /// Time from passing the limits to the end of the request.
    pub latency: LatencySettings,
    /// What the instance that the volume is attached to lets through to it. Without it, as much as it likes.
    #[serde(skip_serializing_if = "HostSettings::is_nothing", default)]
    pub host: HostSettings,
    /// Requests that the host has under way at once, including those that the limits hold back.
    #[schemars(range(min = 1, max = 65_536))]
    #[serde(default = "default_queue_depth")]
    pub queue_depth: u32,
}

fn default_queue_depth() -> u32 {
    1024
}

fn default_saves_up() -> Nanos {
    DEFAULT_SAVES_UP
}

/// How long an idle volume saves up what its limits allow, where its settings do not say. Assumed: providers publish
/// none. It is short because volumes without credits are said not to burst at all, and because an answer that stands on
/// a long one is wrong for whoever gets a short one.
pub const DEFAULT_SAVES_UP: Nanos = Nanos::from_millis(10);

impl CloudVolumeSettings {
    /// The size that was ordered, or its default.
    pub fn size(&self) -> Bytes {
        self.size.unwrap_or_else(|| self.sizes.map_or(DEFAULT_SIZE, |sizes| DEFAULT_SIZE.max(sizes.min)))
    }
}

/// The size of a volume whose settings give none.
pub const DEFAULT_SIZE: Bytes = Bytes::gib(100);

/// The smallest and the largest size of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeBounds {
    /// Smallest size.
    pub min: Bytes,
    /// Largest size.
    pub max: Bytes,
}

/// Operations: the limit is `base` plus `per_gib` for each GiB, at least `min` and at most `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OperationSettings {
    /// What every volume has.
    pub base: OperationRate,
    /// What it has in addition for each GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_gib: Option<OperationRate>,
    /// No volume has less, nor can less be provisioned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<OperationRate>,
    /// No volume has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<OperationRate>,
    /// Operations can be provisioned: at most this many for each GiB, though never less than `base`. Without it there
    /// is nothing to provision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_gib: Option<OperationRate>,
    /// A request counts as one operation for each such unit that it begins. Without it, as one whatever its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// Whether a request that begins where the one before it of the same kind (read or write) ended takes what is left
    /// of that one's unit, so that short requests in sequence count as if they were long ones.
    pub merge: bool,
}

/// Throughput: the limit is `base` plus `per_gib` for each GiB plus `per_operation` for each operation per second that
/// the volume may do, at most `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThroughputSettings {
    /// What every volume has.
    pub base: FineByteRate,
    /// What it has in addition for each GiB. (KiB/s per GiB are MiB/s per TiB.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_gib: Option<FineByteRate>,
    /// What it has in addition for each operation per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_operation: Option<Bytes>,
    /// No volume has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<ByteRate>,
    /// Throughput can be provisioned: at most this much for each operation per second, though never less than `base`.
    /// Without it there is nothing to provision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_operation: Option<Bytes>,
    /// Whether bytes are counted in whole units of `operations.unit`: a short request counts as a whole unit, unless it
    /// shares one by `operations.merge`.
    pub whole_units: bool,
}

/// A size class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeClass {
    /// The name it is sold by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Largest size in it.
    pub size: Bytes,
    /// Operations per second, instead of the rule of `operations`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operations: Option<OperationRate>,
    /// Bytes per second, instead of the rule of `throughput`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throughput: Option<ByteRate>,
}

/// Credits by which a volume exceeds its limits. A volume whose limit is no less than the rate of the burst has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BurstSettings {
    /// Larger volumes have no credits. Default: volumes of any size have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Bytes>,
    /// Credits for operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationBurst>,
    /// Credits for bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ThroughputBurst>,
}

/// Credits for operations. The bucket is given by `credits` or by `duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationBurst {
    /// Operations per second while credits last.
    pub rate: OperationRate,
    /// Credits in a full bucket.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub credits: Option<Credits>,
    /// How long a full bucket lasts at the rate of the burst.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration: Option<Nanos>,
}

/// Credits for bytes. The bucket is given by `credits_per_gib` or by `duration`. The rate of the burst is `rate` plus
/// `per_gib` for each GiB, at most `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThroughputBurst {
    /// Bytes per second while credits last, for every volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<ByteRate>,
    /// What it has in addition for each GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_gib: Option<FineByteRate>,
    /// No volume has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<ByteRate>,
    /// Bytes of credits in a full bucket, for each GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits_per_gib: Option<Bytes>,
    /// How long a full bucket lasts at the rate of the burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Nanos>,
}

/// What was ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProvisionedSettings {
    /// Operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationRate>,
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
}

impl ProvisionedSettings {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Time from passing the limits to the end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySettings {
    /// Of reads.
    pub read: LatencyDistribution,
    /// Of writes.
    pub write: LatencyDistribution,
    /// Of requests that lie within a unit of the one before them (`operations.merge`), which is read or written as one:
    /// they end no earlier than the request that began it. Without it, as of all others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub merged: Option<LatencyDistribution>,
}

/// A log-normal distribution. With equal `median` and `p99` every request takes the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyDistribution {
    /// Half of the requests take at most this long.
    #[schemars(extend("least" = "1ns"))]
    pub median: Nanos,
    /// 99 % of the requests take at most this long.
    #[schemars(extend("most" = "60s"))]
    pub p99: Nanos,
}

/// What the instance lets through to this volume. An instance has one cap for all of its volumes: of several, each gets
/// its share here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// Operations per second, counted as the volume counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationRate>,
    /// Bytes per second, counted as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<ByteRate>,
}

impl HostSettings {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
