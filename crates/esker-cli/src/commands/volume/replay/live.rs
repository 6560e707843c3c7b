//! Requests sent at their times, or a number of them always under way.

use std::iter::Peekable;

use esker_core::{Arrival, Completion, Nanos, Observer, Replay, ReplayEnd, Request, RequestKind, TagSlab, Verdict};
use esker_results::Reporting;
use esker_sim::RunMeasurements;
use esker_volume::{Buffer, Reply};

use super::stamp;
use super::target::Target;
use crate::cancel;
use crate::failure::Failure;

/// Requests and bytes under way at most, so that a slow volume does not fill the memory.
const UNDER_WAY_MAX: usize = 4096;
const BYTES_MAX: u64 = 256 << 20;

/// A request sent later than this after its time is late.
const LATE: Nanos = Nanos::from_millis(1);

/// Requests between two reports of progress.
const TELL: u64 = 256;

/// How many requests were sent late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    pub(super) late: u64,
    pub(super) most: Nanos,
}

/// A target while requests are sent to it.
pub(super) struct Live<'a> {
    target: Target,
    /// Requests always under way; `None` for requests at their times.
    depth: Option<usize>,
    /// Whether writes hold the numbers of their requests, or zero.
    has_numbers: bool,
    measured: &'a mut RunMeasurements,
    /// Requests under way, each with its time.
    under_way: TagSlab<(Nanos, Request)>,
    count: usize,
    bytes: u64,
    replay: Replay,
    lateness: Lateness,
}

impl<'a> Live<'a> {
    pub(super) fn new(target: Target, depth: Option<usize>, measured: &'a mut RunMeasurements) -> Self {
        let replay = Replay {
            end: ReplayEnd::Complete,
            first_arrival: Nanos::ZERO,
            last_arrival: Nanos::ZERO,
            last_event: Nanos::ZERO,
            arrived: 0,
            completed: 0,
            backlog_max: 0,
            changes: 0,
        };
        let (under_way, lateness) = (TagSlab::default(), Lateness::default());
        Self { target, depth, has_numbers: true, measured, under_way, count: 0, bytes: 0, replay, lateness }
    }

    /// Has writes hold zero for the number of their request.
    pub(super) fn without_numbers(self) -> Self {
        Self { has_numbers: false, ..self }
    }

    /// Sends all requests, waits for their replies, and makes what they wrote durable.
    pub(super) fn run(
        mut self,
        arrivals: impl Iterator<Item = Arrival>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Replay, Lateness, Target), Failure> {
        let mut arrivals = arrivals.peekable();
        let begin = self.target.now();
        while arrivals.peek().is_some() || self.count > 0 {
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            let next = self.send(begin, &mut arrivals);
            self.target.step();
            let mut ended = 0;
            while let Some(reply) = self.target.next_reply() {
                ended += 1;
                self.end(reply);
                if self.replay.completed.is_multiple_of(TELL) {
                    progress(self.replay.completed);
                }
            }
            if ended == 0 {
                self.target.check()?;
                self.target.wait(next);
            }
        }
        self.target.flush()?;
        Ok((self.replay, self.lateness, self.target))
    }

    /// Sends what is due and has room. Returns when the next request is due; never if it waits for a reply.
    fn send(&mut self, begin: Nanos, arrivals: &mut Peekable<impl Iterator<Item = Arrival>>) -> Nanos {
        while self.count < self.depth.unwrap_or(UNDER_WAY_MAX) && self.bytes < BYTES_MAX {
            let Some(arrival) = arrivals.peek() else { return Nanos::NEVER };
            let now = self.target.now();
            let due = if self.depth.is_some() { now } else { begin + arrival.at };
            if due > now {
                return due;
            }
            let request = arrivals.next().expect("it was looked at").request;
            self.lateness.late += u64::from(now - due > LATE);
            self.lateness.most = self.lateness.most.max(now - due);
            if self.replay.arrived == 0 {
                self.replay.first_arrival = due;
            }
            self.replay.last_arrival = due;
            self.replay.arrived += 1;
            self.count += 1;
            self.bytes += request.length.0;
            let data = match request.kind {
                RequestKind::Write { .. } => self.stamped(&request),
                _ => Buffer::default(),
            };
            let tag = self.under_way.insert((due, request));
            self.target.submit(tag, request, data);
        }
        Nanos::NEVER
    }

    /// The data of a write.
    fn stamped(&mut self, request: &Request) -> Buffer {
        let mut data = self.target.buffer(request.length.0 as usize);
        let bytes = data.get_mut().expect("a new buffer has one owner");
        stamp(bytes, request.start.0, if self.has_numbers { self.replay.arrived } else { 0 });
        data
    }

    fn end(&mut self, reply: Reply) {
        let (arrival, request) = self.under_way.remove(reply.tag);
        self.count -= 1;
        self.bytes -= request.length.0;
        self.replay.completed += 1;
        self.replay.last_event = self.replay.last_event.max(reply.at);
        let Reply { tag, at, result, data } = reply;
        self.target.recycle(data);
        let completion = Completion { tag, at, service_start: arrival, result };
        let observer: &mut dyn Observer<dyn Reporting> = self.measured;
        let verdict = observer.completed(arrival, &request, &completion);
        debug_assert_eq!(verdict, Verdict::Continue, "nothing that would stop it is measured");
    }
}
