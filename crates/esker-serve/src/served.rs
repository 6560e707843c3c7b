//! What a server serves.

use esker_core::{Bytes, Nanos, Request, Tag};
use esker_volume::{Buffer, Reply, ReplyData};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::control::ControlError;
use crate::log::LogEvent;
use crate::metrics::Metrics;
use crate::status::ServingStatus;

/// What a server serves: a volume, or an emulated device. It does not block, and the thread that serves drives it.
pub trait Served {
    /// What operators ask for.
    type Operation: DeserializeOwned;

    /// Bytes that clients see when they connect.
    fn capacity(&self) -> Bytes;

    /// What it is, in a few words, for lists of exports.
    fn description(&self) -> String;

    /// Returns true if nothing can be written.
    fn is_read_only(&self) -> bool;

    /// Returns false while it cannot be reached, as without power: clients lose their connections, and new ones are
    /// closed at once.
    fn is_reachable(&self) -> bool {
        true
    }

    /// Returns true while what operators have asked for is under way.
    fn is_changing(&self) -> bool {
        false
    }

    /// The name of a device that has failed since this was opened, if one has: another process may not be able to open
    /// it.
    fn failed_device(&self) -> Option<String> {
        None
    }

    /// Memory of `length` bytes for the data of a write.
    fn buffer(&mut self, length: usize) -> Buffer;

    /// Begins a request, which a reply with the same tag ends.
    fn submit(&mut self, tag: Tag, request: Request, data: Buffer);

    /// Does what can be done without waiting.
    fn step(&mut self);

    /// Returns the next reply.
    fn next_reply(&mut self) -> Option<Reply>;

    /// Takes back the memory of a reply.
    fn recycle(&mut self, data: ReplyData);

    /// The first bytes of a range that were all written, or none of them: their number, and which. What was never
    /// written reads as zeroes.
    fn written_run(&self, from: Bytes, length: Bytes) -> (Bytes, bool);

    /// Returns true while it has requests under way, or work of its own, which may go on without end.
    fn is_busy(&self) -> bool;

    /// When it has to be stepped next, if nothing comes before.
    fn next_event(&self) -> Nanos;

    /// Returns true if the time of [`Self::next_event`] matters to the microsecond. Then the thread does not sleep in
    /// the last moments before it.
    fn is_punctual(&self) -> bool {
        false
    }

    /// Begins what `asked_by` asks for. Returns the answer if there is one at once; otherwise `next_answer` returns it.
    fn operate(
        &mut self,
        asked_by: u32,
        operation: Self::Operation,
        serving: &ServingStatus,
    ) -> Option<Result<Value, ControlError>>;

    /// Goes on with what operators have asked for. Returns what has ended: who asked for it, and the answer.
    fn next_answer(&mut self) -> Option<(u32, Result<Value, ControlError>)>;

    /// What has happened since the last call, for the log.
    fn news(&mut self, _now: Nanos) -> Vec<LogEvent> {
        Vec::new()
    }

    /// Adds its figures to those of the server.
    fn add_figures(&self, figures: &mut Metrics);
}
