//! Caches to draw.

use esker_results::cache::{CACHE_SCHEMA, CacheAdmission, CachePolicy, CacheResult, CacheResults, CacheVolume};

/// Two policies and a bound, at two sizes.
pub(crate) fn caches() -> CacheResults {
    let policy = |policy: &str, is_bound| CachePolicy {
        policy: policy.to_string(),
        summary: "an example".to_string(),
        is_bound,
        knee: None,
    };
    let result = |policy: &str, size: u64, miss_ratio: f64| CacheResult {
        policy: policy.to_string(),
        admission: "none".to_string(),
        size,
        size_bytes: Some(size * 4096),
        requests: 100,
        misses: (miss_ratio * 100.0) as u64,
        refused: 0,
        miss_ratio,
        byte_miss_ratio: miss_ratio,
        write_bytes: 4096,
        write_bytes_per_day: Some(8192),
        mean_access_us: None,
        drive_writes_per_day: None,
        price_per_saved_ms: None,
        spread: None,
        volumes: Vec::new(),
    };
    CacheResults {
        schema: CACHE_SCHEMA,
        version: "0.1.0".into(),
        command: "esker cache week.spc".into(),
        seed: 1,
        objects_are: "start blocks".into(),
        object_bytes: Some(4096),
        sized: false,
        distinct_bytes: None,
        accesses: 100,
        accessed_bytes: 409_600,
        distinct_objects: 20,
        sample: None,
        warm_up: None,
        rated_drive_writes_per_day: None,
        costs: None,
        duration_s: Some(43_200.0),
        admissions: vec![admission("none", "every object enters")],
        policies: vec![policy("lru", false), policy("fifo", false), policy("belady", true)],
        results: vec![
            result("lru", 5, 0.5),
            result("fifo", 5, 0.4),
            result("belady", 5, 0.3),
            result("lru", 10, 0.3),
            result("fifo", 10, 0.35),
            result("belady", 10, 0.1),
        ],
    }
}

fn admission(admission: &str, summary: &str) -> CacheAdmission {
    CacheAdmission { admission: admission.to_string(), summary: summary.to_string() }
}

/// The policies of [`caches`], the two without the bound also with an admission policy.
pub(crate) fn caches_with_admission() -> CacheResults {
    let mut found = caches();
    found.admissions.push(admission("larc", "refuses much"));
    let plain = std::mem::take(&mut found.results);
    for at_one_size in plain.chunks(3) {
        found.results.extend_from_slice(at_one_size);
        found.results.extend(at_one_size[..2].iter().map(|result| CacheResult {
            admission: "larc".to_string(),
            refused: 10,
            miss_ratio: result.miss_ratio - 0.1,
            ..result.clone()
        }));
    }
    found
}

/// [`caches_with_admission`], of two volumes.
pub(crate) fn caches_by_volume() -> CacheResults {
    let mut found = caches_with_admission();
    for result in &mut found.results {
        let of = |volume: &str, requests: u64, misses: u64| CacheVolume {
            volume: volume.to_string(),
            requests,
            misses,
            refused: result.refused / 2,
            miss_ratio: misses as f64 / requests as f64,
            byte_miss_ratio: misses as f64 / requests as f64,
            write_bytes: result.write_bytes / 2,
            write_bytes_per_day: result.write_bytes_per_day.map(|bytes| bytes / 2),
        };
        result.volumes = vec![of("database", 75, result.misses / 2), of("log <2>", 25, result.misses.div_ceil(2))];
    }
    found
}
