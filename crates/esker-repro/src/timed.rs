//! Replays for items that need only response times.

use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{
    Arrival, Completion, Device, LatencyHistogram, Nanos, Observer, Replay, ReplayEnd, ReplaySettings, Request,
    Verdict, replay,
};
use esker_sim::RunError;

use crate::ItemFault;

struct Times<'a> {
    response: LatencyHistogram,
    failed: u64,
    cancel: &'a AtomicBool,
}

impl<D: ?Sized> Observer<D> for Times<'_> {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.response.record(completion.at - arrival);
        self.failed += u64::from(completion.result.is_err());
        if self.cancel.load(Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}

/// Replays `arrivals` on `device`, and returns their response times in nanoseconds. All requests have to succeed.
pub(crate) fn response_times(
    device: &mut (impl Device + ?Sized),
    arrivals: impl IntoIterator<Item = Arrival>,
    settings: &ReplaySettings,
    cancel: &AtomicBool,
) -> Result<(Replay, LatencyHistogram), ItemFault> {
    let mut times = Times { response: LatencyHistogram::default(), failed: 0, cancel };
    let run = replay(device, arrivals, settings, &mut times)?;
    match run.end {
        ReplayEnd::Complete if times.failed == 0 => Ok((run, times.response)),
        ReplayEnd::Complete => Err(ItemFault::RequestsFailed(times.failed)),
        ReplayEnd::Stopped => Err(RunError::Cancelled.into()),
        end => Err(ItemFault::EndedEarly(end)),
    }
}
