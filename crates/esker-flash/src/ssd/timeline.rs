//! The first requests one by one, with what the flash did for them.

use esker_core::{Completion, Nanos, Request, RequestKind, TimelineOperation, TimelineReport, TimelineRequest};

use super::probes::cause_name;
use crate::array::Performed;

const NONE: u32 = u32::MAX;
/// More operations than this are counted, but not kept.
const OPERATIONS_MAX: usize = 200_000;

/// A recording, from the start of measuring to the end of its last request.
#[derive(Debug)]
pub(super) struct Timeline {
    length: u32,
    /// Requests of the timeline that have not ended.
    open: u32,
    measuring: bool,
    /// Per slot of the drive, the request of the timeline that has it.
    of_slot: Vec<u32>,
    report: TimelineReport,
}

impl Timeline {
    pub(super) fn new(length: u32) -> Self {
        Self { length, open: 0, measuring: false, of_slot: Vec::new(), report: TimelineReport::default() }
    }

    /// Begins anew.
    pub(super) fn start(&mut self) {
        *self = Self { measuring: true, ..Self::new(self.length) };
    }

    fn is_full(&self) -> bool {
        self.report.requests.len() == self.length as usize
    }

    /// A request was taken.
    pub(super) fn submitted(&mut self, now: Nanos, slot: u32, request: &Request) {
        if self.of_slot.len() <= slot as usize {
            self.of_slot.resize(slot as usize + 1, NONE);
        }
        self.of_slot[slot as usize] = NONE;
        if !self.measuring || self.is_full() {
            return;
        }
        self.of_slot[slot as usize] = self.report.requests.len() as u32;
        self.open += 1;
        self.report.requests.push(TimelineRequest {
            kind: match request.kind {
                RequestKind::Read => "read",
                RequestKind::Write { .. } => "write",
                RequestKind::WriteZeroes { .. } => "write-zeroes",
                RequestKind::Trim => "trim",
                RequestKind::Flush => "flush",
            }
            .to_string(),
            offset_bytes: request.start.byte_offset(),
            length_bytes: request.length.0,
            arrival_ns: now.0,
            start_ns: None,
            end_ns: None,
        });
    }

    /// Flash operations ended; the requests that waited for them still have their slots.
    pub(super) fn performed(&mut self, operations: impl Iterator<Item = Performed>) {
        // Before the last of its requests has ended, whatever is done may be in their way.
        let wanted = self.measuring && !(self.is_full() && self.open == 0);
        for done in operations {
            if !wanted {
                continue;
            }
            if self.report.operations.len() == OPERATIONS_MAX {
                self.report.operations_left_out += 1;
                continue;
            }
            let request = self.of_slot.get(done.request as usize).copied().filter(|request| *request != NONE);
            self.report.operations.push(TimelineOperation {
                die: done.die,
                plane: done.plane,
                kind: done.step.name().to_string(),
                cause: cause_name(done.cause).to_string(),
                request,
                begin_ns: done.begin.0,
                end_ns: done.end.0,
            });
        }
    }

    /// A request left the drive.
    pub(super) fn completed(&mut self, slot: u32, completion: &Completion) {
        let index = std::mem::replace(&mut self.of_slot[slot as usize], NONE);
        if index == NONE {
            return;
        }
        self.open -= 1;
        let request = &mut self.report.requests[index as usize];
        (request.start_ns, request.end_ns) = (Some(completion.service_start.0), Some(completion.at.0));
    }

    pub(super) fn report(&self) -> TimelineReport {
        self.report.clone()
    }
}
