//! Response times of read caches on flash, on a stand-in for WebSearch2 (Xia 2017, chapters 2 and 3).

use esker_cache::ByDistance;
use esker_core::{Bytes, Completion, Lba, Nanos, Request, Rng, Tag};
use esker_results::{HostManagedCacheReport, Report};
use esker_sim::Experiment;

/// Extents of four pages in 16.67 GB at a 32nd.
const EXTENTS: u64 = 34_139;

/// Requests of 16 KiB by their first page. They are those of `tests/device/host_managed_cache.rs` in esker-flash, where
/// the sources of the figures are.
fn web_search(count: usize) -> Vec<u64> {
    let objects_per_gb = 262_144.0 / 32.0 / 4.0;
    let (objects, scale) = (1_693_344 / 32 / 4, 3.076 * objects_per_gb);
    let curve = ByDistance { objects, hit_ratio_max: 0.902, scale, shape: 2.516 };
    curve.accesses(count, 1).into_iter().map(|object| u64::from(object.0) * 7_919 % EXTENTS * 4).collect()
}

struct Outcome {
    cache: HostManagedCacheReport,
    mean_ms: f64,
    deviation_ms: f64,
}

/// Poisson arrivals at 335 requests a second (assumed: about the mean rate of WebSearch1) in front of a device that
/// takes 5 ms (table 2), without a queue.
fn run(requests: &[u64], over_provisioning: u64, policy: &str, cleaning: &str, reply: &str) -> Outcome {
    run_with(requests, over_provisioning, policy, cleaning, &format!("reply = \"{reply}\""))
}

/// Like [`run`], with these further keys of the cache.
fn run_with(requests: &[u64], over_provisioning: u64, policy: &str, cleaning: &str, keys: &str) -> Outcome {
    let capacity = EXTENTS * 16;
    let text = format!(
        "[workload]\nsynthetic = {{ requests = 1 }}\n[device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\n\
         servers = 1024\ncapacity = \"{capacity}KiB\"\n[device.c]\nkind = \"host-managed-cache\"\nbacking = \"disk\"\n\
         blocks_per_plane = 48\nover_provisioning = \"{over_provisioning}%\"\npolicy = \"{policy}\"\n\
         cleaning = \"{cleaning}\"\n{keys}\n[run]\ntarget = \"c\"\n"
    );
    let mut device = Experiment::from_str(&text, "x.toml").unwrap().assemble().unwrap().device;
    let (mut rng, mut now, mut done) = (Rng::new(7), 0, Vec::<Completion>::new());
    let mut arrivals = vec![0; requests.len()];
    for (slot, first) in (0..).zip(requests) {
        now += rng.exponential(1e9 / 335.0) as u64;
        while device.next_event() <= Nanos(now) {
            device.advance(device.next_event(), &mut done);
        }
        arrivals[slot as usize] = now;
        device.submit(Nanos(now), Tag::new(slot, 0), Request::read(Lba(first * 8), Bytes::kib(16)));
    }
    while device.next_event() != Nanos::NEVER {
        device.advance(device.next_event(), &mut done);
    }
    let times: Vec<f64> =
        done.iter().map(|done| (done.at.0 - arrivals[done.tag.slot() as usize]) as f64 / 1e6).collect();
    let mean_ms = times.iter().sum::<f64>() / times.len() as f64;
    let variance = times.iter().map(|time| (time - mean_ms).powi(2)).sum::<f64>() / times.len() as f64;
    let cache = Report::of(&*device).devices["c"].host_managed_cache.expect("it is a cache");
    Outcome { cache, mean_ms, deviation_ms: variance.sqrt() }
}

/// With `ESKER_PRINT` set, prints the table of docs/host-managed-cache.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn flash_aware_caches_answer_faster() {
    let print = std::env::var_os("ESKER_PRINT").is_some();
    let requests = web_search(4_578_819 / 32);
    let shares: &[u64] = if print { &[15, 25, 35] } else { &[15] };
    let replies: &[&str] = if print { &["after-fill", "after-fetch"] } else { &["after-fill"] };
    for reply in replies {
        for share in shares {
            let all = [("lru", "migrate"), ("flru", "migrate"), ("lru", "zero-migration"), ("flru", "zero-migration")];
            let arc = [("arc", "migrate"), ("farc", "migrate"), ("farc", "zero-migration"), ("flru", "conditional")];
            let chosen = all.into_iter().chain(arc.into_iter().filter(|_| print));
            let outcomes: Vec<Outcome> =
                chosen.clone().map(|(policy, cleaning)| run(&requests, *share, policy, cleaning, reply)).collect();
            for ((policy, cleaning), outcome) in chosen.zip(&outcomes).filter(|_| print) {
                println!(
                    "| {reply} | {share} % | {policy} | {cleaning} | {:.2} % | {} | {:.3} ms | {:+.1} % | {:.3} ms |",
                    100.0 * outcome.cache.hit_ratio,
                    outcome.cache.erases,
                    outcome.mean_ms,
                    100.0 * (outcome.mean_ms / outcomes[0].mean_ms - 1.0),
                    outcome.deviation_ms,
                );
            }
            if *reply == "after-fill" && *share == 15 {
                let share_of_lru = |index: usize| outcomes[index].mean_ms / outcomes[0].mean_ms;
                assert!(share_of_lru(1) < 0.95, "FLRU: {}", share_of_lru(1));
                assert!(share_of_lru(3) < share_of_lru(1), "FLRU with zero migration: {}", share_of_lru(3));
            }
        }
    }
}

/// A reset of a zone keeps all dies at the same work. With `ESKER_PRINT` set, prints the table of zones in time of
/// docs/host-managed-cache.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn zones_are_reset_without_copies_in_time_too() {
    let print = std::env::var_os("ESKER_PRINT").is_some();
    let requests = web_search(if print { 4_578_819 / 32 } else { 40_000 });
    let shares: &[u64] = if print { &[15, 25, 35] } else { &[15] };
    let keys = [
        ("blocks", ""),
        ("zones, `greedy`", "erase = \"zone\""),
        ("zones, `fifo`", "erase = \"zone\"\nvictim = \"fifo\""),
    ];
    for share in shares {
        for cleaning in ["zero-migration", "conditional"] {
            for (name, keys) in keys {
                let outcome = run_with(&requests, *share, "flru", cleaning, &format!("reply = \"after-fill\"\n{keys}"));
                let cache = outcome.cache;
                if print {
                    println!(
                        "| {share} % | `{cleaning}` | {name} | {:.2} % | {} | {:.2} | {:.3} ms | {:.3} ms |",
                        100.0 * cache.hit_ratio,
                        cache.erases,
                        cache.write_amplification.unwrap_or(1.0),
                        outcome.mean_ms,
                        outcome.deviation_ms,
                    );
                }
                assert!(cache.hit_ratio > 0.3 && cache.erases > 0, "{cache:?}");
                assert_eq!(cache.copied_pages == 0, cleaning == "zero-migration", "{cache:?}");
            }
        }
    }
}
