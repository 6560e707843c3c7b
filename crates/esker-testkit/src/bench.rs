//! Times benchmarks: processor time of the process, best of several runs, one line per benchmark.
//!
//! ```no_run
//! esker_testkit::Bench::new("page FTL, random 4 KiB reads").rate("requests", || {
//!     let requests = 1_000_000; // ... serve them
//!     requests
//! });
//! ```

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Processor time that this process has used on all threads.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// One measured rate.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What was measured.
    pub name: String,
    /// What is counted: "requests", "bytes"...
    pub unit: &'static str,
    /// Units per second of processor time, best of all runs.
    pub per_processor_s: f64,
    /// Units per second of wall-clock time in the same run.
    pub per_wall_s: f64,
    /// Number of runs.
    pub runs: u32,
}

/// One benchmark. `ESKER_BENCH_RUNS` sets the number of runs (default 3). `ESKER_BENCH_ONLY` selects the benchmarks
/// whose names contain it. With `ESKER_BENCH_SMOKE` each benchmark makes one short run, whose figures mean nothing.
#[derive(Debug)]
pub struct Bench {
    name: String,
    runs: u32,
    skip: bool,
}

impl Bench {
    /// A benchmark called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let runs = std::env::var("ESKER_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(3).max(1);
        let runs = if Self::is_smoke() { 1 } else { runs };
        let skip = std::env::var("ESKER_BENCH_ONLY").is_ok_and(|only| !name.contains(&only));
        Self { name, runs, skip }
    }

    /// Whether benchmarks only have to run, without meaningful figures.
    pub fn is_smoke() -> bool {
        std::env::var_os("ESKER_BENCH_SMOKE").is_some()
    }

    /// Runs `work`, which returns how many units it did. Prints and returns the best rate.
    pub fn rate(self, unit: &'static str, mut work: impl FnMut() -> u64) -> Option<Measurement> {
        self.rate_with_setup(unit, || (), |()| work())
    }

    /// Like [`Self::rate`], with a set-up before each run that is not timed.
    #[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    pub fn rate_with_setup<S>(
        self,
        unit: &'static str,
        mut setup: impl FnMut() -> S,
        mut work: impl FnMut(S) -> u64,
    ) -> Option<Measurement> {
        if self.skip {
            return None;
        }
        let mut best: Option<Measurement> = None;
        for _ in 0..self.runs {
            let state = setup();
            let (wall, processor) = (Instant::now(), processor_time());
            let units = work(state) as f64;
            let processor = (processor_time() - processor).as_secs_f64().max(1e-9);
            let wall = wall.elapsed().as_secs_f64().max(1e-9);
            let rate = units / processor;
            if best.as_ref().is_none_or(|best| rate > best.per_processor_s) {
                best = Some(Measurement {
                    name: self.name.clone(),
                    unit,
                    per_processor_s: rate,
                    per_wall_s: units / wall,
                    runs: self.runs,
                });
            }
        }
        let best = best?;
        println!("{:<64} {:>16} {unit}/CPU-s", best.name, thousands(best.per_processor_s));
        Some(best)
    }
}

fn thousands(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
