//! What tests serve.

use std::collections::VecDeque;

use esker_core::{Bytes, Nanos, Request, RequestKind, Tag};
use esker_volume::{Buffer, Reply, ReplyData};
use serde_json::Value;

use crate::control::ControlError;
use crate::metrics::Metrics;
use crate::served::Served;
use crate::status::ServingStatus;

/// Answers all requests, but reads, in the next step, keeps nothing and counts flushes.
pub(crate) struct Emptiness {
    capacity: Bytes,
    begun: Vec<(Tag, Request)>,
    replies: VecDeque<Reply>,
    /// Flushes that were answered.
    pub(crate) flushes: u32,
    /// Whether something moves in the background, without end.
    pub(crate) is_moving: bool,
}

impl Emptiness {
    pub(crate) fn new(capacity: Bytes) -> Self {
        Self { capacity, begun: Vec::new(), replies: VecDeque::new(), flushes: 0, is_moving: false }
    }
}

impl Served for Emptiness {
    type Operation = Value;

    fn capacity(&self) -> Bytes {
        self.capacity
    }
    fn description(&self) -> String {
        "emptiness".to_string()
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn buffer(&mut self, length: usize) -> Buffer {
        Buffer::zeroed(length)
    }
    fn submit(&mut self, tag: Tag, request: Request, _: Buffer) {
        self.begun.push((tag, request));
    }
    fn step(&mut self) {
        for (tag, request) in self.begun.drain(..) {
            self.flushes += u32::from(request.kind == RequestKind::Flush);
            self.replies.push_back(Reply { tag, at: Nanos::ZERO, result: Ok(()), data: ReplyData::default() });
        }
    }
    fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
    fn recycle(&mut self, _: ReplyData) {}
    fn written_run(&self, _: Bytes, length: Bytes) -> (Bytes, bool) {
        (length, false)
    }
    fn is_busy(&self) -> bool {
        self.is_moving || !self.begun.is_empty() || !self.replies.is_empty()
    }
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }
    fn operate(&mut self, _: u32, _: Value, _: &ServingStatus) -> Option<Result<Value, ControlError>> {
        Some(Ok(Value::Null))
    }
    fn next_answer(&mut self) -> Option<(u32, Result<Value, ControlError>)> {
        None
    }
    fn add_figures(&self, _: &mut Metrics) {}
}
