//! Requests and their completions as events in order of time, for formats that write both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use esker_core::Nanos;
use hashbrown::HashMap;

use crate::Record;
use crate::pairing::{Event, Outlet, Pairing, Step, WAITING_MAX};
use crate::sink::Found;

/// How a reader finds the request that a completion belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// By its range.
    ByRange,
    /// Both have the number of the request.
    ByNumber,
}

/// An event to be written, and the number of its request, from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) step: Step,
    pub(crate) at: Nanos,
    pub(crate) record: &'a Record,
    pub(crate) number: u64,
}

/// Turns records into events. Every event also goes through the pairing that a reader applies, so that response times
/// which a reader will find otherwise, or not at all, are known when they are written.
#[derive(Debug)]
pub(crate) struct Events {
    /// The step that stands for a request's begin.
    begin: Step,
    told: Told,
    /// Completions to come, by time and number of the request.
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// Number of the next request.
    next: u64,
    /// Records before the first one with a response time, as many as can still wait for a completion then. Most traces
    /// without response times have none at all, and there is nothing to mistake.
    unanswered: Option<Vec<Record>>,
    /// Those before them, of which the pairing does not know: its numbers begin behind them.
    given_up: u64,
    /// Also keeps the requests whose completion is to come.
    pairing: Pairing<Option<Nanos>>,
    readback: Readback,
}

/// What a reader will make of the events.
#[derive(Debug, Default)]
struct Readback {
    /// The response time of the record that is being written.
    response: Option<Nanos>,
    /// Requests handed out.
    count: u64,
    /// How many response times came out otherwise, and the first request, from 0, whose did.
    mistaken: Option<(u64, u64)>,
    /// Time and request of the last completion that was written; completions are written in this order.
    last: Option<(Nanos, u64)>,
    /// Requests that were handed out before their own completion was written, by number: a reader gives up on them, or
    /// takes another completion for theirs.
    early: HashMap<u64, Found>,
}

impl Outlet for Readback {
    type Place = Option<Nanos>;

    fn place(&self) -> Option<Nanos> {
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
    pub(crate) fn new(begin: Step, told: Told) -> Self {
        Self {
            begin,
            told,
            due: BinaryHeap::new(),
            next: 0,
            unanswered: Some(Vec::new()),
            given_up: 0,
            pairing: match told {
                Told::ByRange => Pairing::with_known_completions(),
                Told::ByNumber => Pairing::default(),
            },
            readback: Readback::default(),
        }
    }

    /// Writes what completes before `record`, then its begin.
    pub(crate) fn record(&mut self, record: &Record, mut write: impl FnMut(Written<'_>)) {
        while let Some(&Reverse((at, number))) = self.due.peek()
            && at < record.at
        {
            self.complete(at, number, &mut write);
        }
        let number = self.next;
        self.next += 1;
        write(Written { step: self.begin, at: record.at, record, number });
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

    /// Lets the pairing see that a request begins.
    fn begin(&mut self, record: &Record) {
        self.readback.response = record.response;
        let event = event(self.begin, record.at, record);
        let paired = match self.told {
            Told::ByRange => self.pairing.event(event, &mut self.readback),
            Told::ByNumber => self.pairing.begin_numbered(event, &mut self.readback).map(drop),
        };
        paired.expect("a record's range is sound");
    }

    /// Writes the completions that are left.
    pub(crate) fn end(&mut self, mut write: impl FnMut(Written<'_>)) {
        while let Some(&Reverse((at, number))) = self.due.peek() {
            self.complete(at, number, &mut write);
        }
        self.pairing.rest(&mut self.readback);
    }

    /// How many response times a reader will find otherwise or not at all, and the number of the first, from 0.
    /// Complete after [`Events::end`].
    pub(crate) fn mistaken(&self) -> Option<(u64, u64)> {
        self.readback.mistaken
    }

    /// Writes the earliest completion that is due.
    fn complete(&mut self, at: Nanos, number: u64, write: &mut impl FnMut(Written<'_>)) {
        self.due.pop();
        self.readback.last = Some((at, number));
        let paired = number - self.given_up;
        let waiting = self.pairing.waiting(paired).copied();
        let found = waiting.or_else(|| self.readback.early.remove(&number)).expect("a request completes once");
        let Found { at: issued, offset, length, volume, operation, .. } = found;
        let length = u32::try_from(length).expect("that of a record");
        let response = Some(at - issued);
        let record = Record { at: issued, offset, length, volume, operation, response };
        write(Written { step: Step::Complete, at, record: &record, number });
        match self.told {
            Told::ByRange => {
                self.pairing.end_known(paired, &event(Step::Complete, at, &record), &mut self.readback);
            }
            Told::ByNumber => self.pairing.end_numbered(paired, at, &mut self.readback),
        }
    }
}

/// When a request completes. A completion later than any time that can be written is as good as none.
#[inline]
fn due(issued: Nanos, response: Nanos) -> Option<Nanos> {
    issued.0.checked_add(response.0).map(Nanos)
}

fn event(step: Step, at: Nanos, record: &Record) -> Event {
    let Record { offset, length, volume, operation, .. } = *record;
    Event { at, step, volume, operation, offset, length: u64::from(length) }
}
