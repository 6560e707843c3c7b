//! Follows a replay for a caller, who may stop it.

use esker_core::{Completion, Nanos, Observer, Replay, ReplayEnd, ReplayError, Request, Verdict};
use esker_results::Reporting;

use crate::run_error::RunError;

/// Requests that end between two reports of progress: often enough for a person, too rare to cost time.
pub const PROGRESS_EVERY: u64 = 8_192;

/// An observer whose replay the caller may stop.
pub(super) struct Watched<'a, O> {
    observer: &'a mut O,
    go_on: &'a mut dyn FnMut(u64) -> bool,
    ended: u64,
    stopped: bool,
}

/// Replays by `replay`. `go_on` gets the number of ended requests every [`PROGRESS_EVERY`] of them, and returns false
/// to stop.
///
/// # Errors
/// That of the replay; [`RunError::Cancelled`] if the caller stopped it, and [`RunError::Stalled`] if a device lost
/// requests.
pub(super) fn watched<O>(
    observer: &mut O,
    go_on: &mut dyn FnMut(u64) -> bool,
    replay: impl FnOnce(&mut Watched<'_, O>) -> Result<Replay, ReplayError>,
) -> Result<Replay, RunError> {
    let mut watched = Watched { observer, go_on, ended: 0, stopped: false };
    let replay = replay(&mut watched)?;
    match replay.end {
        _ if watched.stopped => Err(RunError::Cancelled),
        ReplayEnd::Stalled { in_flight } => Err(RunError::Stalled { at: replay.last_event, in_flight }),
        ReplayEnd::Complete | ReplayEnd::Stopped | ReplayEnd::Saturated { .. } => Ok(replay),
    }
}

impl<O: Observer<dyn Reporting>> Observer<dyn Reporting> for Watched<'_, O> {
    #[inline]
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        let verdict = self.observer.completed(arrival, request, completion);
        self.ended += 1;
        if verdict == Verdict::Continue && self.ended.is_multiple_of(PROGRESS_EVERY) && !(self.go_on)(self.ended) {
            self.stopped = true;
            return Verdict::Stop;
        }
        verdict
    }

    fn sample(&mut self, now: Nanos, backlog: usize, device: &(dyn Reporting + 'static)) -> Verdict {
        self.observer.sample(now, backlog, device)
    }
}
