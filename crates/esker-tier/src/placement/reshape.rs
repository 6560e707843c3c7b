//! Devices that join, grow or are drained while the engine serves.

use esker_core::{Bytes, Nanos, Priority};

use super::map::Work;
use super::{DEVICES_MAX, EXTENTS_MAX, MoveOutcome, PlacementEngine, WishedMove};
use crate::engine::{Effect, Engine, Reshape, ReshapeError};
use crate::extent::DeviceIndex;

/// Copies for one drain that are under way at a time.
const COPIES_MAX: u32 = 4;

/// A device that is drained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    device: DeviceIndex,
    /// Extents of the device before this one were looked at in this pass.
    next: u32,
    /// Copies under way.
    copies: u32,
    /// How many extents were free everywhere when there was no room for an extent of this device.
    stalled_at: Option<u32>,
    done: bool,
}

impl PlacementEngine {
    pub(super) fn is_drained(&self, device: DeviceIndex) -> bool {
        self.drains.iter().any(|drain| drain.device == device)
    }

    pub(super) fn change_shape(&mut self, reshape: Reshape) -> Result<(), ReshapeError> {
        match reshape {
            Reshape::Join { capacity } => self.join(capacity),
            Reshape::Grow { device, capacity } => self.grow(device, capacity),
            Reshape::Shrink { .. } => Err(ReshapeError::Unsupported),
            Reshape::Offer { capacity } => self.offer_more(capacity),
            Reshape::Drain { device } => self.drain(device),
            Reshape::Keep { device } => {
                self.check_device(device)?;
                self.drains.retain(|drain| drain.device != device);
                Ok(())
            }
        }
    }

    fn check_device(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        let exists = usize::from(device.0) < self.health.devices().len();
        exists.then_some(()).ok_or(ReshapeError::Device(device.0))
    }

    /// Number of extents of a device of this capacity, if all devices have `others` beside.
    fn extents_of(&self, capacity: Bytes, others: u64) -> Result<u32, ReshapeError> {
        let extents = capacity.0 / self.extent;
        if extents == 0 {
            return Err(ReshapeError::Limit(format!("a device of {capacity} holds no extent")));
        }
        if extents + others > EXTENTS_MAX {
            return Err(ReshapeError::Limit(format!("there would be more than {EXTENTS_MAX} extents")));
        }
        Ok(extents as u32)
    }

    fn all_extents(&self) -> u64 {
        self.map.sizes().map(u64::from).sum()
    }

    fn join(&mut self, capacity: Bytes) -> Result<(), ReshapeError> {
        if self.health.devices().len() == DEVICES_MAX {
            return Err(ReshapeError::Limit(format!("there are {DEVICES_MAX} devices already")));
        }
        let extents = self.extents_of(capacity, self.all_extents())?;
        self.map.add_device(extents);
        self.health.add_device();
        self.under_way.push(0);
        self.durability.add_device();
        self.policy.devices_joined(self.health.devices().len());
        Ok(())
    }

    fn grow(&mut self, device: DeviceIndex, capacity: Bytes) -> Result<(), ReshapeError> {
        self.check_device(device)?;
        let index = usize::from(device.0);
        let now = self.map.sizes().nth(index).expect("it exists");
        let extents = self.extents_of(capacity, self.all_extents() - u64::from(now))?;
        if extents < now {
            let (what, now) = (format!("device {index}"), Bytes(u64::from(now) * self.extent));
            return Err(ReshapeError::Smaller { what, now, wanted: capacity });
        }
        self.map.grow_device(index, extents);
        Ok(())
    }

    fn offer_more(&mut self, capacity: Bytes) -> Result<(), ReshapeError> {
        let (now, holds) = (self.capacity(), self.room_without(None));
        if capacity < now {
            return Err(ReshapeError::Smaller { what: "the volume".to_string(), now, wanted: capacity });
        }
        if capacity > holds {
            return Err(ReshapeError::NoRoom { wanted: capacity, holds });
        }
        self.map.resize((capacity.0 / self.extent) as u32);
        Ok(())
    }

    /// Bytes that the devices hold that are not drained, nor `device`.
    fn room_without(&self, device: Option<DeviceIndex>) -> Bytes {
        let stays = |index: usize| {
            let index = DeviceIndex(index as u16);
            Some(index) != device && !self.is_drained(index)
        };
        let sizes = self.map.sizes().enumerate().filter(|(index, _)| stays(*index));
        Bytes(sizes.map(|(_, size)| u64::from(size)).sum::<u64>() * self.extent)
    }

    fn drain(&mut self, device: DeviceIndex) -> Result<(), ReshapeError> {
        self.check_device(device)?;
        if self.is_drained(device) {
            return Ok(());
        }
        let holds = self.room_without(Some(device));
        let mapped: u64 = (0..self.health.devices().len()).map(|index| u64::from(self.map.mapped(index))).sum();
        let wanted = Bytes(mapped * self.extent);
        if wanted > holds {
            return Err(ReshapeError::NoRoom { wanted, holds });
        }
        self.drains.push(Drain { device, next: 0, copies: 0, stalled_at: None, done: false });
        Ok(())
    }

    /// Begins copies for the devices that are drained, as many as may be under way.
    #[inline]
    pub(super) fn continue_drains(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        for index in 0..self.drains.len() {
            self.continue_drain(now, index, effects);
        }
    }

    fn continue_drain(&mut self, now: Nanos, index: usize, effects: &mut Vec<Effect>) {
        let device = self.drains[index].device;
        let free: u32 = (0..self.health.devices().len()).map(|device| self.map.free_extents(device)).sum();
        let waits = self.drains[index].done || self.drains[index].stalled_at == Some(free);
        if waits || self.health.has_failed(device) {
            return;
        }
        self.drains[index].stalled_at = None;
        while self.drains[index].copies < COPIES_MAX {
            let Some((extent, place)) = self.map.next_on(device.0.into(), self.drains[index].next) else { break };
            self.drains[index].next = place + 1;
            if self.map.work(extent) != Work::None {
                continue;
            }
            let Some(to) = self.choose(extent, None).map(|device| DeviceIndex(device as u16)) else {
                self.drains[index].next = place;
                self.drains[index].stalled_at = Some(free);
                return;
            };
            let wished = WishedMove { extent, to, priority: Priority::BACKGROUND };
            match self.begin_move(now, wished, true, effects) {
                Ok(()) => self.drains[index].copies += 1,
                // Too many copies are under way: their ends come here again.
                Err(MoveOutcome::NoRoom) => {
                    self.drains[index].next = place;
                    return;
                }
                Err(_) => {}
            }
        }
        let (mapped, is_empty) = (self.map.mapped(device.0.into()), self.map.is_empty(device.0.into()));
        let drain = &mut self.drains[index];
        if is_empty {
            drain.done = true;
            effects.push(Effect::Drained(device));
        } else if mapped > 0 && drain.copies < COPIES_MAX {
            // Extents that could not be copied in this pass are tried again with the next event.
            drain.next = 0;
        }
    }

    /// Notes that a copy that emptied `device` has ended.
    pub(super) fn drain_copy_ended(&mut self, device: DeviceIndex) {
        if let Some(drain) = self.drains.iter_mut().find(|drain| drain.device == device) {
            drain.copies = drain.copies.saturating_sub(1);
        }
    }
}
