//! Builds requests from events: queued, dispatched, completed.

mod waiting;

use esker_core::Nanos;
pub(crate) use waiting::MixHasher;
use waiting::Requests;

use crate::sink::{Found, Sink, TOO_LONG};
use crate::{Operation, VolumeIndex};

/// The kind of ignored event for a completion that belongs to no request.
pub(crate) const COMPLETION: &str = "completion without request";
/// The largest number of requests that wait for their completion.
pub(crate) const WAITING_MAX: usize = 65_536;
/// A request that has not completed after this time is handed out without a response time.
pub(crate) const PATIENCE: Nanos = Nanos::from_secs(10);
/// After this many dispatched requests without any queued one, the trace is taken to have no queue events.
const UNDECIDED_MAX: usize = 4096;

/// Receives the requests that no longer wait: a reader, or a writer that compares them with the records it has written.
pub(crate) trait Outlet {
    /// What the outlet wants to know again when a request is handed out.
    type Origin;
    /// The value for the event that is being taken: the line or record that is being read.
    fn origin(&self) -> Self::Origin;
    /// Counts events that are not requests.
    fn ignore(&mut self, kind: &'static str, count: u64);
    /// Takes the next request, in order of issue. `origin` is the value kept for it.
    fn hand_out(&mut self, found: Found, origin: Self::Origin);
}

impl Outlet for Sink {
    type Origin = u64;

    fn origin(&self) -> u64 {
        self.place
    }
    fn ignore(&mut self, kind: &'static str, count: u64) {
        self.notes.ignore_many(kind, count);
    }
    fn hand_out(&mut self, found: Found, origin: u64) {
        let now = std::mem::replace(&mut self.place, origin);
        if self.request(found).is_err() {
            // Everything else was checked when the request came in.
            self.notes.ignore("trim of too many bytes");
        }
        self.place = now;
    }
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The host queued it (blktrace: Q).
    Queue,
    /// The driver handed it to the device (D).
    Dispatch,
    /// The device completed it (C).
    Complete,
}

/// One step in the life of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Nanos,
    pub(crate) step: Step,
    pub(crate) volume: VolumeIndex,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Which step starts a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begin {
    /// Not known yet: only dispatches so far.
    #[default]
    Undecided,
    Queued,
    Dispatched,
    /// Requests and completions refer to each other by number.
    Numbered,
}

/// Pairs events. Requests are queue events if any comes before too many dispatch events, else dispatch events. Their
/// response time lasts until the completion of the same range of the same device. Requests that were merged or split
/// below the queue are paired by the ranges that they cover. The requests that wait are bounded in number and time.
#[derive(Debug)]
pub(crate) struct Pairing<P = u64> {
    begin: Begin,
    requests: Requests<P>,
    /// Completions that could belong to several requests.
    ambiguous: u64,
    unanswered: u64,
    answered: u64,
    /// Queue events that came when dispatches had been taken for the requests.
    late: u64,
}

impl<P> Default for Pairing<P> {
    fn default() -> Self {
        let (begin, requests) = (Begin::default(), Requests::default());
        Self { begin, requests, ambiguous: 0, unanswered: 0, answered: 0, late: 0 }
    }
}

impl<P> Pairing<P> {
    /// For a writer: it knows which request each completion belongs to, and asks only which ones a reader will find.
    pub(crate) fn with_known_completions() -> Self {
        Self { requests: Requests::counted(), ..Self::default() }
    }

    /// Takes the next event, and hands out the requests that need not wait any more. The error tells what was expected
    /// of the event.
    pub(crate) fn event(&mut self, event: Event, outlet: &mut impl Outlet<Origin = P>) -> Result<(), &'static str> {
        if event.length > u64::from(u32::MAX) && event.operation != Operation::Trim {
            return Err(TOO_LONG);
        }
        if event.offset.checked_add(event.length).is_none() {
            return Err("a range that ends below 2^64 bytes");
        }
        match (event.step, self.begin) {
            (Step::Queue, Begin::Undecided) => {
                // Requests dispatched before the first queue event were queued before the trace began.
                outlet.ignore("dispatch event", self.requests.len() as u64);
                self.requests.clear();
                self.begin = Begin::Queued;
                self.take(event, outlet);
            }
            (Step::Queue, Begin::Dispatched) => {
                // Its dispatch is a request already, or will be one.
                self.late += 1;
                outlet.ignore("queue event", 1);
            }
            (Step::Queue, _) => self.take(event, outlet),
            (Step::Dispatch, Begin::Queued) => outlet.ignore("dispatch event", 1),
            (Step::Dispatch, _) => self.take(event, outlet),
            (Step::Complete, _) => {
                if !self.complete(&event) {
                    outlet.ignore(COMPLETION, 1);
                }
            }
        }
        self.decide_and_release(event.at, outlet);
        Ok(())
    }

    /// Takes the completion of request `number`, with the range of `event`. It ends the request that [`Self::event`]
    /// would find for it, most often that very one. Does not look for ambiguous completions.
    pub(crate) fn end_known(&mut self, number: u64, event: &Event, outlet: &mut impl Outlet<Origin = P>) {
        if !self.requests.end_known(number, event) && !self.complete(event) {
            outlet.ignore(COMPLETION, 1);
        }
        self.decide_and_release(event.at, outlet);
    }

    #[inline]
    fn decide_and_release(&mut self, now: Nanos, outlet: &mut impl Outlet<Origin = P>) {
        if self.begin == Begin::Undecided && self.requests.len() > UNDECIDED_MAX {
            self.begin = Begin::Dispatched;
        }
        if self.begin != Begin::Undecided {
            self.release(now, outlet);
        }
    }

    /// Request `number`, if it still waits.
    #[inline]
    pub(crate) fn waiting(&self, number: u64) -> Option<&Found> {
        self.requests.get(number)
    }

    /// Takes a request whose completion will refer to it by number; returns that number.
    pub(crate) fn begin_numbered(
        &mut self,
        event: Event,
        outlet: &mut impl Outlet<Origin = P>,
    ) -> Result<u64, &'static str> {
        self.begin = Begin::Numbered;
        let number = self.requests.next();
        self.event(Event { step: Step::Dispatch, ..event }, outlet)?;
        Ok(number)
    }

    /// Ends request `number` at `at`. If it was given up before, it stays without response time.
    pub(crate) fn end_numbered(&mut self, number: u64, at: Nanos, outlet: &mut impl Outlet<Origin = P>) {
        self.requests.end(number, None, at);
        self.release(at, outlet);
    }

    #[inline(always)]
    fn take(&mut self, event: Event, outlet: &impl Outlet<Origin = P>) {
        let Event { at, volume, operation, offset, length, .. } = event;
        self.requests.push(Found { at, offset, length, volume, operation, response: None }, outlet.origin());
    }

    /// Ends what `event` completes. Returns false if that is nothing.
    fn complete(&mut self, event: &Event) -> bool {
        if let Some(several) = self.requests.end_exact(event) {
            self.ambiguous += u64::from(several);
            return true;
        }
        // Several requests that were merged into one.
        let merged = self.requests.within(event);
        for &number in &merged {
            self.requests.end(number, None, event.at);
        }
        if !merged.is_empty() {
            return true;
        }
        // Part of a request that was split.
        let split = self.requests.around(event);
        if let Some(number) = split {
            self.requests.end(number, Some(event.length), event.at);
        }
        split.is_some()
    }

    /// Hands out the requests that have completed, and those that have waited long enough.
    #[inline]
    fn release(&mut self, now: Nanos, outlet: &mut impl Outlet<Origin = P>) {
        while let Some((oldest, open)) = self.requests.front() {
            if open && self.requests.len() <= WAITING_MAX && now.saturating_sub(oldest.at) <= PATIENCE {
                return;
            }
            self.hand_out(outlet);
        }
    }

    #[inline]
    fn hand_out(&mut self, outlet: &mut impl Outlet<Origin = P>) {
        let Some((found, origin)) = self.requests.pop() else { return };
        match found.response {
            Some(_) => self.answered += 1,
            None => self.unanswered += 1,
        }
        outlet.hand_out(found, origin);
    }

    /// Hands out the remaining requests: there are no more events.
    pub(crate) fn hand_out_rest(&mut self, outlet: &mut impl Outlet<Origin = P>) {
        while self.requests.len() > 0 {
            self.hand_out(outlet);
        }
    }
}

impl Pairing {
    /// Hands out the remaining requests, and adds a remark on what response times mean.
    pub(crate) fn finish(&mut self, sink: &mut Sink) {
        self.hand_out_rest(sink);
        if self.late > 0 {
            sink.notes.remark(format!(
                "requests are dispatch events (D): there are {} queue events, the first of them after more than \
                 {UNDECIDED_MAX} dispatches; response times are from dispatch to completion (C), without the time in \
                 the host's queue",
                self.late
            ));
        } else if self.answered > 0 {
            match self.begin {
                Begin::Queued => sink.notes.remark_responses("response times are from queue (Q) to completion (C)"),
                Begin::Numbered => sink.notes.remark_responses("response times are from a request to its completion"),
                _ => sink.notes.remark(
                    "requests are dispatch events (D): there are no queue events; response times are from dispatch to \
                     completion (C), without the time in the host's queue",
                ),
            }
        }
        if self.unanswered > 0 {
            sink.notes.remark_responses(format!(
                "{} requests have no completion event within {PATIENCE} and {WAITING_MAX} requests",
                self.unanswered
            ));
        }
        if self.ambiguous > 0 {
            sink.notes.remark_responses(format!(
                "{} completions could be those of several requests for one range that were under way; the oldest is \
                 taken to have completed, so that their response times may be those of one another",
                self.ambiguous
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Record};

    fn event(at: u64, step: Step, offset: u64, length: u64) -> Event {
        Event { at: Nanos(at), step, volume: VolumeIndex(0), operation: Operation::Write, offset, length }
    }

    /// Time, offset and response of the requests that come out.
    fn requests(events: &[Event]) -> (Vec<(u64, u64, Option<u64>)>, Sink) {
        let mut sink = Sink::new("test", false, true, &ReadOptions::default());
        sink.volumes.number(0).expect("the first volume");
        let mut pairing = Pairing::default();
        for event in events {
            pairing.event(*event, &mut sink).unwrap();
        }
        pairing.finish(&mut sink);
        sink.settle().unwrap();
        sink.finish();
        let (mut all, mut batch) = (Vec::<Record>::new(), Vec::new());
        while sink.take_chunk(&mut batch) {
            all.append(&mut batch);
        }
        (all.iter().map(|r| (r.at.0, r.offset, r.response.map(|response| response.0))).collect(), sink)
    }

    use Step::{Complete, Dispatch, Queue};

    #[test]
    fn the_oldest_of_equal_requests_is_completed_first() {
        let events = [
            event(1, Queue, 0, 512),
            event(2, Queue, 0, 512),
            event(3, Dispatch, 0, 512),
            event(5, Complete, 0, 512),
            event(9, Complete, 0, 512),
        ];
        let (found, sink) = requests(&events);
        assert_eq!(found, [(1, 0, Some(4)), (2, 0, Some(7))]);
        assert_eq!(sink.notes.ignored("dispatch event"), 1);
        // Only the first one could have belonged to either.
        let remarks = &sink.notes.response_remarks;
        assert!(remarks[1].starts_with("1 completions could be"), "{remarks:?}");
    }

    #[test]
    fn merged_requests_complete_together_and_split_ones_with_their_last_part() {
        let events = [
            event(1, Queue, 0, 512),
            event(2, Queue, 512, 1024),
            event(3, Queue, 8192, 8192),
            event(10, Complete, 0, 1536),
            event(11, Complete, 8192, 4096),
            event(15, Complete, 12_288, 4096),
            event(16, Complete, 12_288, 4096),
        ];
        let (found, sink) = requests(&events);
        assert_eq!(found, [(1, 0, Some(9)), (2, 512, Some(8)), (3, 8192, Some(12))]);
        assert_eq!(sink.notes.ignored("completion without request"), 1);
    }

    #[test]
    fn dispatches_are_the_requests_where_nothing_is_queued() {
        let (found, sink) =
            requests(&[event(1, Dispatch, 0, 512), event(4, Complete, 0, 512), event(5, Dispatch, 0, 512)]);
        assert_eq!(found, [(1, 0, Some(3)), (5, 0, None)]);
        assert_eq!((sink.notes.remarks.len(), sink.notes.response_remarks.len()), (1, 1));
    }

    #[test]
    fn dispatches_before_the_first_queue_event_are_no_requests() {
        let events = [event(1, Dispatch, 0, 512), event(2, Queue, 512, 512), event(3, Complete, 0, 512)];
        assert_eq!(requests(&events).0, [(2, 512, None)]);
    }

    /// Taken as well, they would be the same requests once more.
    #[test]
    fn queue_events_after_many_dispatches_are_counted_and_left_out() {
        let dispatches = 0..=UNDECIDED_MAX as u64;
        let mut events: Vec<Event> = dispatches.map(|number| event(number, Dispatch, number * 512, 512)).collect();
        for number in 0..10 {
            let (at, offset) = (10_000 + number * 10, (1 << 30) + number * 512);
            events.extend(
                [(0, Queue), (1, Dispatch), (5, Complete)].map(|(after, step)| event(at + after, step, offset, 512)),
            );
        }
        let (found, sink) = requests(&events);
        assert_eq!(found.len(), UNDECIDED_MAX + 11);
        assert!(found[UNDECIDED_MAX + 1..].iter().all(|(at, _, response)| at % 10 == 1 && *response == Some(4)));
        assert_eq!(sink.notes.ignored("queue event"), 10);
        let remarks = &sink.notes.remarks;
        assert!(remarks[0].contains("there are 10 queue events, the first of them after"), "{remarks:?}");
        assert!(remarks.iter().all(|remark| !remark.contains("no queue events")), "{remarks:?}");
    }

    #[test]
    fn what_waits_is_bounded_in_time_and_number() {
        let mut sink = Sink::new("test", false, true, &ReadOptions::default());
        sink.volumes.number(0).expect("the first volume");
        let mut pairing = Pairing::default();
        for number in 0..3 * WAITING_MAX as u64 {
            pairing.event(event(number, Queue, number * 512, 512), &mut sink).unwrap();
            assert!(pairing.requests.len() <= WAITING_MAX);
        }
        pairing.event(event(PATIENCE.0 * 2, Queue, 0, 512), &mut sink).unwrap();
        assert_eq!(pairing.requests.len(), 1);
    }
}
