//! Merged writes: a write that replaces only a part of an extent's data goes to another device with the rest, which is
//! read from the old place first.
//!
//! Until the write has ended, the extent stays where it is: reads go to the old place, and all other requests to the
//! extent wait. If the rest cannot be read, the host's write goes to the old place after all.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind, Tag};

use super::copies::COPIES_MAX;
use super::io::HostRange;
use super::leaving_places::WaitsFor;
use super::map::ExtentWork;
use super::{HostPart, Io, PlacementEngine};
use crate::engine::{BufferId, BufferPlace, BufferStep, DataRef, Effect, IoId};
use crate::extent::{ExtentPlace, LogicalExtent};

/// A merged write under way.
#[derive(Clone, Debug)]
pub(super) struct Merge {
    /// The write to the new place, with the rest.
    part: HostPart,
    from: ExtentPlace,
    /// Zeroes before and after the host's data, which fill up blocks that were never written.
    zeroes: (u64, u64),
    /// The host's request.
    request: Request,
}

impl Merge {
    /// The new place.
    pub(super) fn to(&self) -> ExtentPlace {
        self.part.place
    }

    /// The old place, and the extent.
    pub(super) fn from(&self) -> (LogicalExtent, ExtentPlace) {
        (self.part.first, self.from)
    }
}

/// The buffer of a merge. Those of copies have the numbers below.
const fn buffer(merge: Tag) -> BufferId {
    BufferId::Copy(COPIES_MAX as u32 + merge.slot())
}

impl PlacementEngine {
    /// Reads the blocks `rest` of `extent`, in order to write them to the place `to` with the part of the host's write
    /// that touches the extent.
    pub(super) fn begin_merge(
        &mut self,
        host: &HostRange<'_>,
        extent: LogicalExtent,
        (from, to): (ExtentPlace, ExtentPlace),
        rest: Range<usize>,
        effects: &mut Vec<Effect>,
    ) {
        let HostRange { now, tag, request, ref range, refusals, .. } = *host;
        let begin = u64::from(extent.0) * self.extent;
        let (start, end) = (range.start.max(begin), range.end.min(begin + self.extent));
        let own = self.blocks_within(extent, start..end);
        let zeroes = self.padding(start, end);
        let first_write = !self.map.blocks.all_written(own.clone());
        if first_write {
            self.first_writes += 1;
            self.map.blocks.claim(own.clone());
        }
        let size = self.map.blocks.size;
        let Range { start: first, end: last } = size.bytes_of(&(own.start.min(rest.start)..own.end.max(rest.end)));
        let at =
            |place: ExtentPlace, byte: u64| Lba::containing(u64::from(place.extent.0) * self.extent + byte - begin);
        let part = HostPart {
            host: tag,
            offset: start - request.start.byte_offset(),
            first: extent,
            place: to,
            count: 1,
            first_write,
            redirect: true,
            merge: None,
            request: Request { start: at(to, first), length: Bytes(last - first), ..*request },
            padding: (start - first, last - end),
            refusals,
            widened: false,
            sent: now,
        };
        let (byte, length) = (size.bytes_of(&rest).start, size.length_of(&rest));
        let read = Request { kind: RequestKind::Read, start: at(from, byte), length, ..*request };
        let merge = self.merges.insert(Merge { part, from, zeroes, request: *request });
        self.merges.get_mut(merge).part.merge = Some(merge);
        self.hosts.wait(tag);
        let io = IoId(self.ios.insert(Io::MergeRead { merge, sent: now, length }));
        let data = Some(DataRef::new(buffer(merge), Bytes(byte - first)));
        effects.push(Effect::Io { io, host: Some(tag), device: from.device, request: read, data });
    }

    /// Handles the end of the read of the rest: writes everything to the new place, or lets the host's write go to the
    /// old one.
    pub(super) fn merge_read(
        &mut self,
        now: Nanos,
        tag: Tag,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let Merge { part, from, zeroes, .. } = self.merges.get_mut(tag).clone();
        if result.is_err() || self.health.has_failed(from.device) || !self.takes_writes(part.place) {
            return self.give_merge_up(now, tag, effects);
        }
        let (before, after) = part.padding;
        let length = part.request.length.0 - before - after;
        let into = |at: u64| BufferPlace::new(buffer(tag), Bytes(at));
        let fills = [(before - zeroes.0, zeroes.0), (before + length, zeroes.1)];
        for (at, zeroes) in fills.into_iter().filter(|(_, zeroes)| *zeroes > 0) {
            effects.push(Effect::Buffer(BufferStep::Zero { into: into(at), length: Bytes(zeroes) }));
        }
        let from = BufferPlace::new(BufferId::Host(part.host), Bytes(part.offset));
        effects.push(Effect::Buffer(BufferStep::Copy { from, into: into(before), length: Bytes(length) }));
        self.send_host_part(HostPart { sent: now, ..part }, Some(DataRef::new(buffer(tag), Bytes::ZERO)), effects);
    }

    /// Ends a merge whose rest could not be read, or has no place to go to.
    fn give_merge_up(&mut self, now: Nanos, tag: Tag, effects: &mut Vec<Effect>) {
        let Merge { part, from, request, .. } = self.merges.remove(tag);
        let HostPart { host, offset, first: extent, padding: (before, after), .. } = part;
        self.redirects -= 1;
        self.map.set_work(extent, ExtentWork::None);
        self.first_writes -= u32::from(part.first_write);
        self.map.blocks.unclaim(self.map.blocks_of(extent));
        // Nothing was written there.
        self.leaving.add(part.place, WaitsFor::Nothing, 0, false);
        if self.health.journal_failed() {
            self.hosts.note(host, offset, DeviceError::Failed);
        } else if self.health.device(from.device) == DeviceState::ReadOnly {
            self.hosts.note(host, offset, DeviceError::ReadOnly);
        } else {
            let start = request.start.byte_offset() + offset;
            let range = start..start + part.request.length.0 - before - after;
            let refusals = part.refusals;
            let range = HostRange { now, tag: host, request: &request, range, refusals, widened: false, merges: false };
            self.split_range(range, effects);
        }
        self.child_ended(host, offset, Ok(()), effects);
    }
}
