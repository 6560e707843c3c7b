//! What a volume consists of.

use esker_core::{Bytes, DeviceState};
use esker_tier::DeviceIndex;

use super::kinds::{EngineDevice, Presence};
use super::recover::Recovered;
use super::settings::VolumeSettings;
use super::superblocks::Found;
use crate::backend::OpenDevice;
use crate::format::{Identity, Member, MemberState};

/// What a volume consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeState {
    /// Its identity.
    pub volume: Identity,
    /// The kind of its engine, and all settings.
    pub settings: VolumeSettings,
    /// Bytes that the host can address.
    pub capacity: Bytes,
    /// All devices that it has and had.
    pub devices: Vec<VolumeMember>,
    /// Generation of its superblocks.
    pub generation: u64,
    /// The checkpoint that was read when it was opened.
    pub checkpoint: u64,
    /// Number of records behind that checkpoint.
    pub journal_records: u64,
    /// Whether something was damaged on one device, and whole on another, when it was opened.
    pub was_damaged: bool,
    /// Names of devices that were given, and belong to the volume no more or not yet.
    pub unused: Vec<String>,
}

/// A device of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeMember {
    /// The name that it has now, or had when the volume was created.
    pub name: String,
    /// Its identity.
    pub identity: Identity,
    /// Bytes for data.
    pub data: Bytes,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether it had failed before the volume was opened, and is used no more: others have copies of what was there.
    pub has_failed: bool,
    /// Whether its data move to the other devices, so that it can be removed.
    pub is_draining: bool,
    /// Whether it keeps a copy of the map.
    pub keeps_map: bool,
}

impl VolumeState {
    /// The devices that are missing. If there are some, the volume is read-only.
    pub fn missing(&self) -> impl Iterator<Item = &VolumeMember> {
        self.devices.iter().filter(|device| device.presence == Presence::Missing)
    }

    /// The devices that are there, but had failed before.
    pub fn failed(&self) -> impl Iterator<Item = &VolumeMember> {
        self.devices.iter().filter(|device| device.has_failed)
    }

    /// Returns true if everything is there and whole.
    pub fn is_whole(&self) -> bool {
        self.missing().chain(self.failed()).next().is_none() && !self.was_damaged
    }
}

impl VolumeMember {
    /// Takes over what the superblocks say.
    pub(super) fn update(&mut self, member: &Member) {
        (self.data, self.keeps_map) = (member.data, member.keeps_journal);
        self.is_draining = member.state == MemberState::Draining;
        if member.state == MemberState::Removed {
            self.presence = Presence::Removed;
        }
    }
}

impl Recovered {
    pub(super) fn state(&self, devices: &[Box<dyn OpenDevice>]) -> VolumeState {
        let Found { newest, given, .. } = &self.found;
        let name = |index: usize| match given[index] {
            Some(given) => devices[given].name().to_string(),
            None => self.settings.devices.get(index).cloned().unwrap_or_default(),
        };
        let all = newest.members.iter().zip(self.found.engine_devices()).enumerate();
        let member = |(index, (member, device)): (usize, (&Member, EngineDevice))| VolumeMember {
            name: name(index),
            identity: member.id,
            data: member.data,
            presence: device.presence,
            has_failed: device.presence == Presence::Present
                && self.engine.device_state(DeviceIndex(index as u16)) == DeviceState::Failed,
            is_draining: member.state == MemberState::Draining,
            keeps_map: member.keeps_journal,
        };
        let is_unused = |(index, _): &(usize, _)| !given.contains(&Some(*index));
        let unused = devices.iter().enumerate().filter(is_unused);
        VolumeState {
            unused: unused.map(|(_, device)| device.name().to_string()).collect(),
            volume: newest.volume,
            settings: self.settings.clone(),
            capacity: self.engine.capacity(),
            devices: all.map(member).collect(),
            generation: newest.generation,
            checkpoint: self.checkpoint,
            journal_records: self.journal.records.len() as u64,
            was_damaged: self.is_damaged || self.found.are_damaged,
        }
    }
}
