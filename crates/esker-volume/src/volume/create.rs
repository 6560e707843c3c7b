//! Creates a volume.

use std::io::{self, IoSlice};

use esker_core::Bytes;
use esker_tier::RecordNumber;

use super::error::VolumeError;
use super::kinds::{EngineDevice, EngineSettings, Presence, Restored};
use super::settings::VolumeSettings;
use super::signs::what_is_on;
use crate::backend::{BlockingBackend, OpenDevice};
use crate::format::{
    Identity, JournalPlace, Layout, Member, MemberState, PieceWriter, SealedBy, Superblock, checkpoint_bytes,
};
use crate::journal::disk::KEEPERS;

/// A device has room for journal and checkpoints if they take at most this part of it.
pub(super) const STRUCTURES_PART: u64 = 4;

/// The areas for checkpoints have room for the map of a volume that has grown to this many times its size,
const GROWTH: u64 = 4;

/// as far as each of them takes at most this part of the smallest device.
const GROWTH_PART: u64 = 100;

/// Whether a volume may be created on devices that hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIsThere {
    /// It stays: the volume is not created.
    Stays,
    /// It is lost.
    IsLost,
}

/// Which devices of a new volume keep its map and its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MapKeepers {
    /// The first two that have room for them. If one fails, another one takes its place.
    #[default]
    Any,
    /// The first two of these, by their indices in ascending order. The others have no room for a map, so that they get
    /// no requests because it changes: a disk among them can sleep.
    Only(Vec<usize>),
}

impl MapKeepers {
    fn may_be(&self, device: usize) -> bool {
        match self {
            Self::Any => true,
            Self::Only(keepers) => keepers.contains(&device),
        }
    }
}

/// Creates a volume on `devices`; `identities` are those of the volume and of each device.
///
/// # Errors
/// If a device holds something that stays, if there is no room, or if the settings contradict each other: then nothing
/// was written. If writing fails, there is no volume.
pub fn create(
    devices: &mut [Box<dyn OpenDevice>],
    settings: &VolumeSettings,
    identities: &[Identity],
    what_is_there: WhatIsThere,
) -> Result<(), VolumeError> {
    create_with_map_on(&MapKeepers::Any, devices, settings, identities, what_is_there)
}

/// Creates a volume like [`create`], with its map on these devices.
///
/// # Errors
/// Those of [`create`], and if the volume keeps several copies of data, and fewer than two devices may keep the map.
pub fn create_with_map_on(
    keepers: &MapKeepers,
    devices: &mut [Box<dyn OpenDevice>],
    settings: &VolumeSettings,
    identities: &[Identity],
    what_is_there: WhatIsThere,
) -> Result<(), VolumeError> {
    assert_eq!(identities.len(), devices.len() + 1, "the volume and each device have an identity");
    if devices.is_empty() || devices.len() > Superblock::MEMBERS_MAX {
        return Err(VolumeError::Count(devices.len()));
    }
    for device in devices.iter_mut() {
        refuse_what_stays(&mut **device, what_is_there)?;
    }
    let superblocks = plan(keepers, devices, settings, identities)?;
    for (device, superblock) in devices.iter_mut().zip(&superblocks) {
        prepare(device.blocking(), superblock).map_err(|error| VolumeError::io(&**device, error))?;
    }
    // The first superblocks come last: until then, there is no volume.
    for copy in [1, 0] {
        for (device, superblock) in devices.iter_mut().zip(&superblocks) {
            let address = superblock.layout.superblocks()[copy];
            let written = device.blocking().write(address, &mut [IoSlice::new(&superblock.encode(address))], true);
            written.map_err(|error| VolumeError::io(&**device, error))?;
        }
    }
    Ok(())
}

/// Refuses a device that holds something, unless that may be lost.
pub(super) fn refuse_what_stays(device: &mut dyn OpenDevice, what_is_there: WhatIsThere) -> Result<(), VolumeError> {
    let found = what_is_on(device.blocking()).map_err(|error| VolumeError::io(device, error))?;
    match (found, what_is_there) {
        (Some(what), WhatIsThere::Stays) => Err(VolumeError::Holds { device: device.name().to_string(), what }),
        _ => Ok(()),
    }
}

/// Returns the devices that have to keep the map: those that somebody has named, else as many of the largest as there
/// are `copies`. Copies of data are worth as much as copies of the map.
fn must_keep(map_on: &MapKeepers, sizes: &[Bytes], copies: usize) -> Result<Vec<usize>, VolumeError> {
    match map_on {
        MapKeepers::Only(named) if named.len() < copies => Err(VolumeError::FewKeepers),
        MapKeepers::Only(named) => {
            assert!(named.iter().all(|&device| device < sizes.len()), "the devices that are named are there");
            Ok(named.clone())
        }
        MapKeepers::Any => {
            let mut largest: Vec<usize> = (0..sizes.len()).collect();
            largest.sort_by_key(|&device| std::cmp::Reverse(sizes[device]));
            largest.truncate(copies);
            Ok(largest)
        }
    }
}

/// Returns the superblock of each device.
fn plan(
    map_on: &MapKeepers,
    devices: &mut [Box<dyn OpenDevice>],
    settings: &VolumeSettings,
    identities: &[Identity],
) -> Result<Vec<Superblock>, VolumeError> {
    let sizes: Vec<Bytes> = devices.iter_mut().map(|device| device.blocking().capacity()).collect();
    let journal = Layout::journal_of(sizes.iter().copied().min().unwrap_or_default());
    let engine = settings.engine()?;
    let smallest = sizes.iter().min().map_or(0, |size| size.0);
    let checkpoint = |times: u64| checkpoint_bytes(engine.records_max(&sizes) * times);
    let checkpoint = checkpoint(GROWTH).min(smallest / GROWTH_PART).max(checkpoint(1));
    let unit = engine.unit().0.max(1);
    let too_small = |device: usize, error| VolumeError::Layout { device: devices[device].name().to_string(), error };
    let copies = if engine.copies() > 1 { KEEPERS } else { 1 };
    let must_keep = must_keep(map_on, &sizes, copies)?;
    let has_room = |layout: &Layout| layout.overhead() <= layout.size / STRUCTURES_PART;
    let layout = |device: usize| {
        let with = Layout::plan(sizes[device], journal, checkpoint, unit);
        match with {
            Ok(layout) if map_on.may_be(device) && (has_room(&layout) || must_keep.contains(&device)) => Ok(layout),
            Err(error) if must_keep.contains(&device) => Err(too_small(device, error)),
            _ => Layout::plan(sizes[device], 0, 0, unit).map_err(|error| too_small(device, error)),
        }
    };
    let layouts: Vec<Layout> = (0..sizes.len()).map(layout).collect::<Result<_, _>>()?;
    let can_keep = (0..sizes.len()).filter(|&device| layouts[device].has_journal());
    let keepers: Vec<usize> = can_keep.take(KEEPERS).collect();
    let member = |(index, layout): (usize, &Layout)| Member {
        id: identities[index + 1],
        data: Bytes(layout.data_length),
        state: MemberState::InUse,
        keeps_journal: keepers.contains(&index),
        opened: 0,
    };
    let members: Vec<Member> = layouts.iter().enumerate().map(member).collect();
    let names = devices.iter().map(|device| device.name().to_string()).collect();
    let text = settings_of(&*engine, settings, &members, names)?.text()?;
    let superblock = |(index, layout)| Superblock {
        volume: identities[0],
        generation: 1,
        index: index as u16,
        members: members.clone(),
        layout,
        settings: text.clone(),
    };
    Ok(layouts.into_iter().enumerate().map(superblock).collect())
}

/// Returns all settings of the new volume.
fn settings_of(
    engine: &dyn EngineSettings,
    settings: &VolumeSettings,
    members: &[Member],
    names: Vec<String>,
) -> Result<VolumeSettings, VolumeError> {
    let present = |member: &Member| EngineDevice { data: member.data, presence: Presence::Present };
    let devices: Vec<EngineDevice> = members.iter().map(present).collect();
    let empty = engine.restore(Restored {
        only_reads: false,
        devices: &devices,
        through: RecordNumber(0),
        checkpoint: &mut std::iter::empty(),
        journal: &mut std::iter::empty(),
    })?;
    let options = engine.created(empty.capacity(), devices.len());
    Ok(VolumeSettings { devices: names, ..VolumeSettings::new(&settings.kind, options) })
}

/// Writes an empty journal and an empty checkpoint.
fn prepare(device: &mut dyn BlockingBackend, superblock: &Superblock) -> io::Result<()> {
    let layout = superblock.layout;
    if superblock.member().keeps_journal {
        device.write_zeroes(layout.journal_start(), layout.journal, false)?;
        let after = JournalPlace { through: RecordNumber(0), batch: 1, offset: 0 };
        let mut pieces = PieceWriter::new(1, after);
        let address = layout.checkpoint_start(1);
        let mut bytes = vec![0; pieces.bytes()];
        let by = SealedBy { volume: superblock.volume, address };
        pieces.write(by, superblock.generation, true, &mut bytes);
        device.write(address, &mut [IoSlice::new(&bytes)], false)?;
    }
    device.flush()
}
