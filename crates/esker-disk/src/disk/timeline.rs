//! A timeline: a number of accesses, each with what the arm did for it.

use esker_core::{Bytes, Nanos};
use esker_results::{DiskAccess, DiskAccessKind, DiskTimeline};

use super::{Command, Disk};
use crate::{Access, Waiting};

/// A recording of the first accesses since measuring began.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    most: usize,
    accesses: Vec<DiskAccess>,
}

impl Timeline {
    /// Records the first `most` accesses.
    pub(super) fn new(most: u32) -> Self {
        Self { most: most as usize, accesses: Vec::new() }
    }

    /// Discards everything recorded so far, since measuring begins.
    pub(super) fn start(&mut self) {
        self.accesses.clear();
    }

    /// Records a read that was answered from the buffer at `now` and ends at `end`.
    pub(super) fn buffered(&mut self, now: Nanos, command: &Command, end: Nanos) {
        self.push(DiskAccess {
            kind: DiskAccessKind::BufferedRead,
            length_bytes: command.sectors * Bytes::SECTOR.0,
            arrival_ns: command.submitted.0,
            start_ns: now.0,
            end_ns: end.0,
            ..DiskAccess::default()
        });
    }

    /// Records an access that began at `begin` and left the arm at `cylinder`. Its request ends at `end`.
    pub(super) fn access(
        &mut self,
        begin: Nanos,
        (next, command): (&Waiting, &Command),
        access: &Access,
        end: Nanos,
        cylinder: u32,
    ) {
        let kind = match (next.write, command.ended) {
            (false, _) => DiskAccessKind::Read,
            (true, false) => DiskAccessKind::Write,
            (true, true) => DiskAccessKind::EarlyWrite,
        };
        self.push(DiskAccess {
            kind,
            arm: 0,
            length_bytes: command.sectors * Bytes::SECTOR.0,
            arrival_ns: command.submitted.0,
            start_ns: begin.0,
            seek_ns: access.seek.0,
            rotation_ns: access.rotation.0,
            transfer_ns: access.transfer.0,
            end_ns: end.0,
            cylinder: Some(cylinder),
        });
    }

    fn push(&mut self, access: DiskAccess) {
        if self.accesses.len() < self.most {
            self.accesses.push(access);
        }
    }
}

/// Returns the timeline of a disk with these arms, if they have recorded one.
pub(super) fn report_of(arms: &[&Disk]) -> Option<DiskTimeline> {
    let mut accesses = Vec::new();
    for (arm, disk) in (0..).zip(arms) {
        let recorded = disk.timeline.as_ref()?.accesses.iter();
        accesses.extend(recorded.map(|access| DiskAccess { arm, ..*access }));
    }
    Some(DiskTimeline { accesses })
}
