//! Puts requests in the order of their times, and hands them on in batches.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use esker_core::Nanos;
use esker_serve::{Command, Observer};
use esker_trace::{Operation, Record, VolumeIndex};

use super::{LATEST, Message, Simplified};

/// Records that are handed on together, and how long the first of them waits for others.
const BATCH: usize = 4096;
const BATCH_AGE: Nanos = Nanos(LATEST.0 / 2);

/// The most requests that wait for an earlier one to end, and how long they do at most after it began. Then it is
/// recorded without a response time.
const WAITING: usize = 1 << 16;
const PATIENCE: Nanos = Nanos::from_secs(5);

/// Where the times of a recording begin.
pub(super) enum Zero {
    /// In 1970: the server's clock was zero at this time.
    ClockAt(Nanos),
    /// With the first request, which came at this time of the server's clock: a recording for others does not tell how
    /// long the server had been there.
    FirstRequest(Option<Nanos>),
}

impl Zero {
    /// The time in the recording of a moment of the server's clock.
    fn time(&mut self, at: Nanos) -> Nanos {
        match self {
            Self::ClockAt(zero) => *zero + at,
            Self::FirstRequest(first) => at.saturating_sub(*first.get_or_insert(at)),
        }
    }
}

pub(super) struct Recorder {
    /// `None` once the recording has ended.
    sender: Option<SyncSender<Message>>,
    /// The operations that the format knows.
    known: &'static [Operation],
    zero: Zero,
    /// Requests that have not ended, and those that came after them; with the number of the first.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// How many of them have ended.
    ended: usize,
    batch: Vec<Record>,
    /// When the first record of the batch was put there.
    batch_since: Nanos,
    simplified: Simplified,
}

struct Waiting {
    record: Record,
    /// When it began, by the server's clock.
    since: Nanos,
    has_ended: bool,
}

impl Recorder {
    pub(super) fn new(sender: SyncSender<Message>, known: &'static [Operation], zero: Zero) -> Self {
        let (waiting, batch, simplified) = (VecDeque::new(), Vec::with_capacity(BATCH), Simplified::default());
        let batch_since = Nanos::ZERO;
        Self { sender: Some(sender), known, zero, waiting, first: 1, ended: 0, batch, batch_since, simplified }
    }

    /// The record of a request without its response time; `None` if the format does not know such.
    fn record(&mut self, at: Nanos, export: usize, command: Command) -> Option<Record> {
        let (operation, is_durable) = match command {
            Command::Read { .. } => (Operation::Read, false),
            Command::Write { durable, .. } => (Operation::Write, durable),
            Command::Trim { durable, .. } => (Operation::Trim, durable),
            Command::WriteZeroes { durable, no_hole, .. } => {
                self.simplified.zeroes += 1;
                (if no_hole { Operation::Write } else { Operation::Trim }, durable)
            }
            Command::Flush => (Operation::Flush, false),
            Command::Cache { .. } | Command::BlockStatus { .. } => return None,
        };
        if !self.known.contains(&operation) {
            self.simplified.left_out += 1;
            return None;
        }
        self.simplified.durable += u64::from(is_durable);
        let (offset, length) = command.range();
        let volume = VolumeIndex(export as u32);
        Some(Record { at: self.zero.time(at), offset, length, volume, operation, response: None })
    }

    /// When the first request that waits has held up others for long enough.
    fn overdue(&self) -> Nanos {
        let first = self.waiting.front().filter(|_| self.ended > 0);
        first.map_or(Nanos::NEVER, |waiting| waiting.since + PATIENCE)
    }

    /// Moves requests that nothing before them holds up to the batch.
    fn move_ended(&mut self, now: Nanos) {
        while let Some(waiting) = self.waiting.front()
            && (waiting.has_ended || self.waiting.len() > WAITING || self.overdue() <= now)
        {
            self.ended -= usize::from(waiting.has_ended);
            if self.batch.is_empty() {
                self.batch_since = now;
            }
            self.batch.extend(self.waiting.pop_front().map(|waiting| waiting.record));
            self.first += 1;
        }
        if self.batch.len() >= BATCH {
            self.send();
        }
    }

    /// When the batch has waited for others for long enough.
    fn batch_due(&self) -> Nanos {
        if self.batch.is_empty() { Nanos::NEVER } else { self.batch_since + BATCH_AGE }
    }

    /// Hands on the batch. Ends the recording if it has fallen behind, or if its file cannot be written.
    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        let Some(sender) = &self.sender else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sender.try_send(Message::Records(batch)) {
            self.sender = None;
            self.waiting.clear();
            self.ended = 0;
        }
    }
}

impl Observer for Recorder {
    fn begins(&mut self, at: Nanos, export: usize, command: Command) -> u64 {
        // No request has this number.
        let nobody = 0;
        if self.sender.is_none() {
            return nobody;
        }
        let Some(record) = self.record(at, export, command) else { return nobody };
        self.waiting.push_back(Waiting { record, since: at, has_ended: false });
        self.first + self.waiting.len() as u64 - 1
    }

    fn ends(&mut self, number: u64, at: Nanos) {
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(waiting) = index.and_then(|index| self.waiting.get_mut(index)) else { return };
        waiting.record.response = Some(self.zero.time(at).saturating_sub(waiting.record.at));
        waiting.has_ended = true;
        self.ended += 1;
        self.move_ended(at);
    }

    fn step(&mut self, now: Nanos) {
        self.move_ended(now);
        if self.batch_due() <= now {
            self.send();
        }
    }

    fn next_event(&self) -> Nanos {
        self.batch_due().min(self.overdue())
    }
}

impl Drop for Recorder {
    /// Hands on what is left. Nobody is served any more, so that it may wait.
    fn drop(&mut self) {
        let Some(sender) = self.sender.take() else { return };
        self.batch.extend(self.waiting.drain(..).map(|waiting| waiting.record));
        // If the file cannot be written, the one who writes it says so.
        let _ = sender.send(Message::Records(std::mem::take(&mut self.batch)));
        let _ = sender.send(Message::End(self.simplified));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn read(offset: u64) -> Command {
        Command::Read { offset, length: 512, in_one_piece: false }
    }

    fn recorder(queue: usize) -> (Recorder, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::sync_channel(queue);
        (Recorder::new(sender, &[Operation::Read, Operation::Write], Zero::ClockAt(Nanos(1000))), receiver)
    }

    fn records(receiver: &mpsc::Receiver<Message>) -> Vec<(u64, u64, Option<u64>)> {
        let of = |record: &Record| (record.at.0, record.offset, record.response.map(|response| response.0));
        let messages = receiver.try_iter().filter_map(|message| match message {
            Message::Records(records) => Some(records),
            Message::End(_) => None,
        });
        messages.flatten().map(|record| of(&record)).collect()
    }

    #[test]
    fn records_come_in_the_order_in_which_requests_began() {
        let (mut recorder, receiver) = recorder(8);
        let numbers = [0, 1, 2].map(|at| recorder.begins(Nanos(at), 0, read(512 * at)));
        recorder.ends(numbers[1], Nanos(10));
        recorder.ends(numbers[2], Nanos(20));
        recorder.step(Nanos::from_secs(4));
        assert_eq!(records(&receiver), [], "the first one has not ended");
        assert_eq!(recorder.next_event(), PATIENCE);
        recorder.ends(numbers[0], Nanos(30));
        assert_eq!(recorder.next_event(), Nanos(30) + BATCH_AGE);
        recorder.step(recorder.next_event());
        assert_eq!(records(&receiver), [(1000, 0, Some(30)), (1001, 512, Some(9)), (1002, 1024, Some(18))]);
        // What has not ended when the server does has no response time.
        recorder.begins(Nanos(40), 0, read(0));
        drop(recorder);
        assert_eq!(records(&receiver), [(1040, 0, None)]);
    }

    /// Nobody who gets the trace learns how long the server had been there.
    #[test]
    fn an_anonymous_recording_begins_with_its_first_request() {
        let (sender, receiver) = mpsc::sync_channel(8);
        let mut recorder = Recorder::new(sender, &[Operation::Read], Zero::FirstRequest(None));
        for (begin, end) in [(5_000_000, 5_000_030), (5_000_040, 5_000_100)] {
            let number = recorder.begins(Nanos(begin), 0, read(0));
            recorder.ends(number, Nanos(end));
        }
        drop(recorder);
        assert_eq!(records(&receiver), [(0, 0, Some(30)), (40, 0, Some(60))]);
    }

    /// What waits here and what waits to be written has to be in the file within the time that is promised.
    #[test]
    fn a_batch_is_handed_on_before_the_other_half_of_its_time_begins() {
        let (mut recorder, receiver) = recorder(8);
        let number = recorder.begins(Nanos(0), 0, read(0));
        recorder.ends(number, Nanos(10));
        recorder.step(Nanos(10) + Nanos(LATEST.0 / 2));
        assert_eq!(records(&receiver), [(1000, 0, Some(10))]);
    }

    #[test]
    fn a_request_that_never_ends_does_not_hold_up_all_others() {
        let (mut recorder, receiver) = recorder(1 << 10);
        recorder.begins(Nanos(0), 0, read(0));
        for at in 1..=2 * WAITING as u64 {
            let number = recorder.begins(Nanos(at), 0, read(512));
            recorder.ends(number, Nanos(at));
        }
        assert!(recorder.waiting.is_empty() && recorder.batch.len() < BATCH);
        drop(recorder);
        let all = records(&receiver);
        assert_eq!(all.len(), 2 * WAITING + 1);
        assert_eq!(all[0].2, None);
        assert!(all[1..].iter().all(|(_, _, response)| *response == Some(0)));
    }

    /// Also where few come after it.
    #[test]
    fn a_request_under_way_holds_up_others_for_some_seconds_only() {
        let (mut recorder, receiver) = recorder(8);
        let slow = [0, 1].map(|at| recorder.begins(Nanos::from_secs(at), 0, read(0)));
        assert_eq!(recorder.next_event(), Nanos::NEVER, "nobody waits for them");
        let quick = recorder.begins(Nanos::from_secs(2), 0, read(512));
        recorder.ends(quick, Nanos::from_secs(2) + Nanos(7));
        for due in [PATIENCE, PATIENCE + BATCH_AGE, Nanos::from_secs(1) + PATIENCE] {
            assert_eq!(recorder.next_event(), due);
            recorder.step(due);
        }
        let second = Nanos::from_secs(1).0;
        assert_eq!(records(&receiver), [(1_000, 0, None)]);
        recorder.step(recorder.next_event());
        assert_eq!(records(&receiver), [(1_000 + second, 0, None), (1_000 + 2 * second, 512, Some(7))]);
        // They are in the file, and have ended too late for that to be told.
        slow.into_iter().for_each(|number| recorder.ends(number, Nanos::from_secs(9)));
        assert_eq!(recorder.next_event(), Nanos::NEVER);
        // Nothing waits behind this one: it keeps its response time.
        let alone = recorder.begins(Nanos::from_secs(10), 0, read(0));
        recorder.step(Nanos::from_secs(20));
        recorder.ends(alone, Nanos::from_secs(21));
        recorder.step(recorder.next_event());
        assert_eq!(records(&receiver), [(1_000 + 10 * second, 0, Some(11 * second))]);
    }

    #[test]
    fn a_recording_that_falls_behind_ends_and_holds_up_nobody() {
        let (mut recorder, receiver) = recorder(2);
        for at in 0..10 * BATCH as u64 {
            let number = recorder.begins(Nanos(at), 0, read(0));
            recorder.ends(number, Nanos(at));
        }
        assert!(recorder.sender.is_none() && recorder.waiting.is_empty());
        drop(recorder);
        assert_eq!(records(&receiver).len(), 2 * BATCH);
        assert!(receiver.try_recv().is_err(), "nothing says that all was sent");
    }

    #[test]
    fn what_a_trace_does_not_hold_is_counted() {
        let (mut recorder, receiver) = recorder(8);
        let (offset, length) = (0, 512);
        for command in [
            Command::Write { offset, length, durable: true },
            Command::WriteZeroes { offset, length, durable: false, no_hole: true, only_if_fast: false },
            Command::WriteZeroes { offset, length, durable: false, no_hole: false, only_if_fast: false },
            Command::Flush,
        ] {
            recorder.begins(Nanos(0), 0, command);
        }
        drop(recorder);
        let end = receiver.try_iter().find_map(|message| match message {
            Message::Records(_) => None,
            Message::End(simplified) => Some(simplified),
        });
        // Trims and flushes are unknown here.
        assert_eq!(end, Some(Simplified { durable: 1, zeroes: 2, left_out: 2 }));
    }
}
