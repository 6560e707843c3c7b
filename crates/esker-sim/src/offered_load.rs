//! Loads that rise step by step on one device, as benchmarks of servers raise theirs.

use esker_core::{
    Arrival, Completion, LatencyHistogram, Nanos, Observer, ReplayEnd, Request, RequestKind, Rng, Verdict,
};
use esker_results::ChildResponses;

use crate::run_error::RunError;
use crate::simulation::Simulation;

/// Offers requests to the target of a simulation at chosen rates, one step after the other, with Poisson arrivals. What
/// the devices have learned in one step they still know in the next.
///
/// A step ends when all its requests have ended, or when more requests wait than `run.backlog_limit` of the experiment:
/// then the target cannot carry the load, and is of no further use.
pub struct OfferedLoad<I> {
    requests: I,
    gaps: Rng,
}

/// The result of one step.
#[derive(Clone, Debug)]
pub struct LoadStep {
    /// Offered requests per second.
    pub per_s: f64,
    /// Mean response time of measured requests, in milliseconds; infinite if the device could not carry the load.
    pub mean_ms: f64,
    /// Mean response time of measured reads, in milliseconds.
    pub read_ms: f64,
    /// Mean response time of measured writes, in milliseconds.
    pub write_ms: f64,
    /// Measured bytes that were read.
    pub read_bytes: u64,
    /// Measured bytes that were written.
    pub write_bytes: u64,
    /// For each child of the device, requests of the step and their response times.
    pub children: Vec<ChildResponses>,
    /// Requests that failed.
    pub errors: u64,
}

/// Rates that rise by a factor from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    /// Requests per second of the first step.
    pub first_per_s: f64,
    /// No step offers more than this.
    pub last_per_s: f64,
    /// From each rate to the next, more than one.
    pub factor: f64,
    /// Requests of each step that are not measured.
    pub warm_up: u64,
    /// Requests of each step that are measured.
    pub measured: u64,
    /// The last step is the first one whose mean response time is longer than this, in milliseconds.
    pub limit_ms: f64,
}

impl Ladder {
    /// The offered rate at which the mean response time of `steps` reaches the limit, on a straight line between the
    /// last step below and the first one above; the last step below if the next one saturates or there is none.
    pub fn highest_per_s(&self, steps: &[LoadStep]) -> f64 {
        let Some(above) = steps.iter().position(|step| step.mean_ms > self.limit_ms) else {
            return steps.last().map_or(0.0, |step| step.per_s);
        };
        let Some(below) = above.checked_sub(1).map(|below| &steps[below]) else { return 0.0 };
        let above = &steps[above];
        let part = (self.limit_ms - below.mean_ms) / (above.mean_ms - below.mean_ms);
        below.per_s + part * (above.per_s - below.per_s)
    }
}

impl<I: Iterator<Item = Request>> OfferedLoad<I> {
    /// Offers `requests` in their order; `seed` draws the gaps between them.
    pub fn new(requests: I, seed: u64) -> Self {
        Self { requests, gaps: Rng::derive(seed, "gaps of offered load") }
    }

    /// Offers the next `warm_up` requests and then `measured` ones, `per_s` a second, and waits for their end. `go_on`
    /// is called with the number of ended requests, and stops the step if it returns false.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] if `go_on` said so, or an error of the replay.
    pub fn offer(
        &mut self,
        simulation: &mut Simulation,
        per_s: f64,
        (warm_up, measured): (u64, u64),
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<LoadStep, RunError> {
        if !go_on(0) {
            return Err(RunError::Cancelled);
        }
        let responses = |simulation: &Simulation| {
            simulation.device().composite().map_or_else(Vec::new, |composite| composite.child_responses())
        };
        let before = responses(simulation);
        let mut observer = StepObserver { warm_up, ..StepObserver::default() };
        let (requests, gaps, mut at) = (&mut self.requests, &mut self.gaps, Nanos::ZERO);
        let count = usize::try_from(warm_up + measured).unwrap_or(usize::MAX);
        let arrivals = requests.take(count).map(|request| {
            at += Nanos(gaps.exponential(1e9 / per_s) as u64);
            Arrival { at, request }
        });
        let replay = simulation.play(arrivals, &mut observer, go_on)?;
        let saturated = replay.end != ReplayEnd::Complete;
        let children = responses(simulation).into_iter().enumerate().map(|(child, now)| {
            let before = before.get(child).copied().unwrap_or_default();
            ChildResponses {
                requests: now.requests - before.requests,
                nanoseconds: now.nanoseconds - before.nanoseconds,
            }
        });
        let StepObserver { reads, writes, read_bytes, write_bytes, errors, .. } = observer;
        let mean = |of: &[&LatencyHistogram]| {
            let count: u64 = of.iter().map(|times| times.count()).sum();
            let sum: f64 = of.iter().map(|times| times.mean() * times.count() as f64).sum();
            if count == 0 { 0.0 } else { sum / count as f64 / 1e6 }
        };
        Ok(LoadStep {
            per_s,
            mean_ms: if saturated { f64::INFINITY } else { mean(&[&reads, &writes]) },
            read_ms: mean(&[&reads]),
            write_ms: mean(&[&writes]),
            read_bytes,
            write_bytes,
            children: children.collect(),
            errors,
        })
    }

    /// Climbs `ladder` until its limit, its last rate, or the end of the requests.
    ///
    /// # Errors
    /// As of [`OfferedLoad::offer`].
    pub fn climb(
        &mut self,
        simulation: &mut Simulation,
        ladder: &Ladder,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Vec<LoadStep>, RunError> {
        let mut steps: Vec<LoadStep> = Vec::new();
        let mut per_s = ladder.first_per_s;
        while per_s <= ladder.last_per_s && steps.last().is_none_or(|step| step.mean_ms <= ladder.limit_ms) {
            steps.push(self.offer(simulation, per_s, (ladder.warm_up, ladder.measured), go_on)?);
            per_s *= ladder.factor;
        }
        Ok(steps)
    }
}

#[derive(Default)]
struct StepObserver {
    warm_up: u64,
    ended: u64,
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    read_bytes: u64,
    write_bytes: u64,
    errors: u64,
}

impl<D: ?Sized> Observer<D> for StepObserver {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.ended += 1;
        self.errors += u64::from(completion.result.is_err());
        if self.ended > self.warm_up {
            let (times, bytes) = match request.kind {
                RequestKind::Read => (&mut self.reads, &mut self.read_bytes),
                _ => (&mut self.writes, &mut self.write_bytes),
            };
            times.record(completion.at - arrival);
            *bytes += request.length.0;
        }
        Verdict::Continue
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba};

    use super::*;
    use crate::Experiment;

    fn simulation() -> Simulation {
        let text = "[workload]\nsynthetic = { requests = 1 }\n[device.d]\nkind = \"constant\"\n\
                    service_time = \"1ms\"\nservice = \"exponential\"\ncapacity = \"1MiB\"\n[run]\ntarget = \"d\"\n\
                    backlog_limit = 5000\n";
        Simulation::new(Experiment::from_str(text, "x.toml").unwrap()).unwrap()
    }

    fn load() -> OfferedLoad<impl Iterator<Item = Request>> {
        OfferedLoad::new(std::iter::repeat(Request::read(Lba(0), Bytes::kib(4))), 1)
    }

    /// One station with exponential service: the mean response is 1 / (1,000 - rate) seconds.
    #[test]
    fn response_times_are_those_of_a_queue() {
        let (mut simulation, mut load) = (simulation(), load());
        for (per_s, mean_ms) in [(200.0, 1.25), (500.0, 2.0), (750.0, 4.0)] {
            let step = load.offer(&mut simulation, per_s, (2_000, 100_000), &mut |_| true).unwrap();
            assert!((step.mean_ms / mean_ms - 1.0).abs() < 0.06, "{per_s}/s: {step:?}");
            assert_eq!((step.errors, step.read_bytes, step.write_bytes), (0, 100_000 * 4096, 0));
        }
        let step = load.offer(&mut simulation, 2_000.0, (0, 50_000), &mut |_| true).unwrap();
        assert!(step.mean_ms.is_infinite(), "{step:?}");
    }

    #[test]
    fn a_ladder_ends_above_its_limit_and_finds_the_rate() {
        let ladder = Ladder {
            first_per_s: 500.0,
            last_per_s: 5_000.0,
            factor: 1.05,
            warm_up: 2_000,
            measured: 60_000,
            limit_ms: 5.0,
        };
        let steps = load().climb(&mut simulation(), &ladder, &mut |_| true).unwrap();
        // 5 ms are 800 a second.
        let highest = ladder.highest_per_s(&steps);
        assert!((highest / 800.0 - 1.0).abs() < 0.03, "{highest}");
        assert!(steps.last().is_some_and(|step| step.mean_ms > 5.0));
        let short = Ladder { last_per_s: 600.0, ..ladder };
        let steps = load().climb(&mut simulation(), &short, &mut |_| true).unwrap();
        assert!(short.highest_per_s(&steps) <= 600.0 && steps.len() == 4);
        assert_eq!(Ladder { limit_ms: 0.1, ..ladder }.highest_per_s(&steps), 0.0);
    }

    #[test]
    fn a_step_can_be_stopped() {
        let stopped = load().offer(&mut simulation(), 100.0, (0, 10_000), &mut |_| false);
        assert!(matches!(stopped, Err(RunError::Cancelled)));
    }
}
