//! Flash caches in parts: clean and dirty lines, and volumes.

use esker_core::{Nanos, Rng};
use esker_results::{CachePartition, FlashCacheReport, RunResults};
use esker_sim::{Experiment, RunOptions, Workload, run_workload};
use esker_trace::{Operation, Record, VolumeIndex};

/// Bytes of a line.
const LINE: u64 = 4096;

/// Requests of a line each, one at a time, to a cache on 8 MiB of flash in front of a disk of 5 ms. `keys` are more
/// keys of the cache.
fn text(keys: &str) -> String {
    format!(
        "[workload]\ntrace = \"none\"\nqueue_depth = 1\n\
         [device.flash]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"8MiB\"\n\
         [device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"256MiB\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\nwrite = \"write-back\"\n\
         dirty_low = \"100%\"\ndirty_high = \"100%\"\n{keys}\n\
         [run]\ntarget = \"volume\"\n"
    )
}

fn results(records: &[Record], volumes: usize, keys: &str) -> RunResults {
    let names = (0..volumes).map(|volume| volume.to_string()).collect();
    let workload = Workload::from_records(records.iter().copied(), names).unwrap();
    run_workload(&Experiment::from_str(&text(keys), "x.toml").unwrap(), &workload, &RunOptions::default()).unwrap()
}

fn cache(results: &RunResults) -> &FlashCacheReport {
    results.devices["volume"].flash_cache.as_ref().unwrap()
}

fn partition(results: &RunResults) -> &CachePartition {
    cache(results).partition.as_ref().unwrap()
}

/// Which lines are used: `lines` lines from `first` on. Lines near the first are used more often: the place is a
/// uniform random number to the power `power`.
#[derive(Clone, Copy)]
struct Locality {
    first: u64,
    lines: u64,
    power: i32,
}

impl Locality {
    fn draw(&self, rng: &mut Rng) -> u64 {
        self.first + (rng.unit().powi(self.power) * self.lines as f64) as u64
    }
}

const fn lines(first: u64, lines: u64, power: i32) -> Locality {
    Locality { first, lines, power }
}

/// Reads of a hundred requests, and the lines that are read and written.
#[derive(Clone, Copy)]
struct Mix {
    reads: u64,
    read: Locality,
    written: Locality,
}

/// The requests of several phases in turn, each for a number of requests.
struct Requests {
    name: &'static str,
    phases: &'static [Mix],
    phase: usize,
}

const READ_MOSTLY: Mix = Mix { reads: 90, read: lines(0, 8192, 3), written: lines(20_000, 1024, 2) };
const WRITE_MOSTLY: Mix = Mix { reads: 20, read: lines(0, 1024, 2), written: lines(20_000, 8192, 3) };

const MIXES: [Requests; 5] = [
    Requests { name: "90/10", phases: &[READ_MOSTLY], phase: 1 },
    // The same lines are read and written.
    Requests {
        name: "70/30",
        phases: &[Mix { reads: 70, read: lines(0, 8192, 3), written: lines(0, 8192, 3) }],
        phase: 1,
    },
    // Hardly any line that is read is read again.
    Requests {
        name: "50/50",
        phases: &[Mix { reads: 50, read: lines(0, 60_000, 1), written: lines(20_000, 4096, 2) }],
        phase: 1,
    },
    Requests { name: "20/80", phases: &[WRITE_MOSTLY], phase: 1 },
    Requests { name: "shifting", phases: &[READ_MOSTLY, WRITE_MOSTLY], phase: 40_000 },
];

impl Requests {
    fn records(&self, requests: usize) -> Vec<Record> {
        let mut rng = Rng::new(14);
        let record = |number: usize| {
            let Mix { reads, read, written } = self.phases[number / self.phase % self.phases.len()];
            let is_read = rng.below(100) < reads;
            let line = if is_read { read } else { written }.draw(&mut rng);
            Record {
                at: Nanos(number as u64),
                offset: line * LINE,
                length: LINE as u32,
                volume: VolumeIndex(0),
                operation: if is_read { Operation::Read } else { Operation::Write },
                response: None,
            }
        };
        (0..requests).map(record).collect()
    }
}

/// Requests to the disk for each of the host's, with those for lines that have yet to be copied back.
fn cost(results: &RunResults, requests: usize) -> f64 {
    let disk = results.devices["volume"].children["disk"].requests;
    (disk + cache(results).dirty_lines) as f64 / requests as f64
}

fn mean_us(results: &RunResults) -> f64 {
    results.requests.all.response_time.mean_us
}

/// The cache's own split against fixed ones and against one queue for all lines, the first window included.
/// With `ESKER_SOAK=2`, `--nocapture` shows the table of docs/flash-cache-device.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints the table of the documentation")]
fn a_cache_finds_its_split() {
    const REQUESTS: usize = 160_000;
    let (mixes, step): (&[Requests], usize) = match esker_testkit::soak() > 1 {
        true => (&MIXES, 10),
        false => (&MIXES[3..], 20),
    };
    for mix in mixes {
        let records = mix.records(REQUESTS);
        let of = |keys: &str| {
            let results = results(&records, 1, keys);
            (cost(&results, REQUESTS), results)
        };
        let fixed: Vec<(f64, f64)> = (10..=90)
            .step_by(step)
            .map(|written| {
                let shares = format!("shares = [\"{}%\", \"{written}%\"]", 100 - written);
                let (cost, results) = of(&format!("partition = {{ by = \"access\", {shares} }}"));
                (cost, mean_us(&results))
            })
            .collect();
        let (own, results) = of("partition = { by = \"access\" }");
        let (whole, one_queue) = of("");
        let chosen: Vec<f64> =
            partition(&results).windows.iter().map(|window| (window.shares[1] * 100.0).round()).collect();
        let best = fixed.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
        let fastest = fixed.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        let row: Vec<String> = fixed.iter().map(|one| format!("{:.4}", one.0)).collect();
        println!("{}: {} own {own:.4} ({:.3}), one queue {whole:.4}", mix.name, row.join(" "), own / best);
        let times = [mean_us(&results) / fastest, mean_us(&one_queue) / fastest];
        println!("    time over the best split's: {times:.3?}; {chosen:?}");
        assert!(chosen.len() >= 20, "{}: {chosen:?}", mix.name);
        assert!(own < 1.03 * best, "{}: {own}, {best} with the best fixed split", mix.name);
    }
}

/// A volume: how often it is used, of a hundred requests, and its lines. `None`: one after the other, round after
/// round.
type Volume = (u64, u64, Option<i32>);

/// Requests to several volumes, half of them reads.
fn volumes_records(requests: usize, phases: &[&[Volume]], phase: usize) -> Vec<Record> {
    let mut rng = Rng::new(5);
    let mut rounds = vec![0; phases[0].len()];
    let record = |number: usize| {
        let volumes = phases[number / phase % phases.len()];
        let mut drawn = rng.below(100);
        let place = volumes.iter().position(|&(often, ..)| {
            let found = drawn < often;
            drawn = drawn.saturating_sub(often);
            found
        });
        let place = place.unwrap_or(0);
        let (_, lines, power) = volumes[place];
        let line = match power {
            Some(power) => (rng.unit().powi(power) * lines as f64) as u64,
            None => {
                rounds[place] = (rounds[place] + 1) % lines;
                rounds[place]
            }
        };
        Record {
            at: Nanos(number as u64),
            offset: line * LINE,
            length: LINE as u32,
            volume: VolumeIndex(place as u32),
            operation: if rng.chance(1, 2) { Operation::Read } else { Operation::Write },
            response: None,
        }
    };
    (0..requests).map(record).collect()
}

/// Volumes of a shared cache: some lines used often, few and often, anywhere in many, and one after the other.
const SKEWED: Volume = (35, 8192, Some(3));
const SMALL: Volume = (15, 300, Some(1));
const ANYWHERE: Volume = (30, 16_000, Some(1));
const ROUND: Volume = (20, 700, None);

/// (name, phases, requests of a phase)
const SHARED: [(&str, &[&[Volume]], usize); 4] = [
    ("skewed and anywhere", &[&[(50, 8192, Some(3)), (50, 16_000, Some(1))]], 1),
    ("four volumes", &[&[SKEWED, SMALL, ANYWHERE, ROUND]], 1),
    ("a round that does not fit", &[&[(60, 6000, Some(2)), (40, 2500, None)]], 1),
    (
        "shifting",
        &[
            &[(45, 8192, Some(3)), (45, 16_000, Some(1)), (10, 600, None)],
            &[(10, 8192, Some(3)), (45, 3000, Some(2)), (45, 1200, None)],
        ],
        40_000,
    ),
];

/// Shares by the volumes' curves against one queue for all lines and against equal shares, the first window included.
/// With `ESKER_SOAK=2`, `--nocapture` shows the table of docs/flash-cache-device.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints the table of the documentation")]
fn volumes_get_the_shares_that_miss_least() {
    const REQUESTS: usize = 160_000;
    let shared = if esker_testkit::soak() > 1 { &SHARED[..] } else { &SHARED[2..] };
    for &(name, phases, phase) in shared {
        let records = volumes_records(REQUESTS, phases, phase);
        let volumes = phases[0].len();
        let of = |keys: &str| results(&records, volumes, keys);
        let ratio = |results: &RunResults| cache(results).misses as f64 / REQUESTS as f64;
        let equal = (0..volumes).map(|place| {
            let percent = 100 / volumes + usize::from(place < 100 % volumes);
            format!("\"{percent}%\"")
        });
        let shares = equal.collect::<Vec<_>>().join(", ");
        let one_queue = ratio(&of(""));
        let equal = ratio(&of(&format!("partition = {{ by = \"volume\", shares = [{shares}] }}")));
        let run = of("partition = { by = \"volume\" }");
        let own = ratio(&run);
        let partition = partition(&run);
        let last = &partition.windows.last().unwrap().shares;
        println!("{name}: one queue {one_queue:.4}, equal {equal:.4}, own {own:.4}; {last:.2?}");
        assert!(partition.windows.len() >= 20, "{name}");
        assert!(own < 1.01 * one_queue.min(equal), "{name}: {own}, one queue {one_queue}, equal {equal}");
        for window in &partition.windows {
            assert!((window.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{name}: {window:?}");
            let least = 0.1 / volumes as f64 - 1e-9;
            assert!(window.shares.iter().all(|&share| share >= least), "{name}: {window:?}");
        }
        let lines: u64 = partition.parts.iter().map(|part| part.share_lines).sum();
        assert_eq!(lines, 2048 - 64, "the policy may hold all but the reserve");
        let misses: u64 = partition.parts.iter().map(|part| part.misses).sum();
        assert_eq!(misses, cache(&run).misses, "{name}");
    }
}
