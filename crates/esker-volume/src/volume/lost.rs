//! Takes a device that is gone for good out of a volume that has on others what was there.

use esker_core::Bytes;

use super::error::VolumeError;
use super::failing::{self, LeftOut};
use super::kinds::{EngineError, EngineSettings, Presence};
use super::recover::{Recovered, recover, recover_found};
use super::room::holds_without;
use super::{VolumeMember, make_durable, opening, repair_journal};
use crate::backend::OpenDevice;
use crate::format::{MemberState, Superblock};

/// What was on a device that was taken out as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatWasLost {
    /// Nothing that the map knows.
    Nothing,
    /// One of several copies.
    Copies,
}

/// A device that was taken out as lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDevice {
    /// What was on it.
    pub what: WhatWasLost,
    /// Whether its superblocks were read, and show that it had not gone on without the others. Of one that is missing,
    /// or was put back from an older copy, nobody can know that.
    pub shows_its_end: bool,
    /// Names of devices that were being drained, and are used again: the others alone do not hold what is offered.
    pub used_again: Vec<String>,
}

/// Takes the device of this name out of the volume: it is missing among `devices`, or is there and fails, can only be
/// read or is older than the volume, and will not come back. Nothing was there, or others have copies of all of it; new
/// ones are made once the volume is open.
///
/// # Errors
/// If the volume cannot be opened, if the device is there and whole, if nothing else has what was on it, if it went
/// on without the others, or if the others do not hold what the volume offers. Then nothing was written.
pub fn remove_lost(devices: &mut Vec<Box<dyn OpenDevice>>, name: &str) -> Result<LostDevice, VolumeError> {
    let LeftOut { identity, shows_its_end } = failing::leave_out(devices, name)?;
    make_durable(devices)?;
    let recovered = recover(devices, true)?;
    let members = recovered.state(devices).devices;
    // It may be called otherwise than when the volume was made.
    let is_it = |member: &VolumeMember| identity.map_or(member.name == name, |identity| member.identity == identity);
    let find = |presence| members.iter().position(|member| is_it(member) && member.presence == presence);
    let lost = match (find(Presence::Missing), find(Presence::Present)) {
        (Some(lost), _) => lost,
        (None, Some(_)) => return Err(VolumeError::NotLost(name.to_string())),
        (None, None) => return Err(VolumeError::NoDevice(name.to_string())),
    };
    let one_copy = || VolumeError::OneCopy { kind: recovered.settings.kind.clone(), device: name.to_string() };
    let engine = recovered.settings.engine()?;
    let what = match engine.copies() {
        // An engine without a map knows nothing of what was where.
        1 if recovered.engine.used().get(lost) != Some(&Bytes::ZERO) => return Err(one_copy()),
        1 => WhatWasLost::Nothing,
        _ => WhatWasLost::Copies,
    };
    let mut found = recovered.found.clone();
    let member = &mut found.newest.members[lost];
    (member.state, member.keeps_journal) = (MemberState::Removed, false);
    found.newest.generation = found.newest.generation.saturating_add(Superblock::AHEAD);
    found.to_write = (0..found.given.len()).filter(|member| found.given[*member].is_some()).collect();
    // This shows whether the map does without it: a place may be given out there to which nothing was written yet.
    let mut without = recover_found(devices, found, true).map_err(|error| match (what, error) {
        (WhatWasLost::Nothing, VolumeError::Engine(EngineError::Map(_))) => one_copy(),
        (_, error) => error,
    })?;
    // The host may write wherever it is offered room. A cluster makes room for its copies, or does with fewer of them.
    let used_again = match what {
        WhatWasLost::Nothing => drains_to_end(lost, members.clone(), recovered.engine.capacity(), &*engine)?,
        WhatWasLost::Copies => Vec::new(),
    };
    used_again.iter().for_each(|&member| without.found.newest.members[member].state = MemberState::InUse);
    let Recovered { found, journal, keepers, .. } = &without;
    repair_journal(devices, journal, keepers)?;
    opening::repair(devices, found)?;
    let used_again = used_again.iter().map(|&member| members[member].name.clone()).collect();
    Ok(LostDevice { what, shows_its_end, used_again })
}

/// Returns the devices whose drain has to end, so that there is room for what is offered without the lost one: none, or
/// all that are there.
fn drains_to_end(
    lost: usize,
    mut members: Vec<VolumeMember>,
    capacity: Bytes,
    engine: &dyn EngineSettings,
) -> Result<Vec<usize>, VolumeError> {
    if capacity <= holds_without(lost, &members, engine) {
        return Ok(Vec::new());
    }
    let mut to_end = Vec::new();
    for (index, member) in members.iter_mut().enumerate() {
        if index != lost && member.is_draining && member.presence == Presence::Present {
            member.is_draining = false;
            to_end.push(index);
        }
    }
    let holds = holds_without(lost, &members, engine);
    if capacity > holds {
        return Err(VolumeError::Capacity { device: members[lost].name.clone(), capacity, holds });
    }
    Ok(to_end)
}
