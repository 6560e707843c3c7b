//! Results of `esker cache`: what caches of several policies and sizes miss on a trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON schema of [`CacheResults`].
pub const CACHE_SCHEMA: u32 = 1;

/// Result of `esker cache`. Its table and its page are drawn from this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// Seed of policies that draw at random, and first seed of samples.
    pub seed: u64,
    /// What the cache holds, in words: "4 KiB pages".
    pub objects_are: String,
    /// Size of an object in bytes; absent where objects are start blocks, which have none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub object_bytes: Option<u64>,
    /// Number of accesses to objects.
    pub accesses: u64,
    /// Bytes that the accesses read and write.
    pub accessed_bytes: u64,
    /// Number of distinct objects; an estimate if they are sampled.
    pub distinct_objects: u64,
    /// The sample, if not all objects were simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sample: Option<CacheSample>,
    /// What accesses and the cache cost, if that was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub costs: Option<CacheCosts>,
    /// Which policies, in the order in which they were asked for.
    pub policies: Vec<CachePolicy>,
    /// One entry for each policy and size: sizes rise, and policies keep their order at each of them.
    pub results: Vec<CacheResult>,
}

/// A policy of [`CacheResults`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CachePolicy {
    /// Its name with the parameters that were set: "s3-fifo(small=20%)".
    pub policy: String,
    /// What it does, in one line.
    pub summary: String,
    /// Whether it looks at the accesses that follow: a bound for the others, and nothing that a device could run.
    pub is_bound: bool,
    /// The smallest size of the results with 90 % of the hits that are possible; absent if no size has so many. The
    /// first access to an object cannot hit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub knee: Option<u64>,
}

/// What accesses and the cache cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheCosts {
    /// Time of an access that hits, in microseconds.
    pub hit_us: f64,
    /// Time of an access that misses, in microseconds.
    pub miss_us: f64,
    /// Price of a cache of 1 GiB, in any currency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price_per_gib: Option<f64>,
}

/// How objects were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSample {
    /// Share of the objects that were simulated, in caches that were smaller by the same share.
    pub rate: f64,
    /// Number of samples. Results are means over them.
    pub seeds: u32,
}

/// What one cache does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheResult {
    /// The policy, as in [`CachePolicy::policy`].
    pub policy: String,
    /// Size of the cache in objects.
    pub size: u64,
    /// Size of the cache in bytes, where objects have a size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size_bytes: Option<u64>,
    /// Number of accesses to objects.
    pub requests: u64,
    /// Number of accesses to objects that the cache did not hold.
    pub misses: u64,
    /// Share of the accesses that missed.
    pub miss_ratio: f64,
    /// Share of the accessed bytes that missed.
    pub byte_miss_ratio: f64,
    /// Bytes written to the cache: those of the accesses that missed and were taken in, and those of writes to objects
    /// that it held.
    pub write_bytes: u64,
    /// Mean time of an access in microseconds, by [`CacheCosts`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_access_us: Option<f64>,
    /// Price of the cache over the milliseconds that it takes off the mean access; absent if it takes off nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price_per_saved_ms: Option<f64>,
    /// How far several samples differ; absent for one sample or none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<CacheSpread>,
}

/// The miss ratio over several samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpread {
    /// The lowest miss ratio.
    pub miss_ratio_lowest: f64,
    /// The highest miss ratio.
    pub miss_ratio_highest: f64,
    /// Standard error of the mean: the standard deviation of the samples over the root of their number.
    pub miss_ratio_standard_error: f64,
}

impl CacheResults {
    /// The sizes of the caches, in rising order.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.results.iter().map(|result| result.size).collect();
        sizes.dedup();
        sizes
    }

    /// The result of a policy at a size.
    pub fn result(&self, policy: &str, size: u64) -> Option<&CacheResult> {
        self.results.iter().find(|result| result.size == size && result.policy == policy)
    }

    /// The policies with the lowest miss ratio at a size, among those that a device could run.
    pub fn best(&self, size: u64) -> Vec<&CacheResult> {
        let usable = self.policies.iter().filter(|policy| !policy.is_bound);
        let results: Vec<&CacheResult> = usable.filter_map(|policy| self.result(&policy.policy, size)).collect();
        let lowest = results.iter().map(|result| result.miss_ratio).fold(f64::INFINITY, f64::min);
        results.into_iter().filter(|result| result.miss_ratio == lowest).collect()
    }
}
