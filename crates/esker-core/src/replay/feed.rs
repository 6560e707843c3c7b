//! Where the requests of a replay come from: a stream of arrivals, or processes that wait for their answers.

use std::collections::VecDeque;

use super::Arrival;
use crate::{Nanos, Request};

/// Says when requests come. `present` is always the number of requests that wait or are under way.
pub trait Feed {
    /// What the feed keeps with a request until it has ended.
    type Sender: Copy;

    /// The replay begins at `start`. Returns the time of the first arrival.
    fn begin(&mut self, start: Nanos) -> Nanos;

    /// Time of the next arrival: `now` if it is due, [`Nanos::NEVER`] if first a request has to end.
    fn next(&self, now: Nanos, present: usize) -> Nanos;

    /// Returns true if no request will ever come.
    fn is_exhausted(&self) -> bool;

    /// Returns true if arrivals do not wait for the ends of earlier requests.
    fn is_open(&self) -> bool;

    /// Returns true if a request arrives at `now`.
    fn is_due(&self, now: Nanos, present: usize) -> bool;

    /// Takes the request that arrives now; `None` if its sender has no more.
    fn take(&mut self) -> Option<(Self::Sender, Request)>;

    /// The next request, if it is known already.
    fn upcoming(&self) -> Option<&Request>;

    /// A request has ended.
    fn ended(&mut self, sender: Self::Sender, now: Nanos);
}

/// Requests one after the other: at their arrival times, or so that always the same number is under way.
#[derive(Clone, Debug)]
pub struct Stream<I> {
    arrivals: I,
    upcoming: Option<Arrival>,
    queue_depth: Option<usize>,
}

impl<I: Iterator<Item = Arrival>> Stream<I> {
    /// Makes an open loop if `queue_depth` is `None`; otherwise a closed loop with `queue_depth` requests under way.
    pub fn new(arrivals: impl IntoIterator<IntoIter = I>, queue_depth: Option<usize>) -> Self {
        Self { arrivals: arrivals.into_iter(), upcoming: None, queue_depth }
    }
}

impl<I: Iterator<Item = Arrival>> Feed for Stream<I> {
    type Sender = ();

    fn begin(&mut self, start: Nanos) -> Nanos {
        self.upcoming = self.arrivals.next();
        match (self.upcoming, self.queue_depth) {
            (Some(first), None) => first.at,
            _ => start,
        }
    }

    #[inline]
    fn next(&self, now: Nanos, present: usize) -> Nanos {
        match (self.queue_depth, self.upcoming) {
            (None, Some(arrival)) => arrival.at,
            (Some(depth), Some(_)) if present < depth => now,
            _ => Nanos::NEVER,
        }
    }

    #[inline]
    fn is_exhausted(&self) -> bool {
        self.upcoming.is_none()
    }

    #[inline]
    fn is_open(&self) -> bool {
        self.queue_depth.is_none()
    }

    #[inline]
    fn is_due(&self, now: Nanos, present: usize) -> bool {
        match (&self.upcoming, self.queue_depth) {
            (Some(arrival), None) => {
                assert!(arrival.at >= now, "arrivals are in order of time");
                arrival.at == now
            }
            (Some(_), Some(depth)) => present < depth,
            (None, _) => false,
        }
    }

    #[inline]
    fn take(&mut self) -> Option<((), Request)> {
        let arrival = std::mem::replace(&mut self.upcoming, self.arrivals.next())?;
        Some(((), arrival.request))
    }

    #[inline]
    fn upcoming(&self) -> Option<&Request> {
        self.upcoming.as_ref().map(|arrival| &arrival.request)
    }

    #[inline]
    fn ended(&mut self, (): (), _: Nanos) {}
}

/// Closed loop of independent processes. Each has one request under way, and sends its next one a think time after the
/// end of the last. All of them send their first request when the replay begins.
///
/// The order at one instant: processes send in the order in which their last requests ended; at the beginning in order
/// of their numbers.
#[derive(Clone, Debug)]
pub struct Processes<I> {
    /// The requests of each process.
    requests: Vec<I>,
    think_time: Nanos,
    /// Processes that think, with the times of their next requests. The think time is the same for all, so that these
    /// are in order.
    thinking: VecDeque<(Nanos, u32)>,
    /// Processes that have requests left.
    alive: Vec<bool>,
    /// Requests that are still to be sent, of all processes together.
    left: u64,
}

impl<I: Iterator<Item = Request>> Processes<I> {
    /// One process for each item of `requests`, which send at most `count` requests together.
    pub fn new(requests: Vec<I>, think_time: Nanos, count: u64) -> Self {
        let alive = vec![true; requests.len()];
        Self { requests, think_time, thinking: VecDeque::new(), alive, left: count }
    }

    /// Sets how many requests the processes still send together.
    pub fn limit(&mut self, count: u64) {
        self.left = count;
    }
}

impl<I: Iterator<Item = Request>> Feed for &mut Processes<I> {
    type Sender = u32;

    fn begin(&mut self, start: Nanos) -> Nanos {
        let alive = (0u32..).zip(&self.alive).filter(|(_, alive)| **alive);
        self.thinking = alive.map(|(process, _)| (start, process)).collect();
        start
    }

    #[inline]
    fn next(&self, _: Nanos, _: usize) -> Nanos {
        if self.left == 0 {
            return Nanos::NEVER;
        }
        self.thinking.front().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    #[inline]
    fn is_exhausted(&self) -> bool {
        self.left == 0 || !self.alive.contains(&true)
    }

    #[inline]
    fn is_open(&self) -> bool {
        false
    }

    #[inline]
    fn is_due(&self, now: Nanos, _: usize) -> bool {
        self.left > 0 && self.thinking.front().is_some_and(|(at, _)| *at <= now)
    }

    #[inline]
    fn take(&mut self) -> Option<(u32, Request)> {
        let (_, process) = self.thinking.pop_front()?;
        let Some(request) = self.requests[process as usize].next() else {
            self.alive[process as usize] = false;
            return None;
        };
        self.left -= 1;
        Some((process, request))
    }

    #[inline]
    fn upcoming(&self) -> Option<&Request> {
        None
    }

    #[inline]
    fn ended(&mut self, process: u32, now: Nanos) {
        self.thinking.push_back((now + self.think_time, process));
    }
}
