//! Makes the engine of a volume from what its devices hold. Writes nothing.

use esker_tier::Engine;

use super::error::{MapDamage, VolumeError};
use super::kinds::{EngineSettings, Restored};
use super::map::{Candidate, CheckpointRecords, Copies, JournalFound, Leftovers, MapReader};
use super::settings::VolumeSettings;
use super::superblocks::{Found, Keeper, find};
use crate::backend::OpenDevice;
use crate::format::Damage;

/// What the devices of a volume hold.
pub(super) struct Recovered {
    pub(super) found: Found,
    pub(super) settings: VolumeSettings,
    pub(super) engine: Box<dyn Engine>,
    pub(super) journal: JournalFound,
    pub(super) keepers: Vec<Keeper>,
    pub(super) leftovers: Leftovers,
    /// The checkpoint that was read.
    pub(super) checkpoint: u64,
    /// Whether something was damaged on one device, and whole on another.
    pub(super) is_damaged: bool,
}

/// Recovers a volume from `devices`, which may come in any order. Its engine changes nothing if it `only_reads`, or if
/// a device is missing.
pub(super) fn recover(devices: &mut [Box<dyn OpenDevice>], only_reads: bool) -> Result<Recovered, VolumeError> {
    let found = find(devices)?;
    recover_found(devices, found, only_reads)
}

/// Recovers a volume whose superblocks were read.
pub(super) fn recover_found(
    devices: &mut [Box<dyn OpenDevice>],
    found: Found,
    only_reads: bool,
) -> Result<Recovered, VolumeError> {
    let only_reads = only_reads || !found.is_complete();
    let settings: VolumeSettings = serde_json::from_str(&found.newest.settings).map_err(VolumeError::SettingsText)?;
    let engine_settings = settings.engine()?;
    let keepers = found.keepers();
    if keepers.is_empty() {
        let members = found.newest.members.iter().filter(|member| member.keeps_journal);
        return Err(VolumeError::NoJournal(members.map(|member| member.id).collect()));
    }
    let volume = found.newest.volume;
    let mut reader = MapReader { devices, keepers: &keepers, volume, is_damaged: false };
    let candidates = reader.candidates();
    let mut failure = None;
    // The newest checkpoint may have been under way: then the one before it is whole on all devices.
    let attempts =
        [Copies::All, Copies::Any].into_iter().flat_map(|wanted| candidates.iter().map(move |&one| (wanted, one)));
    for (wanted, candidate) in attempts {
        match restore(&mut reader, &*engine_settings, (&found, only_reads), candidate, wanted) {
            Ok((engine, journal)) => {
                let leftovers = reader.leftovers(&found.others(), journal.ring.next);
                let is_damaged = reader.is_damaged;
                let checkpoint = candidate.number;
                return Ok(Recovered { found, settings, engine, journal, keepers, leftovers, checkpoint, is_damaged });
            }
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    Err(failure.unwrap_or(VolumeError::Map(MapDamage::Checkpoints(Damage::Absent))))
}

/// Makes the engine from a checkpoint and the journal behind it.
fn restore(
    reader: &mut MapReader<'_>,
    settings: &dyn EngineSettings,
    (found, only_reads): (&Found, bool),
    candidate: Candidate,
    wanted: Copies,
) -> Result<(Box<dyn Engine>, JournalFound), VolumeError> {
    let journal = reader.journal(candidate.after).map_err(VolumeError::Map)?;
    let mut checkpoint = CheckpointRecords::new(reader, candidate, wanted);
    let engine = settings.restore(Restored {
        devices: &found.engine_devices(),
        only_reads,
        through: candidate.after.through,
        checkpoint: &mut checkpoint.by_ref().map(|(_, record)| record),
        journal: &mut journal.records.iter().map(|&(_, record)| record),
    });
    match checkpoint.damage {
        Some(damage) => Err(VolumeError::Map(MapDamage::Checkpoints(damage))),
        None => Ok((engine?, journal)),
    }
}
