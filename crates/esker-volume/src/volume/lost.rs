//! Takes a device that is gone for good out of a volume that keeps several copies.

use super::error::VolumeError;
use super::kinds::Presence;
use super::recover::{Recovered, recover, recover_found};
use super::{failing, make_durable, repair_journal, repair_superblocks};
use crate::backend::OpenDevice;
use crate::format::MemberState;

/// Takes the device of this name out of the volume: it is missing among `devices`, or is there and fails, and will not
/// come back. Others have copies of all that was there; new ones are made once the volume is open.
///
/// # Errors
/// If the volume cannot be opened, if the device is there and whole, or if nothing else has what was on it. Then
/// nothing was written.
pub fn remove_lost(devices: &mut Vec<Box<dyn OpenDevice>>, name: &str) -> Result<(), VolumeError> {
    let has_others = devices.len() > 1;
    let stays = |device: &mut Box<dyn OpenDevice>| {
        !has_others || device.name() != name || failing::error_of(&mut **device, true).is_none()
    };
    devices.retain_mut(stays);
    make_durable(devices)?;
    let recovered = recover(devices)?;
    let members = recovered.state(devices).devices;
    let find = |presence| members.iter().position(|member| member.name == name && member.presence == presence);
    let lost = match (find(Presence::Missing), find(Presence::Present)) {
        (Some(lost), _) => lost,
        (None, Some(_)) => return Err(VolumeError::NotLost(name.to_string())),
        (None, None) => return Err(VolumeError::NoDevice(name.to_string())),
    };
    if recovered.settings.engine()?.copies() == 1 {
        return Err(VolumeError::OneCopy { kind: recovered.settings.kind, device: name.to_string() });
    }
    let mut found = recovered.found;
    let member = &mut found.newest.members[lost];
    (member.state, member.keeps_journal) = (MemberState::Removed, false);
    found.newest.generation += 1;
    found.to_write = (0..found.given.len()).filter(|member| found.given[*member].is_some()).collect();
    // This shows whether the volume can do without it.
    let Recovered { found, journal, keepers, .. } = &recover_found(devices, found)?;
    repair_journal(devices, journal, keepers)?;
    repair_superblocks(devices, found)
}
