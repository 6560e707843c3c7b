//! Fragmentation busting (Kim 2009, sections 5.3.3 and 5.4.3.2): small random writes leave flash in pieces, which
//! cleaning has to copy. While the host is idle, a share of what it has written there in this way moves to a disk, what
//! was used least recently first.
//!
//! What the paper leaves open, and how it is here:
//! - It has both "25% of random writes" and "25% valid data on flash" moved periodically. Here a share of the extents
//!   moves that were written since the last time, and at most that share of those that are on the flash.
//! - It finds idle periods by profiling a trace beforehand. Here one begins when the host has wanted nothing for some
//!   time.
//! - Moves cost nothing there. Here extents are copied one at a time, by requests that give way to those of the host;
//!   none begins once the host is back.
//! - Data that were there before the first request, or before a volume was opened, were not written in pieces.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceState, Linked, Links, List, Nanos, Ratio, Request, RequestKind};
use esker_tier::{DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, PlacementError, WishedMove, Wishes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::published::tiers::Tiers;

/// A write is sequential if it begins where one of this many writes ended.
const STREAMS: usize = 16;

/// Settings of [`Busting`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BustingSettings {
    /// Of the extents that small random writes have written to the flash since the last time, as large a share moves to
    /// a disk, and at most that share of all that they have left there. Those used least recently move. More than 0.
    #[schemars(extend("most" = "100%"))]
    share: Ratio,
    /// They move once the host has wanted nothing for this time. Kim 2009 finds idle periods by profiling a trace, and
    /// gives no time.
    #[schemars(extend("least" = "1ns"))]
    idle: Nanos,
    /// A write of up to this size is small. It is random unless it begins where one of the last 16 writes ended. The
    /// default is half of an erase block of Kim 2009.
    #[schemars(extend("least" = "1B"))]
    small: Bytes,
}

impl Default for BustingSettings {
    fn default() -> Self {
        Self { share: Ratio::percent(25), idle: Nanos::from_millis(100), small: Bytes::kib(64) }
    }
}

impl BustingSettings {
    /// Checks the settings, which are the key `busting` of the policy.
    pub(super) fn check(&self) -> Result<(), PlacementError> {
        let error = |key: &str, message: String| Err(PlacementError::new(&format!("busting.{key}"), message));
        let Self { share, idle, small } = self;
        if *share == Ratio::ZERO || *share > Ratio::ONE {
            return error("share", format!("`share` is {share}; it has to be more than 0% and at most 100%"));
        }
        if *idle == Nanos::ZERO {
            return error("idle", "`idle` is 0; an idle period takes some time".to_string());
        }
        if *small == Bytes::ZERO {
            return error("small", "`small` is 0; no write is as small".to_string());
        }
        Ok(())
    }
}

/// What is known about an extent, in twelve bytes.
#[derive(Clone, Copy, Debug, Default)]
struct WrittenExtent {
    links: Links,
    /// Whether the last write to it was small and random.
    in_pieces: bool,
    on_flash: bool,
}

impl WrittenExtent {
    /// Returns true if it is among those that may move.
    fn is_listed(&self) -> bool {
        self.in_pieces && self.on_flash
    }
}

impl Linked for WrittenExtent {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Finds out what was written in small pieces, and moves it from the flash to disks while the host is idle.
#[derive(Debug)]
pub(super) struct Busting {
    settings: BustingSettings,
    tiers: Tiers,
    /// The extents by number, up to the last one that had a place or a request.
    extents: Vec<WrittenExtent>,
    /// Those on the flash whose last write was small and random, least recently used first.
    pieces: List,
    /// Where the last writes ended, in bytes, oldest first.
    write_ends: VecDeque<u64>,
    /// Extents that are to move, in billionths.
    due: u64,
    /// When the host last sent a request, or one of its requests ended.
    used_at: Nanos,
    /// When the host may have been idle for long enough.
    timer: Option<Nanos>,
    /// Whether extents move now, one after the other.
    is_busting: bool,
    /// The extent that is moving.
    moving: Option<LogicalExtent>,
}

/// One extent, in billionths.
const EXTENT: u64 = Ratio::ONE.as_parts_per_billion();

impl Busting {
    pub(super) fn new(settings: BustingSettings, flash: u16) -> Self {
        Self {
            settings,
            tiers: Tiers { fast: DeviceIndex(flash) },
            extents: Vec::new(),
            pieces: List::EMPTY,
            write_ends: VecDeque::new(),
            due: 0,
            used_at: Nanos::ZERO,
            timer: None,
            is_busting: false,
            moving: None,
        }
    }

    /// Notes where `extent` is now. What the host writes elsewhere leaves less to move.
    pub(super) fn placed(&mut self, extent: LogicalExtent, device: Option<DeviceIndex>) {
        let share = self.settings.share.as_parts_per_billion();
        let of = self.get(extent);
        let on_flash = device == Some(self.tiers.fast);
        if of.on_flash == on_flash && device.is_some() {
            return;
        }
        self.set(extent, of.in_pieces && device.is_some(), on_flash);
        if of.in_pieces && on_flash {
            self.due = self.due.saturating_add(share);
        } else if of.is_listed() && device.is_some() && self.moving != Some(extent) {
            self.due = self.due.saturating_sub(share);
        }
    }

    /// Takes an event, and asks for a move if one is due.
    pub(super) fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } => {
                self.is_busting = false;
                self.requested(request, first, extents);
                self.wake_when_idle(now, wishes);
            }
            Event::Completed(done) if done.for_host => self.wake_when_idle(now, wishes),
            Event::Moved { extent, outcome } if self.moving == Some(extent) => {
                self.moving = None;
                self.moved(extent, outcome);
                self.move_next(devices, wishes);
            }
            Event::Timer if self.timer.is_some() => {
                let idle_at = self.used_at + self.settings.idle;
                if idle_at > now {
                    self.wake(idle_at, wishes);
                    return;
                }
                self.timer = None;
                // The end of a request sets the timer again.
                if self.due >= EXTENT && devices.iter().all(|device| device.under_way == 0) {
                    self.due = self.due.min(self.settings.share.of(u64::from(self.pieces.len()) * EXTENT));
                    self.is_busting = true;
                    self.move_next(devices, wishes);
                }
            }
            _ => {}
        }
    }

    /// Notes what a request of the host does to its extents.
    fn requested(&mut self, request: &Request, first: LogicalExtent, extents: u32) {
        if extents == 0 || !request.kind.has_data() {
            return;
        }
        let is_write = request.kind != RequestKind::Read;
        let is_small_random = is_write && !self.follows_a_write(request) && request.length <= self.settings.small;
        for extent in (first.0..first.0 + extents).map(LogicalExtent) {
            let of = self.get(extent);
            let in_pieces = if is_write { is_small_random } else { of.in_pieces };
            self.set(extent, in_pieces, of.on_flash);
            if is_small_random && of.on_flash {
                self.due = self.due.saturating_add(self.settings.share.as_parts_per_billion());
            }
        }
    }

    /// Returns true if `write` begins where one of the last writes ended, and notes where it ends.
    fn follows_a_write(&mut self, write: &Request) -> bool {
        let begin = write.start.byte_offset();
        let stream = self.write_ends.iter().position(|&end| end == begin);
        match stream {
            Some(stream) => drop(self.write_ends.remove(stream)),
            None if self.write_ends.len() == STREAMS => drop(self.write_ends.pop_front()),
            None => {}
        }
        self.write_ends.push_back(write.end_byte());
        stream.is_some()
    }

    /// Notes that the host wants something at `now`; if there is anything to move, asks for a timer.
    fn wake_when_idle(&mut self, now: Nanos, wishes: &mut Wishes) {
        self.used_at = now;
        if self.timer.is_none() && self.due >= EXTENT {
            self.wake(now + self.settings.idle, wishes);
        }
    }

    fn wake(&mut self, at: Nanos, wishes: &mut Wishes) {
        self.timer = Some(at);
        wishes.wake(at);
    }

    /// Takes the end of a move.
    fn moved(&mut self, extent: LogicalExtent, outcome: MoveOutcome) {
        let of = self.get(extent);
        match outcome {
            MoveOutcome::Done => self.due = self.due.saturating_sub(EXTENT),
            // Another extent may be able to move.
            MoveOutcome::NothingToDo => {
                self.due = self.due.saturating_sub(EXTENT);
                self.set(extent, of.in_pieces, of.on_flash);
            }
            MoveOutcome::Failed => {
                self.is_busting = false;
                self.set(extent, of.in_pieces, of.on_flash);
            }
            MoveOutcome::NoRoom | MoveOutcome::Held => self.is_busting = false,
        }
    }

    /// Moves the extent used least recently, if the host is idle and one is due.
    fn move_next(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        if !self.is_busting || self.moving.is_some() || self.due < EXTENT {
            return;
        }
        let flash_works = self.tiers.fast_view(devices).state != DeviceState::Failed;
        let Some(oldest) = self.pieces.first().map(LogicalExtent).filter(|_| flash_works) else { return };
        match self.tiers.slow_with_room(devices) {
            Some(disk) => {
                self.moving = Some(oldest);
                wishes.moves.push(WishedMove::in_background(oldest, disk));
            }
            None => {
                self.is_busting = false;
                wishes.without_room += u64::from(self.tiers.slow(devices).any(|(_, view)| view.is_full()));
            }
        }
    }

    fn get(&self, LogicalExtent(extent): LogicalExtent) -> WrittenExtent {
        self.extents.get(extent as usize).copied().unwrap_or_default()
    }

    /// Notes what is known about `extent` now. If it is in pieces on the flash, it is the one used last.
    fn set(&mut self, extent: LogicalExtent, in_pieces: bool, on_flash: bool) {
        let index = extent.0 as usize;
        if self.extents.len() <= index {
            self.extents.resize(index + 1, WrittenExtent::default());
        }
        if self.extents[index].is_listed() {
            self.pieces.remove(&mut self.extents, extent.0);
        }
        (self.extents[index].in_pieces, self.extents[index].on_flash) = (in_pieces, on_flash);
        if self.extents[index].is_listed() {
            self.pieces.push_back(&mut self.extents, extent.0);
        }
    }
}
