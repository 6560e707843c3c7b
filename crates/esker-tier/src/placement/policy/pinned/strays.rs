//! Pinned extents that lie elsewhere, and their way to their devices.

use std::collections::BTreeMap;
use std::ops::Bound;

use esker_core::Nanos;

use super::super::usage::Residents;
use super::super::{DeviceView, Event, MoveOutcome, WishedMove, Wishes};
use crate::extent::{DeviceIndex, LogicalExtent};

/// Most moves under way at a time.
const MOVES_MAX: usize = 4;

/// Most strays that are looked at for a device with room, per event.
const LOOKED_MAX: usize = 64;

/// Most extents of a full device that are looked at for one that may leave, per event.
const LEAVING_MAX: u32 = 256;

/// Time after which strays that have to wait are tried again, if nothing happens meanwhile: a budget comes back by
/// itself, and the host may have given room.
const RETRY: Nanos = Nanos::from_secs(60);

/// The extents that do not lie where they belong. They move in turns of their addresses. Where the device is full, an
/// extent that is not pinned leaves it.
#[derive(Debug, Default)]
pub(super) struct Strays {
    /// The extents, and where each belongs.
    astray: BTreeMap<LogicalExtent, DeviceIndex>,
    /// The one that was looked at last.
    last: LogicalExtent,
    /// Extents that move, and whether each of them makes room.
    moving: Vec<(LogicalExtent, bool)>,
    /// Where all extents are.
    residents: Residents,
    /// Whether results know that there is no room.
    has_told: bool,
}

impl Strays {
    /// Notes where an extent is, and where it belongs if it is pinned.
    pub(super) fn placed(
        &mut self,
        extent: LogicalExtent,
        device: Option<DeviceIndex>,
        belongs_on: Option<DeviceIndex>,
    ) {
        self.residents.placed(extent, device);
        match belongs_on.filter(|belongs| device.is_some_and(|device| device != *belongs)) {
            Some(belongs) => drop(self.astray.insert(extent, belongs)),
            None => drop(self.astray.remove(&extent)),
        }
    }

    /// Returns true if nothing has to move.
    pub(super) fn are_none(&self) -> bool {
        self.astray.is_empty() && self.moving.is_empty()
    }

    /// Learns of an event. `None` if it does not concern a move of a stray; else whether the next one may begin.
    pub(super) fn hear_of(&mut self, event: &Event<'_>) -> Option<bool> {
        let Event::Moved { extent, outcome } = *event else { return None };
        let at = self.moving.iter().position(|(moving, _)| *moving == extent)?;
        self.moving.swap_remove(at);
        Some(outcome == MoveOutcome::Done)
    }

    /// Asks for as many moves as may be under way.
    pub(super) fn go_on(
        &mut self,
        now: Nanos,
        devices: &[DeviceView],
        is_pinned: impl Fn(LogicalExtent) -> bool,
        wishes: &mut Wishes,
    ) {
        let mut room: Vec<u32> =
            devices.iter().map(|view| if view.has_room() { view.free_extents } else { 0 }).collect();
        let mut full = None;
        for _ in 0..self.astray.len().min(LOOKED_MAX) {
            if self.moving.len() == MOVES_MAX {
                return;
            }
            let Some((extent, to)) = self.next() else { break };
            let left = &mut room[usize::from(to.0)];
            match self.moves(extent) {
                true => {}
                false if *left > 0 => {
                    *left -= 1;
                    self.has_told = false;
                    self.moving.push((extent, false));
                    wishes.moves.push(WishedMove::in_background(extent, to));
                }
                false if devices[usize::from(to.0)].is_full() => full = full.or(Some(to)),
                false => {}
            }
        }
        if let Some(full) = full.filter(|_| !self.moving.iter().any(|(_, makes_room)| *makes_room)) {
            self.make_room(full, devices, &room, is_pinned, wishes);
        }
        if self.moving.is_empty() && !self.astray.is_empty() {
            wishes.wake(now + RETRY);
        }
    }

    fn moves(&self, extent: LogicalExtent) -> bool {
        self.moving.iter().any(|(moving, _)| *moving == extent)
    }

    /// Returns the stray behind the one that was looked at last, and where it belongs.
    fn next(&mut self) -> Option<(LogicalExtent, DeviceIndex)> {
        let behind = self.astray.range((Bound::Excluded(self.last), Bound::Unbounded)).next();
        let (&extent, &to) = behind.or_else(|| self.astray.first_key_value())?;
        self.last = extent;
        Some((extent, to))
    }

    /// Has an extent that is not pinned leave the device `full`, for the one with the most room.
    fn make_room(
        &mut self,
        full: DeviceIndex,
        devices: &[DeviceView],
        room: &[u32],
        is_pinned: impl Fn(LogicalExtent) -> bool,
        wishes: &mut Wishes,
    ) {
        let roomiest = (0..devices.len()).filter(|&device| room[device] > 0).max_by_key(|&device| room[device]);
        let leaves =
            |extent: LogicalExtent| roomiest.filter(|_| !is_pinned(extent)).map(|device| DeviceIndex(device as u16));
        match self.residents.next_to_leave(full, LEAVING_MAX, leaves) {
            Some((extent, to)) => {
                self.moving.push((extent, true));
                wishes.moves.push(WishedMove::in_background(extent, to));
            }
            None if self.moving.is_empty() && !self.has_told => {
                self.has_told = true;
                wishes.without_room += 1;
            }
            None => {}
        }
    }
}
