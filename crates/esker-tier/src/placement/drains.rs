//! Drains: all data of a device move to the others in the background.

use std::collections::BTreeSet;

use esker_core::{DeviceState, Nanos, Priority};

use super::background::Obstacle;
use super::copies::CopyPurpose;
use super::map::ExtentWork;
use super::moves::MoveBegun;
use super::{MoveOutcome, PlacementEngine, WishedMove};
use crate::engine::Effect;
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// Most copies of one drain that are under way at a time.
const COPIES_MAX: u32 = 4;

/// How often the engine tries to read extents that cannot be read before the drain is stuck.
const TRIES_MAX: u32 = 4;

/// Pause before the first retry; the next pauses are two and three times as long.
const PAUSE: Nanos = Nanos::from_millis(500);

/// All drains.
#[derive(Debug, Default)]
pub(super) struct Drains(Vec<Drain>);

/// The drain of one device.
#[derive(Debug)]
struct Drain {
    device: DeviceIndex,
    /// All places of the device before this one have been handled in this pass.
    next: u32,
    /// Number of its copies under way.
    copies: u32,
    /// Number of free extents that data may move to when there was no room for an extent of this device; `None` if
    /// there was room.
    stalled_at: Option<u32>,
    /// Extents that could not be read in this pass.
    bad: BTreeSet<LogicalExtent>,
    /// Number of passes in a row that left extents which could not be read.
    tries: u32,
    state: DrainState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrainState {
    /// Extents are being copied.
    Copying,
    /// The extents that could not be read are tried again at this time.
    Pausing(Nanos),
    /// Only extents that cannot be read are left, and the driver has been told.
    Stuck,
    /// The device is empty, and the driver has been told.
    Done,
}

impl Drain {
    fn new(device: DeviceIndex, state: DrainState) -> Self {
        Self { device, next: 0, copies: 0, stalled_at: None, bad: BTreeSet::new(), tries: 0, state }
    }

    /// Begins another pass over all remaining extents.
    fn start_over(&mut self) {
        (self.next, self.state) = (0, DrainState::Copying);
        self.bad.clear();
    }
}

impl Drains {
    pub(super) fn includes(&self, device: DeviceIndex) -> bool {
        self.0.iter().any(|drain| drain.device == device)
    }

    pub(super) fn is_done(&self, device: DeviceIndex) -> bool {
        self.0.iter().any(|drain| drain.device == device && drain.state == DrainState::Done)
    }

    pub(super) fn begin(&mut self, device: DeviceIndex) {
        self.0.push(Drain::new(device, DrainState::Copying));
    }

    /// Adds a device that was removed, and so stays empty.
    pub(super) fn add_removed(&mut self, device: DeviceIndex) {
        self.0.push(Drain::new(device, DrainState::Done));
    }

    pub(super) fn end(&mut self, device: DeviceIndex) {
        self.0.retain(|drain| drain.device != device);
    }

    fn of(&mut self, device: DeviceIndex) -> Option<&mut Drain> {
        self.0.iter_mut().find(|drain| drain.device == device)
    }

    /// Notes the end of a copy that took `extent` off its place `from`.
    pub(super) fn copy_ended(&mut self, from: ExtentPlace, extent: LogicalExtent, outcome: MoveOutcome) {
        if let Some(drain) = self.of(from.device) {
            drain.copies = drain.copies.saturating_sub(1);
            match outcome {
                MoveOutcome::Failed => drop(drain.bad.insert(extent)),
                // It is copied again in this pass.
                MoveOutcome::Held | MoveOutcome::NoRoom => drain.next = drain.next.min(from.extent.0),
                _ => {}
            }
        }
    }

    /// Asks again for the timers of drains that pause: the timer that has just come may have been the policy's, and the
    /// driver keeps only one.
    pub(super) fn ask_again(&self, now: Nanos, effects: &mut Vec<Effect>) {
        for drain in &self.0 {
            if let DrainState::Pausing(until) = drain.state
                && until > now
            {
                effects.push(Effect::WakeAt(until));
            }
        }
    }

    /// Returns true if a drain waits for room.
    pub(super) fn any_waits(&self) -> bool {
        self.0.iter().any(|drain| drain.stalled_at.is_some())
    }

    /// Has drains that wait for room look for it again, even if no extent has become free.
    pub(super) fn try_again(&mut self) {
        self.0.iter_mut().for_each(|drain| drain.stalled_at = None);
    }

    /// Notes that the host has written part of `extent`, which lies on `device`: data that could not be read may be
    /// readable now.
    pub(super) fn host_wrote(&mut self, device: DeviceIndex, extent: LogicalExtent) {
        let Some(drain) = self.of(device) else { return };
        if drain.bad.contains(&extent) {
            drain.tries = 0;
            drain.start_over();
        }
    }
}

impl PlacementEngine {
    pub(super) fn is_drained(&self, device: DeviceIndex) -> bool {
        self.drains.includes(device)
    }

    /// Begins copies for all drains, as many as may be under way.
    #[inline]
    pub(super) fn continue_drains(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        for index in 0..self.drains.0.len() {
            self.continue_drain(now, index, effects);
        }
    }

    fn continue_drain(&mut self, now: Nanos, index: usize, effects: &mut Vec<Effect>) {
        if self.health.journal_failed() {
            return;
        }
        if self.background.is_paused() {
            // A pause holds what moves: of a device that is empty, nothing has to.
            self.ends_if_empty(index, effects);
            return;
        }
        let takes_data = |&device: &u16| {
            let device = DeviceIndex(device);
            self.health.device(device) == DeviceState::Online && !self.is_drained(device)
        };
        let devices = (0..self.health.devices().len() as u16).filter(takes_data);
        let free = devices.map(|device| self.map.free_extents(device.into())).sum();
        let drain = &mut self.drains.0[index];
        match drain.state {
            DrainState::Done => return,
            DrainState::Pausing(until) if now >= until => drain.start_over(),
            _ if drain.stalled_at == Some(free) => {
                // The host may have trimmed the rest.
                self.ends_if_empty(index, effects);
                return;
            }
            _ => {}
        }
        drain.stalled_at = None;
        if drain.state == DrainState::Copying
            && self.health.is_absent(drain.device)
            && let Some((first, _)) = self.map.next_on(drain.device.0.into(), 0)
        {
            // Nothing can be read from an absent device.
            let device = drain.device;
            drain.state = DrainState::Stuck;
            return effects.push(Effect::DrainStuck { device, extents: self.map.mapped(device.0.into()), first });
        }
        if drain.state == DrainState::Copying && !self.copy_out(now, index, free, effects) {
            return;
        }
        let has_ended = self.ends_if_empty(index, effects);
        if !has_ended && self.drains.0[index].copies == 0 && self.drains.0[index].state == DrainState::Copying {
            self.pass_ended(now, index, effects);
        }
    }

    /// Ends a drain whose device is empty, and tells the driver. Returns true if it has ended.
    fn ends_if_empty(&mut self, index: usize, effects: &mut Vec<Effect>) -> bool {
        let Drain { device, state, .. } = self.drains.0[index];
        if state != DrainState::Done && self.has_left(device) {
            self.drains.0[index].state = DrainState::Done;
            effects.push(Effect::Drained(device));
        }
        self.drains.0[index].state == DrainState::Done
    }

    /// Returns true if `device` holds no data, and would hold none after a loss of power either.
    fn has_left(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::DrainsEarly) {
            return self.map.mapped(device.0.into()) == 0;
        }
        self.map.is_empty(device.0.into())
    }

    /// Begins copies of the extents that this pass has not handled yet. Returns false if some of them have to wait.
    /// `free` is the number of free extents that data may move to.
    fn copy_out(&mut self, now: Nanos, index: usize, free: u32, effects: &mut Vec<Effect>) -> bool {
        let device = self.drains.0[index].device;
        while self.drains.0[index].copies < COPIES_MAX {
            let Some((extent, place)) = self.map.next_on(device.0.into(), self.drains.0[index].next) else { break };
            self.drains.0[index].next = place + 1;
            if self.map.work(extent) != ExtentWork::None {
                continue;
            }
            let Some(to) = self.choose_for_drain(now, extent) else {
                self.drains.0[index].next = place;
                self.drains.0[index].stalled_at = Some(free);
                self.background.is_kept(Obstacle::NoRoom);
                self.make_room_of_mirrors(1);
                self.ask_after_refusals(effects);
                return false;
            };
            let wished = WishedMove { extent, to, priority: Priority::BACKGROUND };
            match self.begin_move(now, wished, CopyPurpose::Drain, effects) {
                Ok(MoveBegun::Copy) => self.drains.0[index].copies += 1,
                Ok(MoveBegun::Done) => {}
                // Too many copies are under way; when they end, the drain goes on from here.
                Err(MoveOutcome::NoRoom) => {
                    self.drains.0[index].next = place;
                    return false;
                }
                Err(MoveOutcome::Failed) => drop(self.drains.0[index].bad.insert(extent)),
                Err(_) => {}
            }
        }
        true
    }

    /// Ends a pass: all extents have been handled, no copy is under way, and some extents are left.
    fn pass_ended(&mut self, now: Nanos, index: usize, effects: &mut Vec<Effect>) {
        let drain = &mut self.drains.0[index];
        let device = drain.device;
        drain.bad.retain(|&extent| self.map.place(extent).is_some_and(|place| place.device == device));
        let Some(&first) = drain.bad.first() else {
            // The extents that the host was writing are tried again with the next event.
            drain.next = 0;
            return;
        };
        drain.tries = (drain.tries + 1).min(TRIES_MAX);
        if drain.tries == TRIES_MAX && drain.bad.len() as u32 == self.map.mapped(device.0.into()) {
            drain.state = DrainState::Stuck;
            effects.push(Effect::DrainStuck { device, extents: drain.bad.len() as u32, first });
        } else {
            // Even after the last try, extents may be left that the host is writing.
            let until = now + Nanos(PAUSE.0 * u64::from(drain.tries));
            drain.state = DrainState::Pausing(until);
            effects.push(Effect::WakeAt(until));
        }
    }
}
