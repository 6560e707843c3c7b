//! The policies `bcachefs`, `dm-cache`, `colloid` and `most` against what they claim: reads of a hot set that fits the
//! fast device, from a cold start on the slow one.

use esker_results::{PlacementReport, SeriesPoint};
use esker_sim::{Experiment, RunOptions, run};

/// Requests per second that the devices can answer.
const FAST: f64 = 2000.0;
const SLOW: f64 = 1000.0;

/// Length of an interval of the series, in seconds.
const INTERVAL: f64 = 0.5;

/// The series of sixteen readers of one piece of 64 MiB, on a device of 500 us and one of 1 ms in extents of 128 KiB.
/// The piece lies in the second half of the volume, where no policy puts data on the fast device at first.
fn series(policy: &str, service: &str, requests: u32) -> Vec<SeriesPoint> {
    let requests = if esker_testkit::soak() > 1 { 4_000_000 } else { requests };
    let device = |name: &str, service_time: &str, capacity: &str| {
        format!(
            "[device.{name}]\nkind = \"constant\"\nservice_time = \"{service_time}\"\nservice = \"{service}\"\n\
             capacity = \"{capacity}\"\nqueue_depth = 10000\n"
        )
    };
    let text = format!(
        "[workload]\nqueue_depth = 16\n\
         [workload.synthetic]\nrequests = {requests}\nread_fraction = \"100%\"\nfootprint = \"256MiB\"\nseed = 2\n\
         [workload.synthetic.pieces]\nsize = \"64MiB\"\n\
         kinds = [{{ pieces = 1, reads = 1, writes = 0 }}, {{ pieces = 3, reads = 0, writes = 1 }}]\n\
         {}{}\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\nextent = \"128KiB\"\n\
         capacity = \"256MiB\"\npolicy = {{ {policy} }}\n\
         [run]\ntarget = \"volume\"\nseries = \"{INTERVAL}s\"\n",
        device("fast", "500us", "128MiB"),
        device("slow", "1ms", "384MiB"),
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    let mut series = results.series;
    // The last interval ends with the last request.
    series.pop();
    series
}

/// What the second half of a run shows.
#[derive(Debug)]
struct Settled {
    requests_per_s: f64,
    moves_per_s: f64,
    /// Share of the requests that the slow device has answered.
    slow_share: f64,
    /// Mean response time of the slow device, as a multiple of that of the fast one.
    slow_latency: f64,
}

fn moves(point: &SeriesPoint) -> f64 {
    let copies =
        |placement: &PlacementReport| placement.moved_extents + placement.mirrored_extents + placement.abandoned_moves;
    point.placement.as_ref().map_or(0, copies) as f64
}

fn settled(series: &[SeriesPoint]) -> Settled {
    let half = &series[series.len() / 2..];
    let seconds = half.len() as f64 * INTERVAL;
    let sum = |value: &dyn Fn(&SeriesPoint) -> f64| half.iter().map(value).sum::<f64>();
    let answered = ["fast", "slow"].map(|child| sum(&|point| point.children[child].requests as f64));
    let times = ["fast", "slow"].map(|child| {
        let time = |point: &SeriesPoint| point.children[child].mean_us * point.children[child].requests as f64;
        sum(&time)
    });
    Settled {
        requests_per_s: sum(&|point| point.requests as f64) / seconds,
        moves_per_s: sum(&moves) / seconds,
        slow_share: answered[1] / (answered[0] + answered[1]),
        slow_latency: (times[1] / answered[1]) / (times[0] / answered[0]),
    }
}

/// The volume begins on the slow device, and is at no time slower than that by more than what copies take there: a
/// read and a trim for each extent that moves.
#[track_caller]
fn starts_cold(series: &[SeriesPoint]) {
    let first = &series[0];
    assert!(first.children["fast"].requests < first.requests / 2, "it begins on the slow device: {first:?}");
    for (index, point) in series.iter().enumerate() {
        let left = SLOW - 2.0 * moves(point) / INTERVAL;
        let rate = point.requests as f64 / INTERVAL;
        assert!(rate > 0.95 * left, "interval {index}: {rate}/s, where {left}/s are left beside copies");
    }
}

#[expect(clippy::print_stdout, reason = "`--nocapture` shows what was measured")]
fn show(policy: &str, series: &[SeriesPoint]) {
    println!("{policy}: {:?}", settled(series));
    for point in series.iter().take(24) {
        let slow = point.children["slow"].requests as f64 / INTERVAL;
        println!(
            "  {:4.1} s: {:4.0}/s, slow {slow:4.0}/s, {} moves",
            point.start_s,
            point.requests as f64 / INTERVAL,
            moves(point)
        );
    }
}

/// Whatever is read ends up on the fast device, and the slow one idles.
#[test]
fn caches_bring_the_hot_set_to_the_fast_device() {
    for policy in ["kind = \"bcachefs\"", "kind = \"dm-cache\""] {
        let series = series(policy, "fixed", 80_000);
        show(policy, &series);
        let found = settled(&series);
        assert!(
            (0.95..1.05).contains(&(found.requests_per_s / FAST)) && found.slow_share < 0.01,
            "{policy}: {found:?}"
        );
        starts_cold(&series);
    }
}

/// Requests per second of both devices with exponential times, if the sixteen readers use them as well as can be.
const BOTH: f64 = 2824.0;

/// Equal latencies use both devices: with the copies, which take a read, a write and a trim each, these do nearly as
/// much as they can. The published quantum holds 25 requests here: latencies swing, and the slow device is the slower
/// one on average. Quanta of a second make them equal.
#[test]
fn colloid_uses_both_devices() {
    for (quantum, requests) in [("10ms", 80_000), ("1s", 1_000_000)] {
        for service in ["fixed", "exponential"] {
            let series = series(&format!("kind = \"colloid\", quantum = \"{quantum}\""), service, requests);
            show(&format!("colloid, {quantum}, {service}"), &series);
            let found = settled(&series);
            let with_copies = found.requests_per_s + 3.0 * found.moves_per_s;
            assert!(found.requests_per_s > 1.25 * FAST, "{quantum}: {found:?}");
            assert!((0.9 * BOTH..FAST + SLOW).contains(&with_copies), "{quantum}: {found:?}");
            assert!(quantum == "10ms" || (0.85..1.15).contains(&found.slow_latency), "{quantum}: {found:?}");
            // With exponential times, half a second is too short to tell.
            if service == "fixed" {
                starts_cold(&series);
            }
        }
    }
}

/// Reads of second copies use both devices, and once the latencies are equal nothing is copied any more.
#[test]
fn most_uses_both_devices_and_comes_to_rest() {
    for service in ["fixed", "exponential"] {
        let series = series("kind = \"most\"", service, 160_000);
        show(&format!("most, {service}"), &series);
        let found = settled(&series);
        assert!(found.requests_per_s > 2700.0, "{found:?}");
        assert!(found.moves_per_s < 1.0, "{found:?}");
        if service == "fixed" {
            starts_cold(&series);
        }
    }
}
