//! Writes requests and their completions as events in order of time, for formats that have both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasherDefault;

use esker_core::Nanos;
use hashbrown::HashMap;

use crate::Record;
use crate::pairing::{Event, MixHasher, Outlet, Pairing, Step, WAITING_MAX};
use crate::sink::Found;

/// How a reader finds the request of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchedBy {
    /// By the range of the request.
    Range,
    /// By the number of the request, which both events have.
    Number,
}

/// An event to write, with the number of its request, counted from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenEvent<'a> {
    pub(crate) step: Step,
    pub(crate) at: Nanos,
    pub(crate) record: &'a Record,
    pub(crate) number: u64,
}

/// Turns records into events. Every event also goes through the pairing that a reader uses. So response times that a
/// reader will find differently, or not at all, are known when they are written.
#[derive(Debug)]
pub(crate) struct Events {
    /// The step that starts a request.
    begin: Step,
    matched_by: MatchedBy,
    /// Completions to come, by time and number of the request.
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Number of the next request.
    next: u64,
    /// Records before the first one with a response time, as many as can still wait for a completion then. Most traces
    /// without response times have none at all, so there is nothing to mistake.
    unanswered: Option<Vec<Record>>,
    /// Number of records before those. The pairing does not know them: its numbers begin after them.
    given_up: u64,
    /// Also keeps the requests whose completions are still to come.
    pairing: Pairing<Option<Nanos>>,
    readback: Readback,
}

/// What a reader will find.
#[derive(Debug, Default)]
struct Readback {
    /// The response time of the record that is being written.
    response: Option<Nanos>,
    /// Number of requests handed out.
    count: u64,
    /// How many response times a reader finds differently, and the number of the first such request, from 0.
    mistaken: Option<(u64, u64)>,
    /// Time and request of the last completion written; completions are written in this order.
    last: Option<(Nanos, u64)>,
    /// Requests that were handed out before their own completion was written, by number. A reader gives up on them, or
    /// takes another completion for theirs.
    early: HashMap<u64, Found, BuildHasherDefault<MixHasher>>,
}

impl Outlet for Readback {
    type Origin = Option<Nanos>;

    fn origin(&self) -> Option<Nanos> {
        self.response
    }
    fn ignore(&mut self, _: &'static str, _: u64) {}
    fn hand_out(&mut self, found: Found, written: Option<Nanos>) {
        if found.response != written {
            let (count, _) = self.mistaken.get_or_insert((0, self.count));
            *count += 1;
        }
        let due = written.and_then(|response| due(found.at, response)).map(|at| (at, self.count));
        if due > self.last {
            self.early.insert(self.count, found);
        }
        self.count += 1;
    }
}

impl Events {
    pub(crate) fn new(begin: Step, matched_by: MatchedBy) -> Self {
        Self {
            begin,
            matched_by,
            due: BinaryHeap::new(),
            next: 0,
            unanswered: Some(Vec::new()),
            given_up: 0,
            pairing: match matched_by {
                MatchedBy::Range => Pairing::with_known_completions(),
                MatchedBy::Number => Pairing::default(),
            },
            readback: Readback::default(),
        }
    }

    /// Writes the completions that come before `record`, then the start of `record`.
    pub(crate) fn record(&mut self, record: &Record, mut write: impl FnMut(WrittenEvent<'_>)) {
        while let Some(&Reverse((at, number))) = self.due.peek()
            && at < record.at
        {
            self.complete(at, number, &mut write);
        }
        let number = self.next;
        self.next += 1;
        write(WrittenEvent { step: self.begin, at: record.at, record, number });
        match &mut self.unanswered {
            Some(unanswered) if record.response.is_none() => {
                if unanswered.len() == 2 * WAITING_MAX {
                    unanswered.drain(..WAITING_MAX);
                    self.given_up += WAITING_MAX as u64;
                }
                unanswered.push(*record);
            }
            Some(unanswered) => {
                let unanswered = std::mem::take(unanswered);
                self.unanswered = None;
                self.readback.count = self.given_up;
                unanswered.iter().chain([record]).for_each(|record| self.begin(record));
            }
            None => self.begin(record),
        }
        if let Some(at) = record.response.and_then(|response| due(record.at, response)) {
            self.due.push(Reverse((at, number)));
        }
    }

    /// Passes the start of a request to the pairing.
    fn begin(&mut self, record: &Record) {
        self.readback.response = record.response;
        let event = event(self.begin, record.at, record);
        let paired = match self.matched_by {
            MatchedBy::Range => self.pairing.event(event, &mut self.readback),
            MatchedBy::Number => self.pairing.begin_numbered(event, &mut self.readback).map(drop),
        };
        paired.expect("a record's range is sound");
    }

    /// Writes the remaining completions.
    pub(crate) fn end(&mut self, mut write: impl FnMut(WrittenEvent<'_>)) {
        while let Some(&Reverse((at, number))) = self.due.peek() {
            self.complete(at, number, &mut write);
        }
        self.pairing.hand_out_rest(&mut self.readback);
    }

    /// How many response times a reader will find differently or not at all, and the number of the first such record,
    /// from 0. Complete after [`Events::end`].
    pub(crate) fn mistaken(&self) -> Option<(u64, u64)> {
        self.readback.mistaken
    }

    /// Writes the earliest completion that is due.
    fn complete(&mut self, at: Nanos, number: u64, write: &mut impl FnMut(WrittenEvent<'_>)) {
        self.due.pop();
        self.readback.last = Some((at, number));
        let paired = number - self.given_up;
        let waiting = self.pairing.waiting(paired).copied();
        let found = waiting.or_else(|| self.readback.early.remove(&number)).expect("a request completes once");
        let Found { at: issued, offset, length, volume, operation, .. } = found;
        let length = u32::try_from(length).expect("that of a record");
        let response = Some(at - issued);
        let record = Record { at: issued, offset, length, volume, operation, response };
        write(WrittenEvent { step: Step::Complete, at, record: &record, number });
        match self.matched_by {
            MatchedBy::Range => {
                self.pairing.end_known(paired, &event(Step::Complete, at, &record), &mut self.readback);
            }
            MatchedBy::Number => self.pairing.end_numbered(paired, at, &mut self.readback),
        }
    }
}

/// When a request completes; `None` if that is later than any time that can be written.
#[inline]
fn due(issued: Nanos, response: Nanos) -> Option<Nanos> {
    issued.0.checked_add(response.0).map(Nanos)
}

fn event(step: Step, at: Nanos, record: &Record) -> Event {
    let Record { offset, length, volume, operation, .. } = *record;
    Event { at, step, volume, operation, offset, length: u64::from(length) }
}
