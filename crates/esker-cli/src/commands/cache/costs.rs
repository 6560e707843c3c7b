//! What a cache is worth: mean time of an access, price of the memory that it saves, knees.

use esker_curves::CurveObjects;
use esker_results::cache::{CacheCosts, CacheResult};

use crate::args::CacheArguments;
use crate::failure::Failure;

const GIB: f64 = (1u64 << 30) as f64;

/// The share of all possible hits that the knee of a curve has.
const KNEE: f64 = 0.9;

/// The costs of the arguments.
pub(super) fn given(arguments: &CacheArguments, objects: CurveObjects) -> Result<Option<CacheCosts>, Failure> {
    let (Some(hit), Some(miss)) = (arguments.hit_cost, arguments.miss_cost) else { return Ok(None) };
    if hit >= miss {
        return Err(Failure::input(format!("--hit-cost {hit} is not less than --miss-cost {miss}"))
            .with_hint("a cache helps where hits take less time than misses"));
    }
    if arguments.price_per_gib.is_some() && objects.bytes().is_none() && !arguments.sized {
        return Err(Failure::input("--price-per-gib: start blocks have no size of their own")
            .with_hint("choose `--object 4KiB` or --sized, or leave out --price-per-gib"));
    }
    let micros = |time: esker_core::Nanos| time.0 as f64 / 1e3;
    Ok(Some(CacheCosts { hit_us: micros(hit), miss_us: micros(miss), price_per_gib: arguments.price_per_gib }))
}

/// Adds to `result` what follows from `costs`.
pub(super) fn add(costs: &CacheCosts, result: &mut CacheResult) {
    let mean_us = result.miss_ratio * costs.miss_us + (1.0 - result.miss_ratio) * costs.hit_us;
    let saved_ms = (costs.miss_us - mean_us) / 1e3;
    result.mean_access_us = Some(mean_us);
    result.price_per_saved_ms = match (costs.price_per_gib, result.size_bytes) {
        (Some(price), Some(bytes)) if saved_ms > 0.0 => Some(bytes as f64 / GIB * price / saved_ms),
        _ => None,
    };
}

/// The smallest size at which `policy` has its share of the hits that are possible, with the first of the admission
/// policies that it has results with. `first_uses` is the share of the
/// accesses that are the first to their object: no cache has them.
pub(super) fn knee(policy: &str, results: &[CacheResult], first_uses: f64) -> Option<u64> {
    let wanted = 1.0 - KNEE * (1.0 - first_uses);
    // The tolerance covers rounding errors.
    let of_policy = || results.iter().filter(|result| result.policy == policy);
    let admission = &of_policy().next()?.admission;
    let reaches = |result: &&CacheResult| result.admission == *admission && result.miss_ratio <= wanted + 1e-12;
    of_policy().filter(reaches).map(|result| result.size).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(size: u64, miss_ratio: f64) -> CacheResult {
        CacheResult {
            policy: "lru".into(),
            admission: "none".into(),
            size,
            size_bytes: Some(size << 30),
            requests: 1_000,
            misses: 0,
            refused: 0,
            miss_ratio,
            byte_miss_ratio: 0.0,
            write_bytes: 0,
            write_bytes_per_day: None,
            mean_access_us: None,
            price_per_saved_ms: None,
            drive_writes_per_day: None,
            spread: None,
            volumes: Vec::new(),
        }
    }

    #[test]
    fn a_cache_saves_time_for_its_price() {
        let costs = CacheCosts { hit_us: 100.0, miss_us: 5_100.0, price_per_gib: Some(0.5) };
        let mut found = result(8, 0.6);
        add(&costs, &mut found);
        // 0.6 times 5.1 ms and 0.4 times 0.1 ms; 4 for 8 GiB, which save 2 ms.
        assert!((found.mean_access_us.unwrap() - 3_100.0).abs() < 1e-9);
        assert!((found.price_per_saved_ms.unwrap() - 2.0).abs() < 1e-9);
        let mut useless = result(8, 1.0);
        add(&costs, &mut useless);
        assert_eq!((useless.mean_access_us, useless.price_per_saved_ms), (Some(5_100.0), None));
    }

    #[test]
    fn the_knee_is_the_smallest_size_with_nine_tenths_of_the_possible_hits() {
        // A fifth are first uses: 0.28 misses are nine tenths of the hits.
        let results = [result(1, 0.9), result(10, 0.29), result(20, 0.28), result(40, 0.2)];
        assert_eq!(knee("lru", &results, 0.2), Some(20));
        assert_eq!(knee("lru", &results[..2], 0.2), None);
        assert_eq!(knee("fifo", &results, 0.2), None);
        // The second admission policy does not count.
        let second = CacheResult { admission: "larc".into(), ..result(5, 0.1) };
        let both = [result(1, 0.9), second, result(20, 0.28)];
        assert_eq!(knee("lru", &both, 0.2), Some(20));
    }
}
