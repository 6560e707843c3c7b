//! A timeline: a number of requests, each with the flash operations performed for it.

use std::collections::VecDeque;

use esker_core::{Completion, Nanos, Request, RequestKind, Stretch};
use esker_nand::array::Performed;
use esker_results::{TimelineOperation, TimelineReport, TimelineRequest};

use super::probes::cause_name;

const NONE: u64 = u64::MAX;
/// Most operations that are kept; further ones are only counted. A timeline of the first requests drops the latest
/// operations, a timeline of the last requests the earliest ones.
const OPERATIONS_MAX: usize = 200_000;
/// Most requests that are kept beyond the number asked for while an earlier one has not ended.
const BEYOND_MAX: usize = 10_000;

/// A recording of requests and operations. A recording of the first requests stops when the last of them has ended; a
/// recording of the last requests goes on for the whole run.
#[derive(Debug)]
pub(super) struct Timeline {
    stretch: Stretch,
    /// Number of kept requests that have not ended.
    open: u32,
    measuring: bool,
    /// For each slot of the drive, the number of its request since measuring began.
    of_slot: Vec<u64>,
    /// The number of the first request kept.
    first: u64,
    requests: VecDeque<Kept>,
    /// Operations in the order of their ends, each with the number of the request that waits for it.
    operations: VecDeque<(u64, Performed)>,
    left_out: u64,
}

/// A request of the timeline.
#[derive(Debug)]
struct Kept {
    request: Request,
    arrival: Nanos,
    /// When its service began, and when it ended.
    ended: Option<(Nanos, Nanos)>,
}

impl Timeline {
    pub(super) fn new(stretch: Stretch) -> Self {
        Self {
            stretch,
            open: 0,
            measuring: false,
            of_slot: Vec::new(),
            first: 0,
            requests: VecDeque::new(),
            operations: VecDeque::new(),
            left_out: 0,
        }
    }

    /// Discards everything recorded so far and begins to record, since measuring begins.
    pub(super) fn start(&mut self) {
        *self = Self { measuring: true, ..Self::new(self.stretch) };
    }

    /// Returns true if no more requests are to be recorded.
    fn is_full(&self) -> bool {
        match self.stretch {
            Stretch::First(length) => self.requests.len() == length as usize,
            Stretch::Last(_) => false,
        }
    }

    /// Records a request that the drive accepted.
    pub(super) fn submitted(&mut self, now: Nanos, slot: u32, request: &Request) {
        if self.of_slot.len() <= slot as usize {
            self.of_slot.resize(slot as usize + 1, NONE);
        }
        self.of_slot[slot as usize] = NONE;
        if !self.measuring || self.is_full() {
            return;
        }
        self.of_slot[slot as usize] = self.first + self.requests.len() as u64;
        self.open += 1;
        self.requests.push_back(Kept { request: *request, arrival: now, ended: None });
        if let Stretch::Last(length) = self.stretch {
            self.forget(length as usize);
        }
    }

    /// Drops the requests before the last `length`, and the operations that ended before the remaining requests
    /// arrived.
    fn forget(&mut self, length: usize) {
        let before = self.first;
        while let Some(front) = self.requests.front()
            && self.requests.len() > if front.ended.is_some() { length } else { length + BEYOND_MAX }
        {
            self.open -= u32::from(front.ended.is_none());
            self.requests.pop_front();
            self.first += 1;
        }
        let Some(front) = self.requests.front().filter(|_| self.first > before) else { return };
        while self.operations.front().is_some_and(|(_, done)| done.end <= front.arrival) {
            self.operations.pop_front();
        }
    }

    /// Records flash operations that ended. The requests that waited for them must still have their slots.
    pub(super) fn performed(&mut self, operations: impl Iterator<Item = Performed>) {
        // Until the last recorded request has ended, any operation may delay a recorded request.
        let wanted = self.measuring && !(self.is_full() && self.open == 0);
        for done in operations {
            if !wanted {
                continue;
            }
            if self.operations.len() == OPERATIONS_MAX {
                self.left_out += 1;
                match self.stretch {
                    Stretch::First(_) => continue,
                    Stretch::Last(_) => self.operations.pop_front(),
                };
            }
            let request = done.waiter.slot().and_then(|slot| self.of_slot.get(slot as usize)).copied().unwrap_or(NONE);
            self.operations.push_back((request, done));
        }
    }

    /// Records the end of a request.
    pub(super) fn completed(&mut self, slot: u32, completion: &Completion) {
        let number = std::mem::replace(&mut self.of_slot[slot as usize], NONE);
        if number == NONE || number < self.first {
            return;
        }
        self.open -= 1;
        self.requests[(number - self.first) as usize].ended = Some((completion.service_start, completion.at));
    }

    pub(super) fn report(&self) -> TimelineReport {
        let operation = |(request, done): &(u64, Performed)| TimelineOperation {
            die: done.die,
            plane: done.plane,
            kind: done.step.name().to_string(),
            cause: cause_name(done.cause).to_string(),
            request: request.checked_sub(self.first).filter(|_| *request != NONE).map(|index| index as u32),
            begin_ns: done.begin.0,
            end_ns: done.end.0,
            bus_wait_ns: done.bus_wait.0,
        };
        TimelineReport {
            first_request: self.first,
            requests: self.requests.iter().map(Kept::report).collect(),
            operations: self.operations.iter().map(operation).collect(),
            operations_left_out: self.left_out,
        }
    }
}

impl Kept {
    fn report(&self) -> TimelineRequest {
        TimelineRequest {
            kind: match self.request.kind {
                RequestKind::Read => "read",
                RequestKind::Write { .. } => "write",
                RequestKind::WriteZeroes { .. } => "write-zeroes",
                RequestKind::Trim => "trim",
                RequestKind::Flush => "flush",
            }
            .to_string(),
            offset_bytes: self.request.start.byte_offset(),
            length_bytes: self.request.length.0,
            arrival_ns: self.arrival.0,
            start_ns: self.ended.map(|(start, _)| start.0),
            end_ns: self.ended.map(|(_, end)| end.0),
        }
    }
}
