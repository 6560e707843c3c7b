//! The virtual driver: it steps to the next arrival or the next internal event, whichever is earlier.

mod driver;
mod feed;
mod little;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::{ChangeError, Completion, Device, Nanos, Request, ScheduledChange};
use driver::Driver;

pub use feed::{Feed, Processes, Stream};

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

/// Watches the replay on a device `D` as it runs.
pub trait Observer<D: ?Sized> {
    /// A request that arrived at `arrival` has ended. In a closed loop a request arrives when it is submitted.
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict;

    /// A multiple of the sampling interval was reached; all events before it have been performed. `backlog` requests
    /// wait.
    fn sample(&mut self, now: Nanos, backlog: usize, device: &D) -> Verdict {
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
    /// Changes that were made. Those after the last completion are not.
    pub changes: usize,
}

/// Why a replay cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
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
    /// A device cannot make a change.
    #[error("at {}: {error}", crate::words::time(at.0 as f64 / 1e3))]
    Change {
        /// Its place among the changes, from zero.
        index: usize,
        /// Its time.
        at: Nanos,
        /// The device's answer.
        error: ChangeError,
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

/// A host submits no more than this much data at a time: it has to hold them in memory, as the simulation has to hold
/// what each page of them waits for. The request that reaches it is still submitted.
pub(crate) const BYTES_IN_FLIGHT_MAX: u64 = 4 << 30;

/// Feeds `arrivals` to `device` until all are served, and passes each completion to `observer`. Afterwards the device
/// may still have internal events, none of them earlier than the last completion.
///
/// The order at one instant: internal events, completions upward, arrivals last. Requests that find no free slot wait
/// in a [`crate::WaitingLine`]: by priority, then first in, first out. So do those that come while 4 GiB are under way.
pub fn replay<D, I, O>(
    device: &mut D,
    arrivals: I,
    settings: &ReplaySettings,
    observer: &mut O,
) -> Result<Replay, ReplayError>
where
    D: Device + ?Sized,
    I: IntoIterator<Item = Arrival>,
    O: Observer<D>,
{
    replay_changing(device, Stream::new(arrivals, settings.queue_depth), settings, &[], observer)
}

/// Like [`replay`], with requests from any feed (`settings.queue_depth` means nothing here) and with changes of the
/// device, in order of time.
///
/// A change is the first thing that happens at its instant, after the sample of that instant. Changes of the same
/// instant are made in their order.
pub fn replay_changing<D, F, O>(
    device: &mut D,
    feed: F,
    settings: &ReplaySettings,
    changes: &[ScheduledChange],
    observer: &mut O,
) -> Result<Replay, ReplayError>
where
    D: Device + ?Sized,
    F: Feed,
    O: Observer<D>,
{
    debug_assert!(changes.is_sorted_by_key(|change| change.at), "changes are in order of time");
    Driver::new(device, feed, settings, changes, observer).run()
}
