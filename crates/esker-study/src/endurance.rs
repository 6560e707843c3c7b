//! Write amplification and lifetime of a flash design.
//!
//! A trace that writes less than one host capacity says little about wear: its writes are repeated, without waiting
//! times, until amplification has settled, or the report says that there are too few writes to judge.

use esker_core::{
    Arrival, Bytes, Completion, Control, FlashReport, Nanos, Observer, ReplaySettings, Request, Verdict, replay, words,
};

use crate::lifetime::{Wear, lifetime_years};
use crate::load::Workload;
use crate::model::Endurance;
use crate::simulate::{CLOSED_DEPTH, Run, changes, flash_report};
use crate::{Hooks, StudyError};

/// Amplification has settled when two stretches (half a host capacity, or one pass) differ by less than this.
const SETTLED: f64 = 0.02;
/// The most writes and trims that are repeated for one design.
const REPEATED_REQUESTS_MAX: u64 = 3_000_000;
/// The most host capacities that are written for one design.
const CAPACITIES_MAX: f64 = 4.0;
/// So many writes are kept at hand instead of being looked up among all requests in each pass.
const KEPT_MAX: u64 = 200_000;

/// What the workload writes per day, and how that grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    host_bytes_per_day: Option<f64>,
    growth_per_year: f64,
}

impl Rates {
    /// At the workload's mean rate.
    pub(crate) fn of(workload: &Workload, growth_per_year: f64) -> Self {
        let duration = workload.profile.duration_s.filter(|&seconds| workload.has_times && seconds > 0.0);
        let host_bytes_per_day = duration.map(|seconds| workload.profile.write_bytes as f64 / seconds * 86_400.0);
        Self { host_bytes_per_day, growth_per_year }
    }
}

/// Counters of a stretch of writing.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    host: u64,
    programs: u64,
    cleaning: u64,
}

impl Stretch {
    fn of(flash: &FlashReport) -> Self {
        Self { host: flash.host_page_writes, programs: flash.programs.total(), cleaning: flash.programs.cleaning }
    }
    fn amplification(self) -> Option<f64> {
        (self.host > 0).then(|| self.programs as f64 / self.host as f64)
    }
}

/// Judges wear after the measured run; `flash` are that run's counters, `sold` the raw bytes of the drive as sold.
pub(crate) fn judge(
    workload: &Workload,
    run: &mut Run,
    flash: &FlashReport,
    sold: Bytes,
    rates: &Rates,
    hooks: &Hooks<'_>,
) -> Result<Endurance, StudyError> {
    let host_pages = flash.pages.host.max(1);
    let capacities = |pages: u64| pages as f64 / host_pages as f64;
    let first = Stretch::of(flash);
    let written = capacities(first.host);
    let (mut verdict, mut passes) = (first, 1);
    let (judged, basis) = if first.host == 0 {
        (true, "The trace writes nothing.".to_string())
    } else if written >= 1.0 {
        (true, format!("The trace writes the design's host capacity {} times.", words::factor(written)))
    } else if changes_per_pass(workload) as f64 / written > REPEATED_REQUESTS_MAX as f64 {
        let passes = words::count((1.0 / written) as u64);
        (
            false,
            format!(
                "Too few writes to judge endurance: it would take {passes} passes of the trace to write the host capacity once."
            ),
        )
    } else {
        let settled = repeat(workload, run, first, host_pages, hooks)?;
        passes = settled.passes;
        verdict = settled.last;
        let total = words::factor(written + capacities(settled.total));
        if settled.steady {
            (
                true,
                format!(
                    "The trace's writes were repeated {passes} times ({total} host capacities), until write amplification settled within {}.",
                    words::percent(SETTLED)
                ),
            )
        } else {
            (
                false,
                format!(
                    "Too few writes to judge endurance: {passes} passes wrote {total} times the host capacity and amplification had not settled."
                ),
            )
        }
    };
    let write_amplification = verdict.amplification();
    let simulated_raw = Bytes(flash.pages.raw * page_bytes(run, host_pages));
    let raw = sold.max(simulated_raw);
    // The host's share of the raw pages is that of the simulated part.
    let capacity =
        (u128::from(raw.0) * u128::from(run.device.capacity().0) / u128::from(simulated_raw.0.max(1))) as u64;
    let host_bytes_per_day = rates.host_bytes_per_day;
    let lifetime = host_bytes_per_day.filter(|_| judged).map(|host_bytes_per_day| {
        // Partial pages cost whole programs: count pages, not bytes.
        let pages_per_byte = if workload.profile.write_bytes > 0 {
            first.host as f64 / workload.profile.write_bytes as f64
        } else {
            0.0
        };
        lifetime_years(&Wear {
            raw,
            rated_cycles: flash.endurance_cycles,
            write_amplification: write_amplification.unwrap_or(1.0),
            host_bytes_per_day: host_bytes_per_day * pages_per_byte * page_bytes(run, host_pages) as f64,
            growth_per_year: rates.growth_per_year,
        })
    });
    Ok(Endurance {
        write_amplification,
        judged,
        basis,
        passes,
        host_bytes_per_day,
        drive_writes_per_day: host_bytes_per_day.map(|bytes| bytes / capacity.max(1) as f64),
        lifetime_capacity_bytes: capacity,
        lifetime_years: lifetime.map(|(years, _)| years),
        lifetime_is_lower_bound: lifetime.is_some_and(|(_, bounded)| bounded),
        rated_cycles: flash.endurance_cycles,
        cleaning_share: if verdict.programs > 0 { verdict.cleaning as f64 / verdict.programs as f64 } else { 0.0 },
    })
}

fn page_bytes(run: &Run, host_pages: u64) -> u64 {
    run.device.capacity().0 / host_pages
}

fn changes_per_pass(workload: &Workload) -> u64 {
    workload.profile.requests - workload.profile.read_requests
}

/// How repeating ended.
struct Settled {
    passes: u32,
    /// Pages that the repeated passes wrote.
    total: u64,
    /// The last stretch.
    last: Stretch,
    steady: bool,
}

/// Repeats the workload's writes, in stretches of half a host capacity or one pass, until amplification settles or the
/// bounds are reached. `first` is what one pass writes.
fn repeat(
    workload: &Workload,
    run: &mut Run,
    first: Stretch,
    host_pages: u64,
    hooks: &Hooks<'_>,
) -> Result<Settled, StudyError> {
    let mut now = run.replay.last_event;
    let per_pass = changes_per_pass(workload);
    let passes_per_stretch = (host_pages / 2).div_ceil(first.host).max(1);
    let kept: Option<Vec<Arrival>> = (per_pass <= KEPT_MAX).then(|| changes(workload).collect());
    let mut settled = Settled { passes: 1, total: 0, last: first, steady: false };
    let mut before: Option<f64> = None;
    let mut requests = 0;
    while requests < REPEATED_REQUESTS_MAX && (settled.total as f64) < CAPACITIES_MAX * host_pages as f64 {
        run.device.control(now, Control::StartMeasuring).map_err(StudyError::design)?;
        let stretch: Box<dyn Iterator<Item = Arrival> + '_> = match &kept {
            Some(kept) => Box::new((0..passes_per_stretch).flat_map(|_| kept.iter().copied())),
            None => Box::new((0..passes_per_stretch).flat_map(|_| changes(workload))),
        };
        let mut wear = WearOnly { requests: 0, cancelled: hooks };
        let settings = ReplaySettings { start: now, ..ReplaySettings::closed(CLOSED_DEPTH as usize) };
        let replayed = replay(&mut run.device, stretch, &settings, &mut wear).map_err(StudyError::design)?;
        hooks.check()?;
        now = replayed.last_event;
        settled.passes += passes_per_stretch as u32;
        requests += wear.requests;
        let Some(flash) = flash_report(&*run.device) else { break };
        let stretch = Stretch::of(&flash);
        if stretch.host == 0 {
            break;
        }
        settled.total += stretch.host;
        settled.last = stretch;
        let amplification = stretch.amplification();
        if let (Some(before), Some(now)) = (before, amplification)
            && settled.total >= host_pages
            && (now / before - 1.0).abs() <= SETTLED
        {
            settled.steady = true;
            break;
        }
        before = amplification;
    }
    Ok(settled)
}

/// Counts, and looks for Ctrl-C.
struct WearOnly<'a> {
    requests: u64,
    cancelled: &'a Hooks<'a>,
}

impl Observer for WearOnly<'_> {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        self.requests += 1;
        if self.requests.is_multiple_of(65_536) && self.cancelled.cancelled() {
            return Verdict::Stop;
        }
        Verdict::Continue
    }
}
