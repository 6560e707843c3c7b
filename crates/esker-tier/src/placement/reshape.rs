//! Changes of the devices while the engine serves: devices join, grow, are drained, or are removed.

use esker_core::Bytes;

use super::{DEVICES_MAX, EXTENTS_MAX, PlacementEngine};
use crate::engine::{Engine, Reshape, ReshapeError};
use crate::extent::DeviceIndex;

impl PlacementEngine {
    /// Returns an error if a change is refused.
    pub(super) fn check_change(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        match reshape {
            Reshape::Join { capacity } => self.check_join(capacity),
            Reshape::Grow { device, capacity } => self.check_grow(device, capacity),
            Reshape::Shrink { .. } => Err(ReshapeError::Unsupported),
            Reshape::Offer { capacity } => self.check_offer(capacity),
            Reshape::Drain { device } => self.check_drain(device),
            Reshape::Keep { device } => self.check_device(device),
            Reshape::Remove { device } => self.check_remove(device),
        }
    }

    /// Performs a change that was checked.
    pub(super) fn change_shape(&mut self, reshape: Reshape) {
        match reshape {
            Reshape::Join { capacity } => {
                self.map.add_device((capacity.0 / self.extent) as u32);
                self.health.add_device();
                self.under_way.push(0);
                self.durability.add_device();
                self.policy.devices_joined(self.health.devices().len());
                self.tries_all_again();
            }
            Reshape::Grow { device, capacity } => {
                self.map.grow_device(device.0.into(), (capacity.0 / self.extent) as u32);
                self.health.try_again(device);
                self.takes_copies_again(device);
            }
            Reshape::Shrink { .. } => unreachable!("it is refused"),
            Reshape::Offer { capacity } => self.map.resize((capacity.0 / self.extent) as u32),
            Reshape::Drain { device } if self.is_drained(device) => {}
            Reshape::Drain { device } => {
                self.drains.begin(device);
                self.drop_mirrors_on(device);
            }
            Reshape::Keep { device } => {
                self.drains.end(device);
                // It may have lost what was not durable.
                self.drop_mirrors_on(device);
                self.health.try_again(device);
                self.takes_copies_again(device);
            }
            Reshape::Remove { device } => {
                self.map.remove_device(device.0.into());
                self.health.remove(device);
            }
        }
    }

    fn check_device(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        if usize::from(device.0) >= self.health.devices().len() {
            return Err(ReshapeError::Device(device.0));
        }
        if self.health.is_removed(device) {
            return Err(ReshapeError::Removed(device.0));
        }
        Ok(())
    }

    /// Returns the number of extents on a device of this capacity, while all other devices together have `others`
    /// extents.
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

    fn check_join(&self, capacity: Bytes) -> Result<(), ReshapeError> {
        if self.health.devices().len() == DEVICES_MAX {
            return Err(ReshapeError::Limit(format!("there are {DEVICES_MAX} devices already")));
        }
        self.extents_of(capacity, self.all_extents()).map(|_| ())
    }

    fn check_grow(&self, device: DeviceIndex, capacity: Bytes) -> Result<(), ReshapeError> {
        self.check_device(device)?;
        let index = usize::from(device.0);
        let now = self.map.sizes().nth(index).expect("it exists");
        let extents = self.extents_of(capacity, self.all_extents() - u64::from(now))?;
        if extents < now {
            let (what, now) = (format!("device {index}"), Bytes(u64::from(now) * self.extent));
            return Err(ReshapeError::Smaller { what, now, wanted: capacity });
        }
        Ok(())
    }

    fn check_offer(&self, capacity: Bytes) -> Result<(), ReshapeError> {
        let (now, holds) = (self.capacity(), self.room_without(None));
        if capacity < now {
            return Err(ReshapeError::Smaller { what: "the volume".to_string(), now, wanted: capacity });
        }
        if capacity > holds {
            return Err(ReshapeError::NoRoom { wanted: capacity, holds });
        }
        Ok(())
    }

    /// Returns the bytes that the devices hold, without those being drained and without `device`.
    fn room_without(&self, device: Option<DeviceIndex>) -> Bytes {
        let stays = |index: usize| {
            let index = DeviceIndex(index as u16);
            Some(index) != device && !self.is_drained(index)
        };
        let sizes = self.map.sizes().enumerate().filter(|(index, _)| stays(*index));
        Bytes(sizes.map(|(_, size)| u64::from(size)).sum::<u64>() * self.extent)
    }

    fn check_drain(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        self.check_device(device)?;
        if self.is_drained(device) {
            return Ok(());
        }
        let holds = self.room_without(Some(device));
        let mapped: u64 = (0..self.health.devices().len()).map(|index| u64::from(self.map.mapped(index))).sum();
        let wanted = Bytes(mapped * self.extent);
        if wanted > holds { Err(ReshapeError::NoRoom { wanted, holds }) } else { Ok(()) }
    }

    fn check_remove(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        self.check_device(device)?;
        let index = usize::from(device.0);
        match self.drains.is_done(device) && self.map.is_empty(index) {
            true => Ok(()),
            false => Err(ReshapeError::NotDrained { device: device.0, extents: self.map.mapped(index) }),
        }
    }
}
