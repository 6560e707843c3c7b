//! Flash that the cache owns and that wears out: the cache holds no more lines than there is room for, and stops
//! caching once no room is left.
//!
//! The flash reports its room whenever a block has gone out of use. The lines that exceed it leave, dirty ones after
//! they are copied back, and no line enters until they have left. As that takes time, a write may find no room:
//!
//! - A new line does not enter the cache.
//! - A dirty line that the host changes is copied back and leaves; then the change goes to the backing device.
//! - Until the flash takes a write again, all dirty lines are copied back, and no line is kept because it was used
//!   recently: the flash can drop clean lines if it has no room to copy them.

use esker_cache::ObjectId;
use esker_core::{DeviceError, Nanos, OwnedRoom, RequestKind, Tag};
use esker_results::{CacheRoomLeft, CacheShrink};

use super::job::JobTask;
use super::{FLASH, FlashCacheEngine};
use crate::extent::DeviceIndex;

/// How the room on the flash has become less.
#[derive(Debug)]
pub(super) struct WearHistory {
    /// Number of lines for which the flash had room at first.
    at_first: u32,
    /// Times at which a tenth of the room was lost, or anything for the first time, each with the number of lines left.
    shrank: Vec<(Nanos, u32)>,
    /// Whether the flash has refused the last write for want of room.
    is_short: bool,
}

impl WearHistory {
    /// Returns what is left of the room; `None` if that is all of it.
    pub(super) fn report(&self) -> Option<CacheRoomLeft> {
        let shrank = |&(at, slots): &(Nanos, u32)| CacheShrink { at_s: at.as_secs_f64(), slots: slots.into() };
        let shrank: Vec<CacheShrink> = self.shrank.iter().map(shrank).collect();
        (!shrank.is_empty()).then(|| CacheRoomLeft { slots_at_first: self.at_first.into(), shrank })
    }

    /// The history of flash that has room for `at_first` lines.
    pub(super) fn new(at_first: u32) -> Self {
        Self { at_first, shrank: Vec::new(), is_short: false }
    }

    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Returns how many tenths of the first room `room` needs, plus one if nothing has been lost.
    fn tenths(&self, room: u32) -> u64 {
        let tenths = (10 * u64::from(room)).div_ceil(u64::from(self.at_first.max(1)));
        tenths + u64::from(room == self.at_first)
    }

    fn note(&mut self, now: Nanos, before: u32, room: u32) {
        if self.tenths(room) < self.tenths(before) {
            self.shrank.push((now, room));
        }
    }
}

impl FlashCacheEngine {
    /// Limits the cache to the room that the worn flash has now.
    pub(super) fn room_left(&mut self, room: OwnedRoom) {
        #[cfg(test)]
        if self.fault == Some(super::Fault::KeepsTaking) {
            return;
        }
        let lines = |bytes: esker_core::Bytes| u32::try_from(bytes.0 / self.line).unwrap_or(u32::MAX);
        let (user, suspects) = (lines(room.user), lines(room.suspects));
        let Some(owned) = &mut self.owned else { return };
        // A cache needs at least two slots: one for a line, and one in reserve.
        let user = if user < 2 { 0 } else { user.min(owned.user) };
        owned.wear.note(self.now, owned.user, user);
        owned.shrink(user, if user == 0 { 0 } else { suspects });
        while let Some(cold) = owned.cool() {
            owned.touched(self.slots.line_in(cold));
        }
        self.drop_excess_suspects();
        if user > 0 {
            self.limit_slots(user);
        } else {
            self.leave_used_up_flash();
        }
        #[cfg(test)]
        if self.fault == Some(super::Fault::ShrinksCarelessly) {
            let leave: Vec<u32> = self.to_evict.iter().copied().filter(|&line| self.slots.is_dirty(line)).collect();
            leave.into_iter().for_each(|line| self.slots.set_dirty(line, false));
        }
    }

    /// Evicts all lines.
    fn leave_used_up_flash(&mut self) {
        let held: Vec<u32> = self.slots.held().map(|(line, ..)| line).collect();
        for line in held {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
    }

    /// Returns true if the cache owns its flash and no room is left on it.
    pub(super) fn is_used_up(&self) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.user == 0)
    }

    /// Returns true if `line` cannot stay in the cache, whatever the policy says.
    pub(super) fn has_to_leave(&self, line: u32) -> bool {
        self.is_used_up() || self.slots.has_to_leave(line)
    }

    /// Returns true if the flash has refused the last write for want of room.
    pub(super) fn is_short_of_room(&self) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.wear.is_short)
    }

    /// Returns true if `error` means that worn flash had no room for a write, and not that it has failed.
    pub(super) fn is_refusal(&self, error: Option<DeviceError>) -> bool {
        self.owned.is_some() && error == Some(DeviceError::NoSpace)
    }

    /// Notes the end of a request to a device. Returns true if it was a write that the flash refused for want of room.
    pub(super) fn was_refused(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> bool {
        if device != FLASH || !matches!(kind, RequestKind::Write { .. } | RequestKind::WriteZeroes { .. }) {
            return false;
        }
        let is_refusal = self.is_refusal(result.err());
        self.counts.refused_writes += u64::from(is_refusal);
        let is_news = is_refusal != self.is_short_of_room();
        if let Some(owned) = self.owned.as_mut().filter(|_| is_news && (is_refusal || result.is_ok())) {
            owned.wear.is_short = is_refusal;
            self.touch_hot();
        }
        is_refusal
    }

    /// Handles a change of a dirty line for which the flash has no room: the line is copied back and leaves, and then
    /// the change goes around the cache.
    pub(super) fn change_refused(&mut self, tag: Tag) {
        #[cfg(test)]
        if self.fault == Some(super::Fault::TrustsRefused) {
            return self.end_job(tag, Ok(()));
        }
        self.copy_out(tag);
    }

    /// Ends a job whose dirty line could not be copied back: the line stays where it is, and a change by the host
    /// fails.
    pub(super) fn copy_failed(&mut self, tag: Tag, error: DeviceError) {
        let is_host = matches!(self.job(tag).task, JobTask::Write(_));
        self.end_job(tag, if is_host { Err(error) } else { Ok(()) });
    }
}
