//! Requests and their completions as events in order of time, for formats that write both.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use esker_core::Nanos;

use crate::pairing::{Event, Outlet, Pairing, Step, WAITING_MAX};
use crate::sink::Found;
use crate::{Record, VolumeIndex};

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
    /// Requests by number, from `first`; `None` once they need no completion.
    records: VecDeque<Option<Record>>,
    first: u64,
    /// Records before the first one with a response time, as many as can still wait for a completion then. Most traces
    /// without response times have none at all, and there is nothing to mistake.
    unanswered: Option<Vec<Record>>,
    /// Those before them, of which the pairing does not know: its numbers begin behind them.
    given_up: u64,
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
        self.count += 1;
    }
}

impl Events {
    pub(crate) fn new(begin: Step, told: Told) -> Self {
        Self {
            begin,
            told,
            due: BinaryHeap::new(),
            records: VecDeque::new(),
            first: 0,
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
        let number = self.first + self.records.len() as u64;
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
        // A completion later than any time that can be written is as good as none.
        let at = record.response.and_then(|response| record.at.0.checked_add(response.0));
        match at {
            Some(at) => {
                self.due.push(Reverse((Nanos(at), number)));
                self.records.push_back(Some(*record));
            }
            None if self.records.is_empty() => self.first += 1,
            None => self.records.push_back(None),
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
        let record = self.records[(number - self.first) as usize].take().expect("a request completes once");
        write(Written { step: Step::Complete, at, record: &record, number });
        let paired = number - self.given_up;
        match self.told {
            Told::ByRange => {
                self.pairing.end_known(paired, &event(Step::Complete, at, &record), &mut self.readback);
            }
            Told::ByNumber => self.pairing.end_numbered(paired, at, &mut self.readback),
        }
        self.forget();
    }

    fn forget(&mut self) {
        while let Some(None) = self.records.front() {
            self.records.pop_front();
            self.first += 1;
        }
    }
}

fn event(step: Step, at: Nanos, record: &Record) -> Event {
    let Record { offset, length, volume: VolumeIndex(volume), operation, .. } = *record;
    Event { at, step, volume: VolumeIndex(volume), operation, offset, length: u64::from(length) }
}
