//! The virtual driver: it steps to the next arrival or the next internal event, whichever is earlier.

use thiserror::Error;

use crate::{Completion, Device, Nanos, Request, TagSlab, WaitingLine};

/// A request and its arrival time at the host's queue. Closed-loop replay ignores the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival; never before that of the request before it.
    pub at: Nanos,
    /// The request.
    pub request: Request,
}

/// How requests are fed to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySettings {
    /// Time at which the replay begins: zero, or the end of an earlier replay on the same device.
    pub start: Nanos,
    /// `None`: open loop, requests come at their arrival times. `Some(n)`: closed loop, always n requests under way.
    pub queue_depth: Option<usize>,
    /// Open loop: give up if a request has waited this long for a free slot of the device.
    pub wait_limit: Nanos,
    /// Open loop: give up if more than this many requests wait.
    pub backlog_limit: usize,
    /// Call [`Observer::sample`] at this interval, counted from `start`.
    pub sample_every: Option<Nanos>,
}

impl ReplaySettings {
    /// Open loop without bounds on waiting.
    pub const OPEN: Self = Self {
        start: Nanos::ZERO,
        queue_depth: None,
        wait_limit: Nanos::NEVER,
        backlog_limit: usize::MAX,
        sample_every: None,
    };

    /// Closed loop with `depth` requests under way.
    pub const fn closed(depth: usize) -> Self {
        Self { queue_depth: Some(depth), ..Self::OPEN }
    }
}

/// Whether the replay goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// End the replay here; requests under way are dropped.
    Stop,
}

/// Watches the replay as it runs.
pub trait Observer {
    /// A request that arrived at `arrival` has ended. In a closed loop a request arrives when it is submitted.
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict;

    /// A multiple of the sampling interval was reached; all events before it have been performed. `backlog` requests
    /// wait.
    fn sample(&mut self, now: Nanos, backlog: usize, device: &dyn Device) -> Verdict {
        let _ = (now, backlog, device);
        Verdict::Continue
    }
}

/// How a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayEnd {
    /// Every request was served.
    Complete,
    /// The observer stopped it.
    Stopped,
    /// The device could not keep up.
    Saturated {
        /// Time since which requests had been waiting without a break.
        since: Nanos,
        /// Requests that were waiting at the end.
        backlog: usize,
    },
    /// The device has requests under way but no event: a bug of the device, which is reported.
    Stalled {
        /// Requests under way.
        in_flight: usize,
    },
}

/// Result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How the replay ended.
    pub end: ReplayEnd,
    /// Time of the first arrival.
    pub first_arrival: Nanos,
    /// Time of the last arrival (closed loop: of the last submission).
    pub last_arrival: Nanos,
    /// Time of the last event.
    pub last_event: Nanos,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Largest number of requests that waited at one time.
    pub backlog_max: usize,
}

/// Why a replay cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// The device never gets past this instant.
    #[error("the device had more than {ROUNDS_MAX} events at {0} without time going on")]
    Livelock(Nanos),
    /// A request arrives later than simulated time can represent.
    #[error("request {request} arrives later than 292 years after the start of the run, where simulated time ends")]
    ArrivesTooLate {
        /// The number of the request, counted from one.
        request: u64,
    },
    /// A request ends later than simulated time can represent.
    #[error(
        "after {completed} requests the next ends later than 292 years after the start of the run, where simulated \
         time ends"
    )]
    EndsTooLate {
        /// Requests that had ended before.
        completed: u64,
    },
}

/// Far more steps than any device needs at one instant.
const ROUNDS_MAX: u32 = 10_000_000;

/// Feeds `arrivals` to `device` until all are served, and passes each completion to `observer`. Afterwards the device
/// may still have internal events, none of them earlier than the last completion.
///
/// The order at one instant: internal events, completions upward, arrivals last. Requests that find no free slot wait
/// in a [`WaitingLine`]: by priority, then first in, first out.
pub fn replay<D, I, O>(
    device: &mut D,
    arrivals: I,
    settings: &ReplaySettings,
    observer: &mut O,
) -> Result<Replay, ReplayError>
where
    D: Device,
    I: IntoIterator<Item = Arrival>,
    O: Observer,
{
    Driver {
        device,
        arrivals: arrivals.into_iter(),
        settings,
        observer,
        upcoming: None,
        waiting: WaitingLine::default(),
        in_flight: TagSlab::default(),
        done: Vec::new(),
        waiting_since: Nanos::NEVER,
        next_sample: settings.sample_every.map_or(Nanos::NEVER, |every| settings.start + every),
        summary: Replay {
            end: ReplayEnd::Complete,
            first_arrival: settings.start,
            last_arrival: settings.start,
            last_event: settings.start,
            arrived: 0,
            completed: 0,
            backlog_max: 0,
        },
        little: Little::default(),
    }
    .run()
}

struct Driver<'a, D, I, O> {
    device: &'a mut D,
    arrivals: I,
    settings: &'a ReplaySettings,
    observer: &'a mut O,
    upcoming: Option<Arrival>,
    waiting: WaitingLine<Request>,
    in_flight: TagSlab<Arrival>,
    done: Vec<Completion>,
    waiting_since: Nanos,
    next_sample: Nanos,
    summary: Replay,
    little: Little,
}

impl<D: Device, I: Iterator<Item = Arrival>, O: Observer> Driver<'_, D, I, O> {
    fn run(mut self) -> Result<Replay, ReplayError> {
        let mut now = self.settings.start;
        self.little.advance(now);
        self.upcoming = self.arrivals.next();
        if let (Some(first), None) = (self.upcoming, self.settings.queue_depth) {
            self.summary.first_arrival = first.at;
        }
        loop {
            let arrives = match (self.settings.queue_depth, self.upcoming) {
                (None, Some(arrival)) => arrival.at,
                (Some(depth), Some(_)) if self.in_flight.len() + self.waiting.len() < depth => now,
                _ => Nanos::NEVER,
            };
            // What the device still does on its own afterwards (such as cleaning) is not part of the run.
            if self.upcoming.is_none() && self.in_flight.is_empty() && self.waiting.is_empty() {
                break;
            }
            let next = arrives.min(self.device.next_event());
            if next == Nanos::NEVER {
                self.summary.end = ReplayEnd::Stalled { in_flight: self.in_flight.len() + self.waiting.len() };
                break;
            }
            assert!(next >= now, "time went back from {now} to {next}");
            if next > Nanos::LAST {
                return Err(self.too_late(arrives == next));
            }
            if self.sample_until(next) == Verdict::Stop {
                self.summary.end = ReplayEnd::Stopped;
                break;
            }
            now = next;
            self.little.advance(now);
            if self.step(now)? == Verdict::Stop {
                self.summary.end = ReplayEnd::Stopped;
                break;
            }
            self.take_arrivals(now);
            self.submit(now);
            self.summary.backlog_max = self.summary.backlog_max.max(self.waiting.len());
            if let Some(end) = self.saturated(now) {
                self.summary.end = end;
                break;
            }
        }
        self.summary.last_event = now;
        if self.summary.end == ReplayEnd::Complete {
            self.little.check();
        }
        Ok(self.summary)
    }

    #[inline]
    fn sample_until(&mut self, next: Nanos) -> Verdict {
        while self.next_sample <= next {
            let at = self.next_sample;
            if self.observer.sample(at, self.waiting.len(), &*self.device) == Verdict::Stop {
                return Verdict::Stop;
            }
            self.next_sample += self.settings.sample_every.expect("sampling is on");
        }
        Verdict::Continue
    }

    #[cold]
    fn too_late(&self, arrives: bool) -> ReplayError {
        if arrives {
            return ReplayError::ArrivesTooLate { request: self.summary.arrived + 1 };
        }
        ReplayError::EndsTooLate { completed: self.summary.completed }
    }

    /// Performs the internal events of this instant, then passes completions upward.
    #[inline]
    fn step(&mut self, now: Nanos) -> Result<Verdict, ReplayError> {
        let mut rounds = 0;
        while self.device.next_event() == now {
            self.device.advance(now, &mut self.done);
            rounds += 1;
            if rounds > ROUNDS_MAX {
                return Err(ReplayError::Livelock(now));
            }
        }
        for completion in self.done.drain(..) {
            let arrival = self.in_flight.remove(completion.tag);
            debug_assert_eq!(completion.at, now, "a completion came at another time than it says");
            debug_assert!(completion.service_start >= arrival.at && completion.service_start <= completion.at);
            self.summary.completed += 1;
            self.little.left(completion.at - arrival.at);
            if self.observer.completed(arrival.at, &arrival.request, &completion) == Verdict::Stop {
                return Ok(Verdict::Stop);
            }
        }
        Ok(Verdict::Continue)
    }

    #[inline]
    fn take_arrivals(&mut self, now: Nanos) {
        while let Some(arrival) = self.upcoming {
            let arrival = match self.settings.queue_depth {
                // A whole trace may arrive at one instant: take no more of it than is needed to exceed the limit.
                None if self.waiting.len() > self.settings.backlog_limit => break,
                None if arrival.at <= now => {
                    assert!(arrival.at == now, "arrivals are in order of time");
                    arrival
                }
                Some(depth) if self.in_flight.len() + self.waiting.len() < depth => {
                    Arrival { at: now, request: arrival.request }
                }
                _ => break,
            };
            self.little.came();
            self.summary.arrived += 1;
            self.summary.last_arrival = now;
            if self.waiting.is_empty() {
                self.waiting_since = now;
            }
            self.waiting.push(arrival.at, arrival.request.priority, arrival.request);
            self.upcoming = self.arrivals.next();
            if let Some(upcoming) = &self.upcoming {
                self.device.expect(&upcoming.request);
            }
        }
    }

    #[inline]
    fn submit(&mut self, now: Nanos) {
        while !self.waiting.is_empty() && self.device.free_slots() > 0 {
            let (at, request) = self.waiting.pop(now).expect("it is not empty");
            let tag = self.in_flight.insert(Arrival { at, request });
            self.device.submit(now, tag, request);
        }
    }

    #[inline]
    fn saturated(&self, now: Nanos) -> Option<ReplayEnd> {
        let oldest = self.waiting.oldest()?;
        let too_long = now.saturating_sub(oldest) > self.settings.wait_limit;
        (too_long || self.waiting.len() > self.settings.backlog_limit)
            .then_some(ReplayEnd::Saturated { since: self.waiting_since, backlog: self.waiting.len() })
    }
}

/// Checks Little's law, exactly in integers: the area under "requests in the system" equals the sum of their response
/// times.
#[derive(Default)]
struct Little {
    #[cfg(debug_assertions)]
    now: u64,
    #[cfg(debug_assertions)]
    present: u64,
    #[cfg(debug_assertions)]
    area: u128,
    #[cfg(debug_assertions)]
    responses: u128,
}

#[cfg(debug_assertions)]
impl Little {
    fn advance(&mut self, now: Nanos) {
        self.area += u128::from(self.present) * u128::from(now.0 - self.now);
        self.now = now.0;
    }
    fn came(&mut self) {
        self.present += 1;
    }
    fn left(&mut self, response: Nanos) {
        self.present -= 1;
        self.responses += u128::from(response.0);
    }
    fn check(&self) {
        assert_eq!(self.area, self.responses, "Little's law does not hold: requests were lost or mistimed");
    }
}

#[cfg(not(debug_assertions))]
impl Little {
    #[inline(always)]
    fn advance(&mut self, _: Nanos) {}
    #[inline(always)]
    fn came(&mut self) {}
    #[inline(always)]
    fn left(&mut self, _: Nanos) {}
    fn check(&self) {}
}
