//! Long-run write amplification.
//!
//! A trace that writes less than one host capacity says little about wear. So its writes are repeated without idle
//! times until write amplification has settled, or the results state that there are too few writes to judge.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_config::ConfigError;
use esker_core::{
    Arrival, Completion, Control, Nanos, Observer, Problem, ReplaySettings, Request, RequestKind, Verdict, replay,
};
use esker_results::{FlashReport, Report, Reporting, SettledResults, Settling};

use super::Simulation;
use super::watched::watched;
use crate::config::SettleSettings;
use crate::run_error::RunError;
use crate::workload::Workload;

/// Up to this many requests are kept instead of being generated for each pass.
const KEPT_MAX: usize = 200_000;

/// A pass that writes less than this many times what the write buffers hold is not repeated: a tenth or more of its
/// pages could overwrite those of the pass before in the buffer, which no workload does by itself.
const BUFFERS_MIN: u64 = 10;

/// Flash counters during a stretch of writes, summed over all drives of a tree.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    host: u64,
    programs: u64,
    cleaning: u64,
    host_pages: u64,
    /// Pages that the write buffers hold.
    buffered_max: u64,
}

impl Stretch {
    /// Returns the counts of `device` since measuring started; `None` if no part of it is flash.
    fn of(device: &dyn Reporting) -> Option<Self> {
        let report = Report::of(device);
        let drives = report.devices.values().filter_map(|device| device.flash.as_ref());
        let add = |sum: Option<Self>, flash: &FlashReport| {
            let sum = sum.unwrap_or_default();
            Some(Self {
                host: sum.host + flash.host_page_writes,
                programs: sum.programs + flash.programs.total(),
                cleaning: sum.cleaning + flash.programs.cleaning,
                host_pages: sum.host_pages + flash.pages.host,
                buffered_max: sum.buffered_max + flash.write_buffer.map_or(0, |buffer| buffer.pages_max),
            })
        };
        drives.fold(None, add)
    }

    fn amplification(self) -> Option<f64> {
        (self.host > 0).then(|| self.programs as f64 / self.host as f64)
    }

    fn capacities(self, pages: u64) -> f64 {
        pages as f64 / self.host_pages.max(1) as f64
    }

    /// Returns the results if nothing (more) is repeated.
    fn results(self, outcome: Settling, passes: u32, pages_written: u64) -> SettledResults {
        SettledResults {
            outcome,
            write_amplification: self.amplification(),
            cleaning_share: if self.programs > 0 { self.cleaning as f64 / self.programs as f64 } else { 0.0 },
            passes,
            capacities_written: self.capacities(pages_written),
        }
    }
}

impl Simulation {
    /// Goes on after the measured run: repeats the requests of `workload` that change flash until write amplification
    /// settles. Returns `None` if the experiment does not ask for that (`run.settle`).
    ///
    /// # Errors
    /// The target has no flash, a replay cannot go on, or `cancel` was set.
    pub fn settle(
        &mut self,
        workload: &Workload,
        cancel: Option<&AtomicBool>,
    ) -> Result<Option<SettledResults>, RunError> {
        let Some(settings) = self.experiment.run.settle.clone() else { return Ok(None) };
        let Some(first) = Stretch::of(&*self.device) else {
            let message = format!(
                "no part of the target `{}` is flash, so there is nothing to settle",
                self.experiment.system.target()
            );
            let problem = Problem::with_hint(message, "leave it out");
            return Err(self.experiment.located(ConfigError::new("run.settle", problem)).into());
        };
        let written = first.capacities(first.host);
        if first.host == 0 {
            return Ok(Some(first.results(Settling::NothingWritten, 1, 0)));
        }
        if written >= 1.0 {
            return Ok(Some(first.results(Settling::OnePassIsEnough, 1, first.host)));
        }
        if first.host < BUFFERS_MIN * first.buffered_max {
            return Ok(Some(first.results(Settling::MostlyBuffered, 1, first.host)));
        }
        let (capacity, laid_out, ignored) = (self.device.capacity(), self.experiment.workload.clone(), Cell::default());
        let with_reads = self.experiment.system.reads_change_flash();
        let pass = Pass::new(|| {
            let all = workload.arrivals(capacity, &laid_out, &ignored).expect("the measured run had the same");
            all.filter(move |arrival| with_reads || arrival.request.kind != RequestKind::Read)
        });
        if pass.requests as f64 / written > settings.requests_max as f64 {
            return Ok(Some(first.results(Settling::TooFewWrites, 1, first.host)));
        }
        let mut go_on = |_| !cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        self.repeat(&settings, first, &pass, &mut go_on).map(Some)
    }

    fn repeat<I: Iterator<Item = Arrival>, F: Fn() -> I>(
        &mut self,
        settings: &SettleSettings,
        first: Stretch,
        pass: &Pass<F>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<SettledResults, RunError> {
        let Self { device, now, .. } = self;
        let passes_per_stretch = (first.host_pages / 2).div_ceil(first.host).max(1);
        let (mut passes, mut requests, mut pages, mut last) = (1u32, 0, 0, first);
        let mut before: Option<f64> = None;
        let mut outcome = Settling::NotSettled;
        let capacities_max = f64::from(settings.capacities_max.get());
        while requests < settings.requests_max && first.capacities(pages) < capacities_max {
            device.control(*now, Control::StartMeasuring)?;
            let closed = ReplaySettings { start: *now, ..ReplaySettings::closed(settings.queue_depth.get() as usize) };
            let replayed = watched(&mut Unobserved, go_on, |observer| {
                replay(&mut **device, pass.times(passes_per_stretch), &closed, observer)
            })?;
            *now = replayed.last_event;
            requests += replayed.completed;
            passes = passes.saturating_add(u32::try_from(passes_per_stretch).unwrap_or(u32::MAX));
            let Some(stretch) = Stretch::of(&**device).filter(|stretch| stretch.host > 0) else { break };
            pages += stretch.host;
            last = stretch;
            let amplification = stretch.amplification();
            if let (Some(before), Some(now)) = (before, amplification)
                && pages >= first.host_pages
                && (now / before - 1.0).abs() <= settings.within.as_f64()
            {
                outcome = Settling::Settled;
                break;
            }
            before = amplification;
        }
        Ok(last.results(outcome, passes, first.host + pages))
    }
}

/// The requests of one pass.
struct Pass<F> {
    changes: F,
    requests: u64,
    /// All of them, if they are few.
    kept: Option<Vec<Arrival>>,
}

impl<I: Iterator<Item = Arrival>, F: Fn() -> I> Pass<F> {
    fn new(changes: F) -> Self {
        let mut all = changes();
        let kept: Vec<Arrival> = all.by_ref().take(KEPT_MAX).collect();
        let more = all.count();
        Self { changes, requests: (kept.len() + more) as u64, kept: (more == 0).then_some(kept) }
    }

    fn times<'a>(&'a self, passes: u64) -> Box<dyn Iterator<Item = Arrival> + 'a>
    where
        I: 'a,
    {
        match &self.kept {
            Some(kept) => Box::new((0..passes).flat_map(|_| kept.iter().copied())),
            None => Box::new((0..passes).flat_map(|_| (self.changes)())),
        }
    }
}

/// Looks at no request.
struct Unobserved;

impl Observer<dyn Reporting> for Unobserved {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}
