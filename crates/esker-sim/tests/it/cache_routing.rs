//! Caches that route hits, over devices of 2,000 and 1,000 requests a second, with 16 requests under way.

use esker_core::{Nanos, Rng};
use esker_results::{CacheRouting, FlashCacheReport, RunResults};
use esker_sim::{Experiment, RunOptions, Workload, run, run_workload};
use esker_trace::{Operation, Record, VolumeIndex};

/// Bytes of a line, and lines of a hot set of 64 MiB, which is half of the flash.
const LINE: u64 = 4096;
const HOT: u64 = 16_384;

const NONE: &str = "none";
const ORTHUS: &str = "orthus";

/// The devices, with service times of this kind, and a cache with more `keys`.
fn devices(service: &str, keys: &str) -> String {
    format!(
        "[device.flash]\nkind = \"constant\"\nservice_time = \"500us\"\nservice = \"{service}\"\n\
         capacity = \"128MiB\"\n\
         [device.slow]\nkind = \"constant\"\nservice_time = \"1ms\"\nservice = \"{service}\"\ncapacity = \"1GiB\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"slow\"\n{keys}\n"
    )
}

fn routing(kind: &str, goal: &str) -> String {
    if kind == NONE { String::new() } else { format!("routing = {{ kind = \"{kind}\", goal = \"{goal}\" }}\n") }
}

/// Random reads of the hot set: `requests`, of which the first `warm_up` are not measured. `arrivals` is empty for 16
/// at a time.
fn hot_reads(device: &str, service: &str, keys: &str, [requests, warm_up]: [u64; 2], arrivals: &str) -> RunResults {
    let depth = if arrivals.is_empty() { "queue_depth = 16" } else { "" };
    let text = format!(
        "[workload]\n{depth}\n[workload.synthetic]\nrequests = {requests}\nread_fraction = 1.0\nsize = \"4KiB\"\n\
         footprint = \"64MiB\"\n{arrivals}\n{}[run]\ntarget = \"{device}\"\nwarm_up_requests = {warm_up}\n",
        devices(service, keys)
    );
    run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap()
}

fn per_second(results: &RunResults) -> f64 {
    results.throughput.requests_per_s
}

fn cache(results: &RunResults) -> &FlashCacheReport {
    results.devices["volume"].flash_cache.as_ref().unwrap()
}

fn routed(results: &RunResults) -> &CacheRouting {
    cache(results).routing.as_ref().unwrap()
}

/// The first 131,072 reads or more fill the cache, in periods of 32,768; then the share is tuned.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn warm_both_devices_work() {
    for service in ["fixed", "exponential"] {
        let warm = |keys: &str| hot_reads("volume", service, keys, [400_000, 250_000], "");
        let plain = warm("");
        assert!((per_second(&plain) / 2_000.0 - 1.0).abs() < 0.05, "{service}: {}", per_second(&plain));
        assert!(cache(&plain).routing.is_none());
        for goal in ["response-time", "throughput"] {
            let both = warm(&routing(ORTHUS, goal));
            let found = per_second(&both);
            if std::env::var_os("ESKER_PRINT").is_some() {
                let (plain, share) = (per_second(&plain), routed(&both).routed_ratio);
                println!("| {service} | `{goal}` | {plain:.0}/s | {found:.0}/s | {:.1} % |", 100.0 * share);
            }
            assert!(found > 2_700.0 && found < 3_000.0, "{service}, {goal}: {found}, {:?}", routed(&both));
            assert!((0.25..0.4).contains(&routed(&both).routed_ratio), "{:?}", routed(&both));
            // Lines that no read had touched when admission stopped stay out.
            assert!(cache(&both).hit_ratio > 0.99, "{:?}", cache(&both));
        }
    }
}

/// A cold cache is a plain one: nothing is routed before the misses are steady. Its first 10,000 reads take no longer
/// than those of the slow device alone, within 5%.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn a_cold_cache_is_no_slower_than_the_slow_device() {
    for (requests, times_slow) in [(10_000, 0.95), (65_536, 1.2)] {
        let of = |device: &str, keys: &str| hot_reads(device, "exponential", keys, [requests, 0], "");
        let [alone, plain, both] = [of("slow", ""), of("volume", ""), of("volume", &routing(ORTHUS, "response-time"))]
            .map(|of| per_second(&of));
        if std::env::var_os("ESKER_PRINT").is_some() {
            println!("first {requests}: slow device {alone:.0}/s, plain cache {plain:.0}/s, routing {both:.0}/s");
        }
        assert!((both - plain).abs() < 1e-6, "{both} and {plain}");
        assert!(both > times_slow * alone, "{both} and {alone}");
    }
}

/// `count` requests for lines from `first` on, as many percent of them writes.
fn requests(rng: &mut Rng, first: u64, count: usize, writes: u64) -> Vec<Record> {
    let mut record = |_| Record {
        at: Nanos::ZERO,
        offset: (first + rng.below(HOT)) * LINE,
        length: LINE as u32,
        volume: VolumeIndex(0),
        operation: if rng.below(100) < writes { Operation::Write } else { Operation::Read },
        response: None,
    };
    (0..count).map(&mut record).collect()
}

fn replayed(records: &[Record], keys: &str, warm_up: usize) -> RunResults {
    let text = format!(
        "[workload]\ntrace = \"none\"\nqueue_depth = 16\n{}[run]\ntarget = \"volume\"\nwarm_up_requests = {warm_up}\n",
        devices("exponential", keys)
    );
    let workload = Workload::from_records(records.iter().copied(), vec!["0".to_string()]).unwrap();
    run_workload(&Experiment::from_str(&text, "x.toml").unwrap(), &workload, &RunOptions::default()).unwrap()
}

/// The hot set is another one after 300,000 reads. Lines enter again, it is cached, and both devices work again.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn another_hot_set_is_cached_again() {
    let mut rng = Rng::new(8);
    let mut records = requests(&mut rng, 0, 300_000, 0);
    records.extend(requests(&mut rng, 100_000, 350_000, 0));
    let keys = routing(ORTHUS, "response-time");
    for (until, from, least) in [(300_000, 250_000, 2_700.0), (650_000, 550_000, 2_700.0)] {
        let results = replayed(&records[..until], &keys, from);
        if std::env::var_os("ESKER_PRINT").is_some() {
            println!("from {from} to {until}: {:.0}/s, {:?}", per_second(&results), routed(&results));
        }
        assert!(per_second(&results) > least, "{from}: {}, {:?}", per_second(&results), routed(&results));
        assert!(cache(&results).read_hit_ratio > 0.99, "{from}: {:?}", cache(&results));
    }
    let all = replayed(&records, &keys, 0);
    assert!(routed(&all).admission_stops >= 2, "{:?}", routed(&all));
    // Admission goes on again within two windows of 1,000 requests.
    let shift = replayed(&records[..310_000], &keys, 300_000);
    assert!(routed(&shift).kept_out <= 2_000 && routed(&shift).admits_at_end, "{:?}", routed(&shift));
}

/// Once all lines of the hot set are dirty, and stay so, the flash serves every read.
#[test]
fn where_all_is_dirty_nothing_is_routed() {
    let mut rng = Rng::new(9);
    let mut records = requests(&mut rng, 0, 300_000, 0);
    // All lines are written, then most requests write.
    let all = (0..HOT).map(|line| Record { offset: line * LINE, operation: Operation::Write, ..records[0] });
    records.extend(all.collect::<Vec<_>>());
    let written = records.len();
    records.extend(requests(&mut rng, 0, 50_000, 80));
    let never = "write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"\n";
    let keys = format!("{never}{}", routing(ORTHUS, "response-time"));
    let before = replayed(&records[..300_000], &keys, 250_000);
    assert!(routed(&before).routed_ratio > 0.2, "{:?}", routed(&before));
    let after = replayed(&records, &keys, written);
    assert_eq!((routed(&after).routed, cache(&after).dirty_lines), (0, HOT));
    assert_eq!(after.devices["volume"].children["slow"].requests, 0);
}

/// With 500 requests a second, which the flash serves alone, routing would only make reads slower. Judged by response
/// times, little is routed; the throughput is that of the arrivals whatever the share, so it is no guide.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn under_a_light_load_response_times_keep_reads_on_the_flash() {
    let arrivals = "arrivals = { kind = \"poisson\", rate = \"500/s\" }";
    let of = |keys: &str| hot_reads("volume", "exponential", keys, [500_000, 200_000], arrivals);
    let mean = |results: &RunResults| results.requests.all.response_time.mean_us;
    let plain = of("");
    for goal in ["response-time", "throughput"] {
        let both = of(&routing(ORTHUS, goal));
        if std::env::var_os("ESKER_PRINT").is_some() {
            let share = 100.0 * routed(&both).routed_ratio;
            println!("`{goal}`: {:.0} us, plain {:.0} us, {share:.1} % routed", mean(&both), mean(&plain));
        }
        assert!(goal == "throughput" || mean(&both) < 1.1 * mean(&plain), "{} and {}", mean(&both), mean(&plain));
    }
}
