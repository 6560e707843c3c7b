//! Makes the engine of a volume from what its devices hold. Writes nothing.

use esker_tier::{DeviceIndex, PlacementEngine, Record, RestoreError};

use super::error::{MapDamage, VolumeError};
use super::map::{Candidate, CheckpointRecords, JournalFound, MapReader};
use super::settings::VolumeSettings;
use super::superblocks::{Found, Keeper, find};
use crate::backend::OpenDevice;
use crate::format::{Damage, MemberState};

/// What the devices of a volume hold.
pub(super) struct Recovered {
    pub(super) found: Found,
    pub(super) engine: PlacementEngine,
    pub(super) journal: JournalFound,
    pub(super) keepers: Vec<Keeper>,
    /// The checkpoint that was read.
    pub(super) checkpoint: u64,
    /// Whether something was damaged on one device, and whole on another.
    pub(super) is_damaged: bool,
}

/// Recovers a volume from `devices`, which may come in any order.
pub(super) fn recover(devices: &mut [Box<dyn OpenDevice>]) -> Result<Recovered, VolumeError> {
    let found = find(devices)?;
    let settings: VolumeSettings = serde_json::from_str(&found.newest.settings).map_err(VolumeError::SettingsText)?;
    let keepers = found.keepers();
    if keepers.is_empty() {
        let members = found.newest.members.iter().filter(|member| member.keeps_journal);
        return Err(VolumeError::NoJournal(members.map(|member| member.id).collect()));
    }
    let volume = found.newest.volume;
    let mut reader = MapReader { devices, keepers: &keepers, volume, is_damaged: false };
    let candidates = reader.candidates();
    let mut failure = None;
    for candidate in candidates {
        match restore(&mut reader, &settings, &found, candidate) {
            Ok((engine, journal)) => {
                let is_damaged = reader.is_damaged;
                let engine = with_devices(engine, &found, &settings)?;
                return Ok(Recovered { found, engine, journal, keepers, checkpoint: candidate.number, is_damaged });
            }
            // The newest checkpoint may have been under way; the one before it is whole then.
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    Err(failure.unwrap_or(VolumeError::Map(MapDamage::Checkpoints(Damage::Absent))))
}

/// Makes the engine from a checkpoint and the journal behind it.
fn restore(
    reader: &mut MapReader<'_>,
    settings: &VolumeSettings,
    found: &Found,
    candidate: Candidate,
) -> Result<(PlacementEngine, JournalFound), VolumeError> {
    let journal = reader.journal(candidate.after).map_err(VolumeError::Map)?;
    let mut checkpoint = CheckpointRecords::new(reader, candidate);
    let mut from_journal = journal.records.iter().map(|&(_, record)| record);
    let from_checkpoint: &mut dyn Iterator<Item = Record> = &mut checkpoint.by_ref().map(|(_, record)| record);
    let settings = settings.placement(found.sizes());
    let through = candidate.after.through;
    let engine = PlacementEngine::restore(&settings, through, from_checkpoint, &mut from_journal);
    match checkpoint.damage {
        Some(damage) => Err(VolumeError::Map(MapDamage::Checkpoints(damage))),
        None => Ok((engine?, journal)),
    }
}

/// Tells the engine which devices are gone, and what it offers.
fn with_devices(
    mut engine: PlacementEngine,
    found: &Found,
    settings: &VolumeSettings,
) -> Result<PlacementEngine, VolumeError> {
    for (index, member) in found.newest.members.iter().enumerate() {
        let device = DeviceIndex(index as u16);
        if member.state == MemberState::Removed {
            engine = engine.with_removed(device)?;
        } else if found.given[index].is_none() {
            engine = engine.without(device);
        }
    }
    settings.offer(&mut engine).map_err(RestoreError::Settings)?;
    Ok(engine)
}
