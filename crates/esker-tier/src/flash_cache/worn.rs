//! Flash that the cache owns and that wears out: the cache holds no more than there is room for, and goes around it
//! once nothing is left.
//!
//! The flash says what it has room for whenever a block has gone out of use. Lines beyond that leave, dirty ones after
//! they are copied back, and nothing comes in before they have left. As that takes time, a write may find no room:
//!
//! - A line that was on its way in stays out.
//! - A change of a dirty line goes to the backing device, after the line was copied back and has left.
//! - Until the flash takes a write again, all dirty lines are copied back, and no line is kept because it was used: the
//!   flash can drop clean lines where it has no room to copy them.

use esker_cache::ObjectId;
use esker_core::{DeviceError, Nanos, OwnedRoom, RequestKind, Tag};

use super::part::Task;
use super::{FLASH, FlashCacheEngine};
use crate::engine::CacheRoom;
use crate::extent::DeviceIndex;

/// What has become of the room on the flash.
#[derive(Debug)]
pub(super) struct Worn {
    /// Lines that the flash had room for at first.
    at_first: u32,
    /// When less was left than the tenths before, and how many lines there was room for then.
    shrank: Vec<(Nanos, u32)>,
    /// Whether the flash has refused the last write.
    is_short: bool,
}

impl Worn {
    /// Flash with room for so many lines.
    pub(super) fn new(at_first: u32) -> Self {
        Self { at_first, shrank: Vec::new(), is_short: false }
    }

    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// The number of tenths that `room` needs, or one more if nothing was lost.
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
    /// The flash is worn: this is what it has room for.
    pub(super) fn room_left(&mut self, room: OwnedRoom) {
        #[cfg(test)]
        if self.fault == Some(super::Fault::KeepsTaking) {
            return;
        }
        let lines = |bytes: esker_core::Bytes| u32::try_from(bytes.0 / self.line).unwrap_or(u32::MAX);
        let (user, suspects) = (lines(room.user), lines(room.suspects));
        let Some(owned) = &mut self.owned else { return };
        // A cache has two slots at least: one for a line, and one in reserve.
        let user = if user < 2 { 0 } else { user.min(owned.user) };
        owned.wear.note(self.now, owned.user, user);
        owned.shrink(user, if user == 0 { 0 } else { suspects });
        while let Some(cold) = owned.cool() {
            owned.touched(self.slots.line_in(cold));
        }
        self.drop_excess_suspects();
        if user > 0 {
            self.hold(user);
        } else {
            self.leave_used_up_flash();
        }
        #[cfg(test)]
        if self.fault == Some(super::Fault::ShrinksCarelessly) {
            let leave: Vec<u32> = self.to_evict.iter().copied().filter(|&line| self.slots.is_dirty(line)).collect();
            leave.into_iter().for_each(|line| self.slots.set_dirty(line, false));
        }
    }

    /// All lines leave.
    fn leave_used_up_flash(&mut self) {
        let held: Vec<u32> = self.slots.held().map(|(line, ..)| line).collect();
        for line in held {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
    }

    /// Whether the cache owns its flash, and nothing is left of it.
    pub(super) fn is_used_up(&self) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.user == 0)
    }

    /// Whether `line` cannot stay in the cache, whatever the policy says.
    pub(super) fn has_to_leave(&self, line: u32) -> bool {
        self.is_used_up() || self.slots.has_to_leave(line)
    }

    /// Whether the flash has refused the last write, for want of room.
    pub(super) fn is_short_of_room(&self) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.wear.is_short)
    }

    /// Whether `error` says that worn flash had no room for a write, and has not failed.
    pub(super) fn is_refusal(&self, error: Option<DeviceError>) -> bool {
        self.owned.is_some() && error == Some(DeviceError::NoSpace)
    }

    /// A request to a device has ended. Returns true if it was a write that the flash had no room for.
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

    /// The flash has no room for a change of a dirty line: the line is copied back and leaves, and then the change goes
    /// around the cache.
    pub(super) fn change_refused(&mut self, tag: Tag) {
        #[cfg(test)]
        if self.fault == Some(super::Fault::TrustsRefused) {
            return self.end_part(tag, Ok(()));
        }
        self.copy_out(tag);
    }

    /// A dirty line stays where it is, since it could not be copied back. The host's change of it is not made.
    pub(super) fn copy_failed(&mut self, tag: Tag, error: DeviceError) {
        let is_host = matches!(self.part(tag).task, Task::Write(_));
        self.end_part(tag, if is_host { Err(error) } else { Ok(()) });
    }

    /// What has become of the room on flash that the cache owns.
    pub(super) fn room_so_far(&self) -> Option<CacheRoom<'_>> {
        let owned = self.owned.as_ref()?;
        Some(CacheRoom { at_first: owned.wear.at_first, shrank: &owned.wear.shrank })
    }
}
