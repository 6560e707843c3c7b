//! Draining: all data of a device move to the others, in the background.

use std::collections::BTreeSet;

use esker_core::{Nanos, Priority};

use super::map::Work;
use super::{MoveOutcome, PlacementEngine, WishedMove};
use crate::engine::Effect;
use crate::extent::{DeviceIndex, LogicalExtent};

/// Copies for one drain that are under way at a time.
const COPIES_MAX: u32 = 4;

/// How often extents that cannot be read are tried before the drain is stuck.
const TRIES_MAX: u32 = 4;

/// Time before they are tried again; twice and three times as long from then on.
const PAUSE: Nanos = Nanos::from_millis(500);

/// The devices that are drained.
#[derive(Debug, Default)]
pub(super) struct Drains(Vec<Drain>);

/// A device that is drained.
#[derive(Debug)]
struct Drain {
    device: DeviceIndex,
    /// Extents of the device before this one were looked at in this pass.
    next: u32,
    /// Copies under way.
    copies: u32,
    /// How many extents were free everywhere when there was no room for an extent of this device.
    stalled_at: Option<u32>,
    /// Extents that could not be read in this pass.
    bad: BTreeSet<LogicalExtent>,
    /// Passes in a row after which some extents were left that could not be read.
    tries: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Extents are being copied.
    Copying,
    /// Those that could not be read are tried again at this time.
    Pausing(Nanos),
    /// Only extents are left that cannot be read, as somebody was told.
    Stuck,
    /// The device is empty, as somebody was told.
    Done,
}

impl Drain {
    fn new(device: DeviceIndex, state: State) -> Self {
        Self { device, next: 0, copies: 0, stalled_at: None, bad: BTreeSet::new(), tries: 0, state }
    }

    /// Begins another pass over all extents that are left.
    fn start_over(&mut self) {
        (self.next, self.state) = (0, State::Copying);
        self.bad.clear();
    }
}

impl Drains {
    pub(super) fn includes(&self, device: DeviceIndex) -> bool {
        self.0.iter().any(|drain| drain.device == device)
    }

    pub(super) fn is_done(&self, device: DeviceIndex) -> bool {
        self.0.iter().any(|drain| drain.device == device && drain.state == State::Done)
    }

    pub(super) fn begin(&mut self, device: DeviceIndex) {
        self.0.push(Drain::new(device, State::Copying));
    }

    /// Adds a device that was removed: it stays empty.
    pub(super) fn add_removed(&mut self, device: DeviceIndex) {
        self.0.push(Drain::new(device, State::Done));
    }

    pub(super) fn end(&mut self, device: DeviceIndex) {
        self.0.retain(|drain| drain.device != device);
    }

    fn of(&mut self, device: DeviceIndex) -> Option<&mut Drain> {
        self.0.iter_mut().find(|drain| drain.device == device)
    }

    /// A copy of `extent` that emptied `device` has ended.
    pub(super) fn copy_ended(&mut self, device: DeviceIndex, extent: LogicalExtent, outcome: MoveOutcome) {
        if let Some(drain) = self.of(device) {
            drain.copies = drain.copies.saturating_sub(1);
            if outcome == MoveOutcome::Failed {
                drain.bad.insert(extent);
            }
        }
    }

    /// A timer has come, perhaps that of the policy alone: asks once more for those that pauses wait for.
    pub(super) fn ask_again(&self, now: Nanos, effects: &mut Vec<Effect>) {
        for drain in &self.0 {
            if let State::Pausing(until) = drain.state
                && until > now
            {
                effects.push(Effect::WakeAt(until));
            }
        }
    }

    /// The host has written part of `extent`, which lies on `device`: what could not be read may be readable now.
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

    /// Begins copies for the devices that are drained, as many as may be under way.
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
        let free = (0..self.health.devices().len()).map(|device| self.map.free_extents(device)).sum();
        let drain = &mut self.drains.0[index];
        match drain.state {
            State::Done => return,
            State::Pausing(until) if now >= until => drain.start_over(),
            _ if drain.stalled_at == Some(free) => return,
            _ => {}
        }
        drain.stalled_at = None;
        if drain.state == State::Copying
            && self.health.is_absent(drain.device)
            && let Some((first, _)) = self.map.next_on(drain.device.0.into(), 0)
        {
            // Nothing can be read from it.
            let device = drain.device;
            drain.state = State::Stuck;
            return effects.push(Effect::DrainStuck { device, extents: self.map.mapped(device.0.into()), first });
        }
        if drain.state == State::Copying && !self.copy_out(now, index, free, effects) {
            return;
        }
        let device = self.drains.0[index].device;
        if self.has_left(device) {
            self.drains.0[index].state = State::Done;
            effects.push(Effect::Drained(device));
        } else if self.drains.0[index].copies == 0 && self.drains.0[index].state == State::Copying {
            self.pass_ended(now, index, effects);
        }
    }

    /// Whether nothing lies on `device`, not even after a loss of power.
    fn has_left(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::DrainsEarly) {
            return self.map.mapped(device.0.into()) == 0;
        }
        self.map.is_empty(device.0.into())
    }

    /// Begins copies of the extents that this pass has yet to look at. Returns false if some have to wait, while `free`
    /// extents are free on all devices.
    fn copy_out(&mut self, now: Nanos, index: usize, free: u32, effects: &mut Vec<Effect>) -> bool {
        let device = self.drains.0[index].device;
        while self.drains.0[index].copies < COPIES_MAX {
            let Some((extent, place)) = self.map.next_on(device.0.into(), self.drains.0[index].next) else { break };
            self.drains.0[index].next = place + 1;
            if self.map.work(extent) != Work::None {
                continue;
            }
            let Some(to) = self.choose(extent, None).map(|device| DeviceIndex(device as u16)) else {
                self.drains.0[index].next = place;
                self.drains.0[index].stalled_at = Some(free);
                return false;
            };
            let wished = WishedMove { extent, to, priority: Priority::BACKGROUND };
            match self.begin_move(now, wished, true, effects) {
                Ok(()) => self.drains.0[index].copies += 1,
                // Too many copies are under way: their ends come here again.
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

    /// All extents were looked at, no copy is under way, and some are left.
    fn pass_ended(&mut self, now: Nanos, index: usize, effects: &mut Vec<Effect>) {
        let drain = &mut self.drains.0[index];
        let device = drain.device;
        drain.bad.retain(|&extent| self.map.place(extent).is_some_and(|place| place.device == device));
        let Some(&first) = drain.bad.first() else {
            // Those that the host was writing are tried again with the next event.
            drain.next = 0;
            return;
        };
        drain.tries = (drain.tries + 1).min(TRIES_MAX);
        if drain.tries == TRIES_MAX && drain.bad.len() as u32 == self.map.mapped(device.0.into()) {
            drain.state = State::Stuck;
            effects.push(Effect::DrainStuck { device, extents: drain.bad.len() as u32, first });
        } else {
            // After the last try, others are left that the host is writing.
            let until = now + Nanos(PAUSE.0 * u64::from(drain.tries));
            drain.state = State::Pausing(until);
            effects.push(Effect::WakeAt(until));
        }
    }
}
