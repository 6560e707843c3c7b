//! The thread that writes a recording.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use esker_core::Nanos;
use esker_trace::{TraceError, TraceWriter, WriteNotes};
use esker_volume::{Clock, SystemClock};

use super::{LATEST, Message, Simplified};
use crate::output::remark;

/// After this time at most, what was received is in the file.
const PERIOD: Nanos = Nanos(LATEST.0 / 2);

/// How a recording has ended.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    notes: Option<WriteNotes>,
    simplified: Simplified,
    /// The first request that the format could not hold, and how many there were.
    unfit: Option<(String, u64)>,
    /// Why the recording is not complete.
    pub(super) failure: Option<String>,
}

impl Outcome {
    /// What was recorded, and what is not as it was.
    pub(super) fn lines(&self) -> Vec<String> {
        let Some(notes) = &self.notes else { return Vec::new() };
        let mut lines = vec![format!("recorded {} requests", notes.records)];
        let Simplified { durable, zeroes, left_out } = self.simplified;
        let counts = [
            (durable, "were to be durable at once (FUA), which a trace does not hold"),
            (zeroes, "were zeroes: recorded as trims, or as writes if the bytes had to stay allocated"),
            (left_out, "were left out: the format does not know their kind"),
        ];
        let said = counts.iter().filter(|(count, _)| *count > 0);
        lines.extend(said.map(|(count, what)| format!("note: {count} requests {what}")));
        lines.extend(self.unfit.iter().map(|(first, count)| format!("note: {count} requests were left out: {first}")));
        lines.extend(notes.lines().into_iter().map(|line| format!("note: {line}")));
        lines
    }
}

/// Writes what it receives until all was sent. `path` is for errors, which are also told at once: a server may go on
/// for long.
pub(super) fn write(receiver: &Receiver<Message>, writer: TraceWriter, clock: SystemClock, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let written = write_all(receiver, writer, clock, &mut outcome);
    match written {
        Ok(notes) => outcome.notes = Some(notes),
        Err(error) => outcome.failure = Some(format!("the recording {path} has ended: {error}")),
    }
    if let Some(failure) = &outcome.failure {
        remark(&format!("{failure}; clients are served on"));
    }
    outcome
}

fn write_all(
    receiver: &Receiver<Message>,
    mut writer: TraceWriter,
    clock: SystemClock,
    outcome: &mut Outcome,
) -> Result<WriteNotes, TraceError> {
    let mut written_at = clock.now();
    loop {
        match receiver.recv_timeout(Duration::from_nanos(PERIOD.0)) {
            Ok(Message::Records(records)) => {
                for record in &records {
                    match writer.push(record) {
                        Ok(()) => {}
                        Err(error @ TraceError::CannotHold { .. }) => {
                            let (_, count) = outcome.unfit.get_or_insert_with(|| (error.to_string(), 0));
                            *count += 1;
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(Message::End(simplified)) => {
                outcome.simplified = simplified;
                return writer.finish();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                outcome.failure = Some("the recording has ended early: its file was written too slowly".to_string());
                return writer.finish();
            }
        }
        let now = clock.now();
        if now.saturating_sub(written_at) >= PERIOD {
            writer.write_waiting()?;
            written_at = now;
        }
    }
}
