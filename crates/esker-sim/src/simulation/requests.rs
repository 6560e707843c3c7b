//! The requests of a run: some warm up, the others are measured.

use std::iter::Peekable;

use esker_core::{
    Arrival, Device, Nanos, Observer, Processes, Replay, ReplayError, ReplaySettings, Request, ScheduledChange, Stream,
    replay, replay_changing,
};

/// Requests, and the way in which they come.
pub(super) enum Requests<S: Iterator<Item = Arrival>, P> {
    /// At their arrival times, or always the same number under way.
    Stream(Peekable<S>),
    /// When their processes want them.
    Processes {
        /// All of them.
        processes: Processes<P>,
        /// Requests that are left.
        left: u64,
    },
}

impl<S: Iterator<Item = Arrival>, P: Iterator<Item = Request>> Requests<S, P> {
    /// Replays the next `count` requests.
    pub(super) fn replay_some<D: Device + ?Sized, O: Observer<D>>(
        &mut self,
        device: &mut D,
        count: u64,
        settings: &ReplaySettings,
        observer: &mut O,
    ) -> Result<Replay, ReplayError> {
        match self {
            Self::Stream(arrivals) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                replay(device, arrivals.by_ref().take(count), settings, observer)
            }
            Self::Processes { processes, left } => {
                processes.limit(count.min(*left));
                let end = replay_changing(device, processes, settings, &[], observer)?;
                *left -= end.arrived;
                Ok(end)
            }
        }
    }

    /// Replays all that are left, with `changes` of the device. If the first one should have arrived before the start,
    /// all are moved back by the difference.
    pub(super) fn replay_rest<D: Device + ?Sized, O: Observer<D>>(
        self,
        device: &mut D,
        settings: &ReplaySettings,
        changes: &[ScheduledChange],
        observer: &mut O,
    ) -> Result<Replay, ReplayError> {
        match self {
            Self::Stream(mut arrivals) => {
                let late = arrivals.peek().map_or(Nanos::ZERO, |next| settings.start.saturating_sub(next.at));
                let arrivals = arrivals.map(|Arrival { at, request }| Arrival { at: at + late, request });
                let stream = Stream::new(arrivals, settings.queue_depth);
                replay_changing(device, stream, settings, changes, observer)
            }
            Self::Processes { mut processes, left } => {
                processes.limit(left);
                replay_changing(device, &mut processes, settings, changes, observer)
            }
        }
    }
}
