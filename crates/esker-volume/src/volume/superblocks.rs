//! Reads the superblocks of devices, and finds out which devices are believed.

use esker_core::Bytes;

use super::error::VolumeError;
use super::kinds::{EngineDevice, Presence};
use crate::backend::OpenDevice;
use crate::format::{Identity, MemberState, SUPERBLOCK, Superblock, SuperblockError};

/// The devices of a volume, as their superblocks describe them.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The newest superblock.
    pub(super) newest: Superblock,
    /// For each device of the volume, its place in the list that was given; `None` if it is missing.
    pub(super) given: Vec<Option<usize>>,
    /// The devices of the volume whose superblocks have to be written again: one is damaged, or of an earlier
    /// generation.
    pub(super) to_write: Vec<usize>,
    /// The superblock of each device of the volume that was given.
    pub(super) own: Vec<Option<Superblock>>,
}

/// A superblock of a device, or why there is none.
type Read = Result<Superblock, SuperblockError>;

/// Reads both superblocks of a device. Returns the newer one, and whether both are alike.
pub(super) fn read(device: &mut dyn OpenDevice) -> Result<(Superblock, bool), VolumeError> {
    let capacity = device.blocking().capacity().0;
    let mut bytes = vec![0; SUPERBLOCK];
    // Why one of them could not be read, which matters if neither is found.
    let mut unreadable = None;
    let mut at = |address: u64| -> (Read, Option<u64>) {
        let absent = Err(crate::format::Damage::Absent.into());
        if address.saturating_add(bytes.len() as u64) > capacity {
            return (absent, None);
        }
        if let Err(error) = device.blocking().read(address, &mut bytes) {
            unreadable = Some(error);
            return (absent, None);
        }
        (Superblock::decode(&bytes, address), Superblock::size_hint(&bytes))
    };
    let end = |size: u64| (size - size % 4096).saturating_sub(SUPERBLOCK as u64);
    let (first, hint) = at(0);
    // The device may have become larger since. If it did while it served and the first superblock is torn, each of its
    // sectors is old or new, and at both ends there is a superblock.
    let size = first.as_ref().ok().map(|first| first.layout.size).or(hint);
    let mut last = at(end(size.unwrap_or(capacity))).0;
    if first.is_err() && last.is_err() {
        last = at(end(capacity)).0;
    }
    if let (Err(_), Err(_), Some(error)) = (&first, &last, unreadable) {
        return Err(VolumeError::io(device, error));
    }
    let (found, alike) = match (first, last) {
        (Ok(first), Ok(last)) => {
            let alike = first == last;
            (if last.generation > first.generation { last } else { first }, alike)
        }
        (Ok(one), Err(SuperblockError::Damaged(_))) | (Err(SuperblockError::Damaged(_)), Ok(one)) => (one, false),
        (Err(error), _) | (_, Err(error)) => {
            return Err(VolumeError::Superblock { device: device.name().to_string(), error });
        }
    };
    if found.layout.size > capacity {
        let (holds, recorded) = (Bytes(capacity), Bytes(found.layout.size));
        return Err(VolumeError::Smaller { device: device.name().to_string(), holds, recorded });
    }
    Ok((found, alike))
}

/// Finds out which devices of a volume were given.
pub(super) fn find(devices: &mut [Box<dyn OpenDevice>]) -> Result<Found, VolumeError> {
    let mut all = Vec::new();
    for device in devices.iter_mut() {
        all.push(read(&mut **device)?);
    }
    let name = |device: usize| devices[device].name().to_string();
    let volume = all.first().ok_or(VolumeError::Count(0))?.0.volume;
    for (device, (superblock, _)) in all.iter().enumerate() {
        let found = superblock.volume;
        if found != volume {
            return Err(VolumeError::TwoVolumes { first: name(0), device: name(device), found, volume });
        }
        let same = |(other, _): &(Superblock, bool)| other.member().id == superblock.member().id;
        if let Some(first) = all[..device].iter().position(same) {
            return Err(VolumeError::Twice { first: name(first), second: name(device) });
        }
    }
    let newest = (0..all.len()).rev().max_by_key(|&device| all[device].0.generation).expect("there is one");
    let Superblock { generation, ref members, ref settings, .. } = all[newest].0;
    if generation == Superblock::JOINS {
        return Err(VolumeError::NotJoined { device: name(newest) });
    }
    let disagrees = |(other, _): &(Superblock, bool)| {
        other.generation == generation && (&other.members, &other.settings) != (members, settings)
    };
    if let Some(second) = all.iter().position(disagrees) {
        return Err(VolumeError::Split { first: name(newest), second: name(second) });
    }
    // Copies of journal and checkpoints lie at the same places.
    let keeps = |(superblock, _): &&(Superblock, bool)| superblock.layout.has_journal();
    let places = |(superblock, _): &(Superblock, bool)| (superblock.layout.journal, superblock.layout.checkpoint);
    let first = all.iter().find(keeps).map(places);
    if let Some(second) = all.iter().position(|one| keeps(&one) && Some(places(one)) != first) {
        return Err(VolumeError::Split { first: name(newest), second: name(second) });
    }
    let newest = all[newest].0.clone();
    let of = |id: Identity| all.iter().position(|(superblock, _)| superblock.member().id == id);
    let is_used = |member: &&crate::format::Member| member.state != MemberState::Removed;
    let given: Vec<Option<usize>> =
        newest.members.iter().map(|member| Some(member).filter(is_used).and_then(|member| of(member.id))).collect();
    let own = |(member, given): (&crate::format::Member, &Option<usize>)| {
        let mut own = all[(*given)?].0.clone();
        // Its own superblocks may say that it has grown after that was taken back.
        own.layout.data_length = own.layout.data_length.min(member.data.0);
        Some(own)
    };
    let to_write = |member: &usize| {
        let given = given[*member].map(|given| &all[given]);
        given.is_some_and(|(superblock, alike)| !alike || superblock.generation < newest.generation)
    };
    Ok(Found {
        to_write: (0..given.len()).filter(to_write).collect(),
        own: newest.members.iter().zip(&given).map(own).collect(),
        newest,
        given,
    })
}

impl Found {
    /// Returns whether no device of the volume is missing.
    pub(super) fn is_complete(&self) -> bool {
        self.engine_devices().iter().all(|device| device.presence != Presence::Missing)
    }

    /// The devices of the engine.
    pub(super) fn engine_devices(&self) -> Vec<EngineDevice> {
        let device = |(member, given): (&crate::format::Member, &Option<usize>)| {
            let presence = match (member.state, given) {
                (MemberState::Removed, _) => Presence::Removed,
                (_, None) => Presence::Missing,
                (_, Some(_)) => Presence::Present,
            };
            EngineDevice { data: member.data, presence }
        };
        self.newest.members.iter().zip(&self.given).map(device).collect()
    }

    /// The devices of the volume that keep the journal and are there: their place in the list, and where their parts
    /// lie.
    pub(super) fn keepers(&self) -> Vec<Keeper> {
        self.with_journal(true)
    }

    /// The devices that are there and have room for a journal, but keep none.
    pub(super) fn others(&self) -> Vec<Keeper> {
        self.with_journal(false).into_iter().filter(|other| other.layout.has_journal()).collect()
    }

    fn with_journal(&self, keeps: bool) -> Vec<Keeper> {
        let found = |(index, member): (usize, &crate::format::Member)| {
            let given = self.given[index].filter(|_| member.keeps_journal == keeps)?;
            Some(Keeper { given, layout: self.own[index].as_ref()?.layout })
        };
        self.newest.members.iter().enumerate().filter_map(found).collect()
    }
}

/// A device that keeps the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeper {
    /// Its place in the list that was given.
    pub(super) given: usize,
    pub(super) layout: crate::format::Layout,
}
