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
    /// Whether each object takes the room of its bytes, so that sizes of caches are in bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub sized: bool,
    /// Bytes of all distinct objects, where each takes the room of its bytes; an estimate if they are sampled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub distinct_bytes: Option<u64>,
    /// Number of accesses to objects.
    pub accesses: u64,
    /// Bytes that the accesses read and write.
    pub accessed_bytes: u64,
    /// Number of distinct objects; an estimate if they are sampled.
    pub distinct_objects: u64,
    /// The sample, if not all objects were simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sample: Option<CacheSample>,
    /// Share of the requests, the first ones, that only warmed the caches and are counted nowhere; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warm_up: Option<f64>,
    /// What accesses and the cache cost, if that was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub costs: Option<CacheCosts>,
    /// Drive writes a day that the drive of the cache is rated for, if that was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rated_drive_writes_per_day: Option<f64>,
    /// Time from the first access that is counted to the last one, in seconds; absent if the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_s: Option<f64>,
    /// Which policies, in the order in which they were asked for.
    pub policies: Vec<CachePolicy>,
    /// Which admission policies, in the order in which they were asked for.
    pub admissions: Vec<CacheAdmission>,
    /// One entry for each size, admission policy and policy: sizes rise, and at each of them admission policies, and in
    /// these policies, keep their order. A bound takes in every miss: it has results without admission alone.
    pub results: Vec<CacheResult>,
}

/// The admission policy that takes in every object that misses, by its name.
pub const ADMISSION_NONE: &str = "none";

/// An admission policy of [`CacheResults`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheAdmission {
    /// Its name with the parameters that were set: "second-hit(window=50%)"; "none" where every object enters.
    pub admission: String,
    /// What it does, in one line.
    pub summary: String,
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
    /// The smallest size of the results with 90 % of the hits that are possible, with the first of the admission
    /// policies that it was simulated with; absent if no size has so many. The first access to an object cannot hit.
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
    /// The admission policy, as in [`CacheAdmission::admission`].
    pub admission: String,
    /// Size of the cache in objects, or in bytes if objects are [`sized`](CacheResults::sized).
    pub size: u64,
    /// Size of the cache in bytes, where objects have a size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size_bytes: Option<u64>,
    /// Number of accesses to objects.
    pub requests: u64,
    /// Number of accesses to objects that the cache did not hold.
    pub misses: u64,
    /// Number of those misses whose objects were not taken in.
    pub refused: u64,
    /// Share of the accesses that missed.
    pub miss_ratio: f64,
    /// Share of the accessed bytes that missed.
    pub byte_miss_ratio: f64,
    /// Bytes written to the cache: those of the accesses that missed and were taken in, and those of writes to objects
    /// that it held.
    pub write_bytes: u64,
    /// `write_bytes` as bytes a day, at the rate of the trace; absent if the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_bytes_per_day: Option<u64>,
    /// How often a day the cache is written as a whole: `write_bytes_per_day` over `size_bytes`; absent if one of them
    /// is. A drive that is larger than the cache has fewer drive writes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drive_writes_per_day: Option<f64>,
    /// Mean time of an access in microseconds, by [`CacheCosts`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_access_us: Option<f64>,
    /// Price of the cache over the milliseconds that it takes off the mean access; absent if it takes off nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price_per_saved_ms: Option<f64>,
    /// How far several samples differ; absent for one sample or none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<CacheSpread>,
    /// What each volume gets out of the one cache that all of them share, in the order in which they first appear in
    /// the trace. Absent unless it was asked for; volumes without accesses are left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub volumes: Vec<CacheVolume>,
}

/// What one cache does for one of the volumes that share it. Numbers of all volumes add up to those of the result, but
/// for rounding where objects are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheVolume {
    /// Name of the volume.
    pub volume: String,
    /// Number of accesses to objects of the volume.
    pub requests: u64,
    /// Number of those accesses to objects that the cache did not hold.
    pub misses: u64,
    /// Number of those misses whose objects were not taken in.
    pub refused: u64,
    /// Share of the volume's accesses that missed.
    pub miss_ratio: f64,
    /// Share of the volume's accessed bytes that missed.
    pub byte_miss_ratio: f64,
    /// Bytes written to the cache for the volume.
    pub write_bytes: u64,
    /// `write_bytes` as bytes a day, at the rate of the trace; absent if the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_bytes_per_day: Option<u64>,
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
    /// The size of a cache in bytes, if objects have a size.
    pub fn in_bytes(&self, size: u64) -> Option<u64> {
        if self.sized { Some(size) } else { self.object_bytes.map(|bytes| size.saturating_mul(bytes)) }
    }

    /// How many times all objects together a cache of this size could hold.
    pub fn share_of_all(&self, size: u64) -> f64 {
        let all = self.distinct_bytes.unwrap_or(self.distinct_objects);
        size as f64 / all.max(1) as f64
    }

    /// The sizes of the caches, in rising order.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.results.iter().map(|result| result.size).collect();
        sizes.dedup();
        sizes
    }

    /// The pairs of policy and admission policy that have results: admission policies in their order, and in these
    /// policies.
    pub fn pairs(&self) -> Vec<CachePair<'_>> {
        let Some(size) = self.results.first().map(|result| result.size) else { return Vec::new() };
        let of = |admission| self.policies.iter().map(move |policy| CachePair { policy, admission });
        let pairs = self.admissions.iter().flat_map(of);
        pairs.filter(|pair| self.result(*pair, size).is_some()).collect()
    }

    /// The result of a pair at a size.
    pub fn result(&self, pair: CachePair<'_>, size: u64) -> Option<&CacheResult> {
        let is_of = |result: &&CacheResult| {
            result.size == size && result.policy == pair.policy.policy && result.admission == pair.admission.admission
        };
        self.results.iter().find(is_of)
    }

    /// The results with the lowest miss ratio at a size, among those that a device could run; of one admission policy,
    /// or of all.
    pub fn best(&self, size: u64, admission: Option<&CacheAdmission>) -> Vec<&CacheResult> {
        let usable = self.usable(size, admission);
        lowest(usable.into_iter().map(|result| (result, result.miss_ratio)).collect())
    }

    /// The policies with the lowest miss ratio of a volume at a size with an admission policy, among those that a
    /// device could run. `volume` is an index into [`CacheResult::volumes`].
    pub fn best_of_volume(&self, size: u64, admission: &CacheAdmission, volume: usize) -> Vec<&str> {
        let of = |result: &'_ CacheResult| result.volumes.get(volume).map(|volume| volume.miss_ratio);
        let usable = self.usable(size, Some(admission)).into_iter();
        lowest(usable.filter_map(|result| Some((result.policy.as_str(), of(result)?))).collect())
    }

    /// The results at a size that a device could run; of one admission policy, or of all.
    fn usable(&self, size: u64, admission: Option<&CacheAdmission>) -> Vec<&CacheResult> {
        let usable = self.pairs().into_iter().filter(|pair| !pair.policy.is_bound);
        let asked = usable.filter(|pair| admission.is_none_or(|admission| admission == pair.admission));
        asked.filter_map(|pair| self.result(pair, size)).collect()
    }
}

/// What has the lowest miss ratio.
fn lowest<T>(found: Vec<(T, f64)>) -> Vec<T> {
    let lowest = found.iter().map(|(_, miss_ratio)| *miss_ratio).fold(f64::INFINITY, f64::min);
    found.into_iter().filter(|(_, miss_ratio)| *miss_ratio == lowest).map(|(one, _)| one).collect()
}

/// A policy with the admission policy before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePair<'a> {
    /// The policy.
    pub policy: &'a CachePolicy,
    /// The admission policy.
    pub admission: &'a CacheAdmission,
}

impl CachePair<'_> {
    /// Its name: "lru", or "lru + second-hit".
    pub fn name(&self) -> String {
        pair_name(&self.policy.policy, &self.admission.admission)
    }
}

impl CacheResult {
    /// The name of its pair of policies: "lru", or "lru + second-hit".
    pub fn pair_name(&self) -> String {
        pair_name(&self.policy, &self.admission)
    }
}

fn pair_name(policy: &str, admission: &str) -> String {
    if admission == ADMISSION_NONE { policy.to_string() } else { format!("{policy} + {admission}") }
}
