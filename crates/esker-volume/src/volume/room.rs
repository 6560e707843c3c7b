//! What has to stay when devices leave or more is offered: room for data, room for the map, and a copy of it.

use esker_cluster::slices_that_fit;
use esker_core::{Bytes, DeviceState};

use super::change::ChangeError;
use super::kinds::{EngineSettings, Presence};
use super::{Volume, VolumeMember};
use crate::clock::Clock;
use crate::format::checkpoint_bytes;

impl<C: Clock> Volume<C> {
    /// Checks that another device keeps the map.
    pub(super) fn check_other_map(&self, device: usize) -> Result<(), ChangeError> {
        let others = self.state.devices.iter().enumerate().filter(|(other, _)| *other != device);
        let keeps = |&(other, member): &(usize, &VolumeMember)| {
            member.keeps_map && self.driver.store_state(other) < DeviceState::Failed
        };
        let loses_one = self.state.devices[device].keeps_map && self.driver.store_state(device) < DeviceState::Failed;
        let device = || self.state.devices[device].name.clone();
        match others.filter(keeps).count() {
            0 => Err(ChangeError::LastMap { device: device() }),
            // Copies of data are worth as much as copies of the map.
            1 if loses_one && self.state.settings.engine()?.copies() > 1 => {
                Err(ChangeError::FewMaps { device: device() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the devices hold what the volume offers without one of them.
    pub(super) fn check_capacity_without(&self, device: usize) -> Result<(), ChangeError> {
        let engine = self.state.settings.engine()?;
        let holds = holds_without(device, &self.state.devices, &*engine);
        let capacity = self.capacity();
        // What has failed holds no copy any more, whether it stays or not.
        let is_gone = engine.copies() > 1 && self.driver.store_state(device) == DeviceState::Failed;
        if capacity > holds && !is_gone { Err(ChangeError::Capacity { capacity, holds }) } else { Ok(()) }
    }

    /// Checks that the areas for checkpoints hold the map of a volume of this capacity.
    pub(super) fn check_map_room(&self, capacity: Bytes) -> Result<(), ChangeError> {
        let engine = self.state.settings.engine()?;
        let needed = |capacity: Bytes| checkpoint_bytes(engine.records_max(&[capacity]));
        let area = self.superblock.layout.checkpoint;
        if needed(capacity) <= area {
            return Ok(());
        }
        let unit = engine.unit().0.max(1);
        let (mut fits, mut does_not) = (0, capacity.0 / unit);
        while does_not - fits > 1 {
            let middle = fits + (does_not - fits) / 2;
            *(if needed(Bytes(middle * unit)) <= area { &mut fits } else { &mut does_not }) = middle;
        }
        Err(ChangeError::MapRoom { capacity, holds: Bytes(fits * unit) })
    }
}

/// Returns what the devices hold for the host without one of them, and without those that are being drained.
pub(super) fn holds_without(device: usize, devices: &[VolumeMember], engine: &dyn EngineSettings) -> Bytes {
    let unit = engine.unit().0.max(1);
    let stays = |(index, member): &(usize, &VolumeMember)| {
        *index != device && member.presence != Presence::Removed && !member.is_draining
    };
    let others = devices.iter().enumerate().filter(stays);
    let rooms: Vec<u64> = others.map(|(_, member)| member.data.0 / unit).collect();
    // No two copies are on one device.
    Bytes(slices_that_fit(&rooms, engine.copies()) * unit)
}
