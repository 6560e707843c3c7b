//! Reads the superblocks of devices, and finds out which devices are believed.

use esker_core::Bytes;

use super::error::VolumeError;
use super::kinds::{EngineDevice, Presence};
use crate::backend::OpenDevice;
use crate::format::{Identity, Member, MemberState, SUPERBLOCK, Superblock, SuperblockError};

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
    /// Those of them that only have the superblock at their end.
    pub(super) without_first: Vec<usize>,
    /// Whether one of these is damaged, or lacks a change. An opening that was cut off is none.
    pub(super) are_damaged: bool,
    /// The superblock of each device of the volume that was given.
    pub(super) own: Vec<Option<Superblock>>,
}

/// What the superblocks of a device say.
#[derive(Clone, Debug)]
pub(super) struct OnDevice {
    /// The newer one.
    pub(super) superblock: Superblock,
    /// Whether the one at the beginning is whole.
    is_first_whole: bool,
    /// Whether both are whole.
    are_whole: bool,
    /// Whether both are whole, and alike.
    are_alike: bool,
    /// For each device, the generation that its superblocks have at least, as one of these says.
    opened: Vec<u64>,
}

/// A superblock of a device, or why there is none.
type Read = Result<Superblock, SuperblockError>;

/// Reads both superblocks of a device.
pub(super) fn read(device: &mut dyn OpenDevice) -> Result<OnDevice, VolumeError> {
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
    let (is_first_whole, are_whole) = (first.is_ok(), first.is_ok() && last.is_ok());
    let mut opened = Vec::new();
    for Superblock { members, .. } in [&first, &last].into_iter().flatten() {
        opened.resize(members.len().max(opened.len()), 0);
        opened.iter_mut().zip(members).for_each(|(opened, member)| *opened = member.opened.max(*opened));
    }
    let (superblock, are_alike) = match (first, last) {
        (Ok(first), Ok(last)) => {
            let are_alike = first == last;
            (if last.generation > first.generation { last } else { first }, are_alike)
        }
        (Ok(one), Err(SuperblockError::Damaged(_))) | (Err(SuperblockError::Damaged(_)), Ok(one)) => (one, false),
        (Err(error), _) | (_, Err(error)) => {
            return Err(VolumeError::Superblock { device: device.name().to_string(), error });
        }
    };
    if superblock.layout.size > capacity {
        let (holds, recorded) = (Bytes(capacity), Bytes(superblock.layout.size));
        return Err(VolumeError::Smaller { device: device.name().to_string(), holds, recorded });
    }
    Ok(OnDevice { superblock, is_first_whole, are_whole, are_alike, opened })
}

impl OnDevice {
    /// Returns whether the device was put back from a copy that is older than `others`, the devices of its volume. Of
    /// one of which a superblock is damaged, that one may have been newer.
    pub(super) fn is_older<'a>(&self, others: impl Iterator<Item = &'a Self>) -> bool {
        let index = usize::from(self.superblock.index);
        self.are_whole && self.superblock.generation < opened(index, others)
    }
}

/// Returns the generation that the superblocks of device `index` have at least, as these devices say.
fn opened<'a>(index: usize, devices: impl Iterator<Item = &'a OnDevice>) -> u64 {
    devices.filter_map(|device| device.opened.get(index)).copied().max().unwrap_or(0)
}

/// Refuses no devices, those of two volumes, and the same one twice.
fn check_identities(all: &[OnDevice], name: &dyn Fn(usize) -> String) -> Result<(), VolumeError> {
    let volume = all.first().ok_or(VolumeError::Count(0))?.superblock.volume;
    for (device, OnDevice { superblock, .. }) in all.iter().enumerate() {
        let found = superblock.volume;
        if found != volume {
            return Err(VolumeError::TwoVolumes { first: name(0), device: name(device), found, volume });
        }
        let same = |other: &OnDevice| other.superblock.member().id == superblock.member().id;
        if let Some(first) = all[..device].iter().position(same) {
            return Err(VolumeError::Twice { first: name(first), second: name(device) });
        }
    }
    Ok(())
}

/// Finds out which devices of a volume were given.
pub(super) fn find(devices: &mut [Box<dyn OpenDevice>]) -> Result<Found, VolumeError> {
    let mut all = Vec::new();
    for device in devices.iter_mut() {
        all.push(read(&mut **device)?);
    }
    let name = |device: usize| devices[device].name().to_string();
    check_identities(&all, &name)?;
    let newest = (0..all.len()).rev().max_by_key(|&device| all[device].superblock.generation).expect("there is one");
    let Superblock { generation, ref members, ref settings, .. } = all[newest].superblock;
    if generation == Superblock::JOINS {
        return Err(VolumeError::NotJoined { device: name(newest) });
    }
    let disagrees = |OnDevice { superblock: other, .. }: &OnDevice| {
        other.generation == generation && !other.says_the_same(members, settings)
    };
    if let Some(second) = all.iter().position(disagrees) {
        return Err(VolumeError::Split { first: name(newest), second: name(second) });
    }
    // Copies of journal and checkpoints lie at the same places.
    let keeps = |device: &&OnDevice| device.superblock.layout.has_journal();
    let places = |device: &OnDevice| (device.superblock.layout.journal, device.superblock.layout.checkpoint);
    let first = all.iter().find(keeps).map(places);
    if let Some(second) = all.iter().position(|one| keeps(&one) && Some(places(one)) != first) {
        return Err(VolumeError::Split { first: name(newest), second: name(second) });
    }
    let mut newest = all[newest].superblock.clone();
    let of = |id: Identity| all.iter().position(|device| device.superblock.member().id == id);
    let is_used = |member: &&Member| member.state != MemberState::Removed;
    let given: Vec<Option<usize>> =
        newest.members.iter().map(|member| Some(member).filter(is_used).and_then(|member| of(member.id))).collect();
    if let Some(&older) = given.iter().flatten().find(|&&given| all[given].is_older(all.iter())) {
        return Err(VolumeError::OlderCopy { device: name(older) });
    }
    // The newest superblock may have been written where others have failed.
    newest.members.iter_mut().enumerate().for_each(|(index, member)| member.opened = opened(index, all.iter()));
    let own = |(member, given): (&Member, &Option<usize>)| {
        let mut own = all[(*given)?].superblock.clone();
        // Its own superblocks may say that it has grown after that was taken back.
        own.layout.data_length = own.layout.data_length.min(member.data.0);
        Some(own)
    };
    let to_write = |member: &usize| {
        let given = given[*member].map(|given| &all[given]);
        given.is_some_and(|device| !device.are_alike || device.superblock.generation < newest.generation)
    };
    let without_first = |member: &usize| given[*member].is_some_and(|given| !all[given].is_first_whole);
    let is_damaged = |&given: &usize| {
        let device: &OnDevice = &all[given];
        !device.are_whole || !device.superblock.says_the_same(&newest.members, &newest.settings)
    };
    Ok(Found {
        are_damaged: given.iter().flatten().any(is_damaged),
        to_write: (0..given.len()).filter(to_write).collect(),
        without_first: (0..given.len()).filter(without_first).collect(),
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
        let device = |(member, given): (&Member, &Option<usize>)| {
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
        let found = |(index, member): (usize, &Member)| {
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
