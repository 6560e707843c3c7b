//! Writes that a device refuses are sent to another device.
//!
//! A device without space, or one that takes no writes, refuses them without touching other data. If the extents of
//! such a write hold nothing else, they can get another place, and the host never learns of it.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind};

use super::io::HostRange;
use super::map::ExtentWork;
use super::{HostPart, PlacementEngine};
use crate::engine::Effect;

/// Number of devices that may refuse the same data before the host is told.
const REFUSALS_MAX: u8 = 8;

/// A part of a host's write that its device refused.
#[derive(Debug)]
pub(super) struct RefusedPart {
    part: HostPart,
    error: DeviceError,
}

impl PlacementEngine {
    /// Keeps `part`, which has ended with `result`, if its device refused it, to send it elsewhere. Returns false if
    /// the host has to be told of the result.
    pub(super) fn keep_refused(&mut self, part: &HostPart, result: Result<(), DeviceError>) -> bool {
        let Err(error @ (DeviceError::NoSpace | DeviceError::ReadOnly)) = result else { return false };
        let is_write = matches!(part.request.kind, RequestKind::Write { .. });
        if !is_write || part.refusals == REFUSALS_MAX || self.health.journal_failed() {
            return false;
        }
        self.refused.push(RefusedPart { part: *part, error });
        true
    }

    /// Sends refused parts to other devices, once nothing else is under way to their extents.
    #[inline]
    pub(super) fn resend_refused(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        let mut index = 0;
        while let Some(refused) = self.refused.get(index) {
            let is_busy = |extent| self.map.writes(extent) > 0 || self.map.work(extent) != ExtentWork::None;
            if refused.part.places().any(|(extent, _)| is_busy(extent)) {
                index += 1;
                continue;
            }
            let refused = self.refused.swap_remove(index);
            self.resend(now, &refused, effects);
        }
    }

    /// Returns the host's request up to the end of `part`, and the bytes of the volume that `part` carries.
    pub(super) fn host_request_of(&self, part: &HostPart) -> (Request, Range<u64>) {
        let HostPart { offset, first, place, request, padding: (head, tail), .. } = *part;
        let within = request.start.byte_offset() - u64::from(place.extent.0) * self.extent;
        let start = u64::from(first.0) * self.extent + within + head;
        let end = start + request.length.0 - head - tail;
        let length = Bytes(offset + end - start);
        (Request { start: Lba::containing(start - offset), length, ..request }, start..end)
    }

    fn resend(&mut self, now: Nanos, RefusedPart { part, error }: &RefusedPart, effects: &mut Vec<Effect>) {
        let HostPart { host, offset, first, .. } = *part;
        let (whole, range) = self.host_request_of(part);
        let widened = part.widened;
        #[cfg(test)]
        let widened = widened && !self.has_fault(super::tests::Fault::ResendsWidened);
        let stays = if widened {
            let to = self.map.place(first).and_then(|place| self.redirects_to(first, place, &whole, false));
            self.promised = to.as_ref().map(|(to, _)| (first, *to));
            to.is_none()
        } else {
            part.places().any(|(extent, _)| {
                let place = self.map.place(extent).filter(|place| !self.takes_writes(*place));
                place.is_some_and(|place| self.redirects_to(extent, place, &whole, true).is_none())
            })
        };
        if stays {
            return self.child_ended(host, offset, Err(*error), effects);
        }
        let refusals = part.refusals + 1;
        let range = HostRange { now, tag: host, request: &whole, range, refusals, widened, merges: true };
        self.split_range(range, effects);
        self.promised = None;
        self.child_ended(host, offset, Ok(()), effects);
    }
}
