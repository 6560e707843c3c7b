//! Steps from arrival or internal event to the next one, whichever is earlier.

use super::feed::Feed;
use super::little::Little;
use super::{
    Arrival, BYTES_IN_FLIGHT_MAX, Observer, ROUNDS_MAX, Replay, ReplayEnd, ReplayError, ReplaySettings, Verdict,
};
use crate::{ChangeError, Completion, Device, Nanos, Request, RequestKind, ScheduledChange, TagSlab, WaitingLine};

pub(super) struct Driver<'a, D: ?Sized, F: Feed, O> {
    device: &'a mut D,
    feed: F,
    settings: &'a ReplaySettings,
    observer: &'a mut O,
    /// Those that are still to come.
    changes: &'a [ScheduledChange],
    /// Time of the first of them.
    next_change: Nanos,
    waiting: WaitingLine<(F::Sender, Request)>,
    in_flight: TagSlab<(F::Sender, Arrival)>,
    /// Data of the requests in flight.
    bytes_in_flight: u64,
    done: Vec<Completion>,
    waiting_since: Nanos,
    next_sample: Nanos,
    summary: Replay,
    little: Little,
}

impl<'a, D: Device + ?Sized, F: Feed, O: Observer<D>> Driver<'a, D, F, O> {
    pub(super) fn new(
        device: &'a mut D,
        mut feed: F,
        settings: &'a ReplaySettings,
        changes: &'a [ScheduledChange],
        observer: &'a mut O,
    ) -> Self {
        let first_arrival = feed.begin(settings.start);
        Self {
            device,
            feed,
            settings,
            observer,
            changes,
            next_change: changes.first().map_or(Nanos::NEVER, |change| change.at),
            waiting: WaitingLine::default(),
            in_flight: TagSlab::default(),
            bytes_in_flight: 0,
            done: Vec::new(),
            waiting_since: Nanos::NEVER,
            next_sample: settings.sample_every.map_or(Nanos::NEVER, |every| settings.start + every),
            summary: Replay {
                end: ReplayEnd::Complete,
                first_arrival,
                last_arrival: settings.start,
                last_event: settings.start,
                arrived: 0,
                completed: 0,
                backlog_max: 0,
                changes: 0,
            },
            little: Little::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<Replay, ReplayError> {
        let mut now = self.settings.start;
        self.little.advance(now);
        loop {
            // What the device still does on its own afterwards (such as cleaning) is not part of the run.
            if self.feed.is_exhausted() && self.in_flight.is_empty() && self.waiting.is_empty() {
                break;
            }
            let arrives = self.feed.next(now, self.present());
            if self.waiting.is_empty() {
                let limit = arrives.min(self.next_change).min(self.next_sample).min(Nanos::LAST);
                now = self.advance_device(now, limit)?;
            }
            let due = self.device.next_event();
            // Requests that have ended are passed upward before anything else happens.
            let next = if self.done.is_empty() { arrives.min(due).min(self.next_change) } else { now };
            if next == Nanos::NEVER {
                self.summary.end = ReplayEnd::Stalled { in_flight: self.present() };
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
            if self.next_change == now {
                // It may move the device's next event.
                self.change(now)?;
                continue;
            }
            if self.step(now, due)? == Verdict::Stop {
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

    /// Performs the internal events of the device before `limit`, until a request ends. Returns the time of the last
    /// one, or `now` if there was none. While no request waits, only the device has anything to do until then.
    #[inline]
    fn advance_device(&mut self, mut now: Nanos, limit: Nanos) -> Result<Nanos, ReplayError> {
        let mut rounds = 0;
        loop {
            let due = self.device.next_event();
            if due >= limit || !self.done.is_empty() {
                return Ok(now);
            }
            assert!(due >= now, "time went back from {now} to {due}");
            rounds = if due == now { rounds + 1 } else { 0 };
            if rounds > ROUNDS_MAX {
                return Err(ReplayError::Livelock(now));
            }
            now = self.device.advance_before(limit, &mut self.done);
        }
    }

    /// Requests under way or waiting.
    #[inline]
    fn present(&self) -> usize {
        self.in_flight.len() + self.waiting.len()
    }

    #[inline]
    fn sample_until(&mut self, next: Nanos) -> Verdict {
        while self.next_sample <= next {
            let at = self.next_sample;
            if self.observer.sample(at, self.waiting.len(), self.device) == Verdict::Stop {
                return Verdict::Stop;
            }
            self.next_sample += self.settings.sample_every.expect("sampling is on");
        }
        Verdict::Continue
    }

    /// Makes the next change.
    #[cold]
    fn change(&mut self, now: Nanos) -> Result<(), ReplayError> {
        let (first, rest) = self.changes.split_first().expect("a change is due");
        let made = match self.device.change(now, &first.device, first.change) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ChangeError::new("this device does not support this change")),
            Err(error) => Err(error),
        };
        made.map_err(|error| ReplayError::Change { index: self.summary.changes, at: now, error })?;
        self.summary.changes += 1;
        self.changes = rest;
        self.next_change = rest.first().map_or(Nanos::NEVER, |change| change.at);
        Ok(())
    }

    #[cold]
    fn too_late(&self, arrives: bool) -> ReplayError {
        if arrives {
            return ReplayError::ArrivesTooLate { request: self.summary.arrived + 1 };
        }
        ReplayError::EndsTooLate { completed: self.summary.completed }
    }

    /// Performs the internal events of this instant, then passes completions upward. `due` is the time of the next
    /// event.
    #[inline]
    fn step(&mut self, now: Nanos, mut due: Nanos) -> Result<Verdict, ReplayError> {
        let mut rounds = 0;
        while due == now {
            self.device.advance(now, &mut self.done);
            due = self.device.next_event();
            rounds += 1;
            if rounds > ROUNDS_MAX {
                return Err(ReplayError::Livelock(now));
            }
        }
        for completion in self.done.drain(..) {
            let (sender, arrival) = self.in_flight.remove(completion.tag);
            debug_assert_eq!(completion.at, now, "a completion came at another time than it says");
            debug_assert!(completion.service_start >= arrival.at && completion.service_start <= completion.at);
            self.bytes_in_flight -= data(&arrival.request);
            self.summary.completed += 1;
            self.little.left(completion.at - arrival.at);
            self.feed.ended(sender, now);
            if self.observer.completed(arrival.at, &arrival.request, &completion) == Verdict::Stop {
                return Ok(Verdict::Stop);
            }
        }
        Ok(Verdict::Continue)
    }

    #[inline]
    fn take_arrivals(&mut self, now: Nanos) {
        // A whole trace may arrive at one instant: take no more of it than is needed to exceed the limit.
        while !(self.feed.is_open() && self.waiting.len() > self.settings.backlog_limit) {
            if !self.feed.is_due(now, self.present()) {
                break;
            }
            let Some((sender, request)) = self.feed.take() else { continue };
            self.little.came();
            self.summary.arrived += 1;
            self.summary.last_arrival = now;
            if self.waiting.is_empty() {
                self.waiting_since = now;
            }
            self.waiting.push(now, request.priority, (sender, request));
            if let Some(upcoming) = self.feed.upcoming() {
                self.device.expect(upcoming);
            }
        }
    }

    #[inline]
    fn submit(&mut self, now: Nanos) {
        while !self.waiting.is_empty() && self.device.free_slots() > 0 && self.bytes_in_flight < BYTES_IN_FLIGHT_MAX {
            let (at, (sender, request)) = self.waiting.pop(now).expect("it is not empty");
            self.bytes_in_flight += data(&request);
            let tag = self.in_flight.insert((sender, Arrival { at, request }));
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

/// Bytes that a request moves. One that is larger than all that may be under way counts as that much: nothing else goes
/// beside it, and devices refuse requests beyond their end.
#[inline]
fn data(request: &Request) -> u64 {
    match request.kind {
        RequestKind::Read | RequestKind::Write { .. } => request.length.0.min(BYTES_IN_FLIGHT_MAX),
        _ => 0,
    }
}
