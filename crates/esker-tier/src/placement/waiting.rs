//! Requests of the host that wait: until places become free, or until other writes have ended.

use esker_core::{Bytes, DeviceError, DeviceState, Nanos, Request, RequestKind, Tag};

use super::PlacementEngine;
use super::map::ExtentWork;
use crate::engine::Effect;
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// Why a request of the host has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// No place is free, but some will become free.
    Space,
    /// Its blocks are being written for the first time, or its extent is moving.
    Writes,
}

impl PlacementEngine {
    /// Returns why `request` has to wait; `None` if it need not. Second copies make room for it.
    #[inline]
    pub(super) fn reason_to_wait_beside_mirrors(&mut self, request: &Request) -> Option<WaitReason> {
        if !self.mirrors.is_empty() && matches!(request.kind, RequestKind::Write { .. }) {
            self.make_room_for(request);
        }
        self.reason_to_wait(request)
    }

    /// Returns why `request` has to wait; `None` if it need not.
    #[inline]
    fn reason_to_wait(&self, request: &Request) -> Option<WaitReason> {
        let quiet = self.first_writes == 0 && self.redirects == 0 && self.leaving.is_empty() && self.copies.is_empty();
        if quiet || request.kind == RequestKind::Read || request.length == Bytes::ZERO || self.health.journal_failed() {
            return None;
        }
        if self.waits_for_writes(request) {
            return Some(WaitReason::Writes);
        }
        (matches!(request.kind, RequestKind::Write { .. }) && self.waits_for_space(request))
            .then_some(WaitReason::Space)
    }

    /// Returns true if a write to the same blocks, or a redirected write or a copy of the same extents, has to end
    /// first.
    fn waits_for_writes(&self, request: &Request) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::OverlooksFirstWrites) {
            return false;
        }
        let is_write = matches!(request.kind, RequestKind::Write { .. });
        if is_write && self.first_writes > 0 && self.map.blocks.any_claimed(self.request_blocks(request)) {
            return true;
        }
        let waits = |extent| match self.map.work(extent) {
            ExtentWork::Redirect => true,
            ExtentWork::Copy => self.copies.holds_writes(extent),
            ExtentWork::None => false,
        };
        let any_work = self.redirects > 0 || !self.copies.is_empty();
        any_work && self.extents_of_request(request).any(|extent| waits(LogicalExtent(extent as u32)))
    }

    /// Returns true if `request` writes more new extents than there are free places, while other places are about to
    /// become free.
    fn waits_for_space(&self, request: &Request) -> bool {
        if self.leaving.is_empty() && self.copies.is_empty() && self.redirects == 0 {
            return false;
        }
        let becomes_free = || {
            let usable = |place: ExtentPlace| self.takes_writes(place) && !self.is_drained(place.device);
            !self.copies.is_empty()
                || self.redirects > 0
                || self.leaving.soon_free().any(usable)
                || self.frees_by_flush()
        };
        self.needed(request) > self.free_for_new() && becomes_free()
    }

    /// Returns how many extents that `request` touches have no place.
    pub(super) fn needed(&self, request: &Request) -> u64 {
        let is_new = |extent: &u64| self.map.place(LogicalExtent(*extent as u32)).is_none();
        self.extents_of_request(request).filter(is_new).count() as u64
    }

    /// Returns how many places are free for new extents.
    pub(super) fn free_for_new(&self) -> u64 {
        let online =
            self.health.devices().iter().enumerate().filter(|(device, state)| {
                **state == DeviceState::Online && !self.is_drained(DeviceIndex(*device as u16))
            });
        online.map(|(device, _)| u64::from(self.map.free_extents(device))).sum()
    }

    /// Returns true if a place is free besides those that `request` needs for new extents.
    pub(super) fn has_place_beside(&self, request: &Request) -> bool {
        let extents = self.extents_of_request(request);
        let free = self.free_for_new();
        // Looking at each extent takes long for large requests.
        free > extents.end() - extents.start() + 1 || free > self.needed(request)
    }

    fn extents_of_request(&self, request: &Request) -> std::ops::RangeInclusive<u64> {
        request.start.byte_offset() / self.extent..=(request.end_byte() - 1) / self.extent
    }

    pub(super) fn wait(&mut self, tag: Tag, request: Request, reason: WaitReason, effects: &mut Vec<Effect>) {
        match reason {
            WaitReason::Writes => self.waiting_for_writes.push_back((tag, request)),
            WaitReason::Space => {
                self.waiting_for_space.push_back((tag, request));
                self.flush_for_space(effects);
            }
        }
    }

    /// Serves the waiting requests that need not wait any longer.
    #[inline]
    pub(super) fn serve_waiting(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        let mut index = 0;
        while let Some(&(tag, request)) = self.waiting_for_writes.get(index) {
            match self.reason_to_wait(&request) {
                Some(WaitReason::Writes) => index += 1,
                _ => {
                    let reason = self.reason_to_wait_beside_mirrors(&request);
                    self.waiting_for_writes.remove(index);
                    self.serve(now, tag, request, reason, effects);
                }
            }
        }
        while let Some(&(tag, request)) = self.waiting_for_space.front() {
            let reason = self.reason_to_wait_beside_mirrors(&request);
            if reason == Some(WaitReason::Space) {
                return self.flush_for_space(effects);
            }
            self.waiting_for_space.pop_front();
            self.serve(now, tag, request, reason, effects);
        }
    }

    fn serve(&mut self, now: Nanos, tag: Tag, request: Request, waits: Option<WaitReason>, effects: &mut Vec<Effect>) {
        if let Some(reason) = waits {
            return self.wait(tag, request, reason, effects);
        }
        match self.health.journal_failed() {
            true => self.hosts.note(tag, 0, DeviceError::Failed),
            false => self.split(now, tag, &request, effects),
        }
        if !self.hosts.waits(tag) {
            self.children_ended(tag, effects);
        }
    }
}
