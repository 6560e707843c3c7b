//! Volumes: engines whose data, map and journal lie on devices.

mod create;
mod dump;
mod error;
#[cfg(test)]
mod hostile_tests;
mod kinds;
mod map;
mod recover;
mod settings;
mod signs;
mod superblocks;

use std::collections::VecDeque;
use std::io::IoSlice;

use esker_core::{Bytes, DeviceError, Nanos, Request, RequestKind, Tag};
use esker_results::DeviceReport;
use esker_tier::Engine;

use crate::backend::OpenDevice;
use crate::clock::Clock;
use crate::driver::{RealDriver, Reply};
use crate::format::{Identity, Member, Superblock};
use crate::journal::disk::{Devices, DiskJournal, JournalState, VolumeDevice};
use crate::memory::{Buffer, ReplyData};
use crate::part::{Part, divide};
use crate::store::Store;
pub use create::{WhatIsThere, create};
pub use dump::{DumpPart, dump};
pub use error::{MapDamage, VolumeError};
use kinds::EngineDevice;
pub use kinds::{EngineError, EngineSettings, Presence, Restored, VOLUME_KINDS, VolumeKind};
use map::Repair;
use recover::{Recovered, recover};
pub use settings::VolumeSettings;
use superblocks::{Found, Keeper};

/// A volume that is open.
pub struct Volume<C> {
    driver: RealDriver<dyn Engine, C>,
    state: VolumeState,
    /// Replies to requests that need no driver.
    answered: VecDeque<Reply>,
}

/// What is known of a volume when it is opened.
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
    /// The checkpoint that was read.
    pub checkpoint: u64,
    /// Number of records behind the checkpoint.
    pub journal_records: u64,
    /// Whether something was damaged on one device, and whole on another.
    pub was_damaged: bool,
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
    /// Whether it keeps a copy of the map.
    pub keeps_map: bool,
}

impl VolumeState {
    /// The devices that are missing. If there are some, the volume is read-only.
    pub fn missing(&self) -> impl Iterator<Item = &VolumeMember> {
        self.devices.iter().filter(|device| device.presence == Presence::Missing)
    }

    /// Returns true if everything is there and whole.
    pub fn is_whole(&self) -> bool {
        self.missing().next().is_none() && !self.was_damaged
    }
}

impl Recovered {
    fn state(&self, devices: &[Box<dyn OpenDevice>]) -> VolumeState {
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
            keeps_map: member.keeps_journal,
        };
        VolumeState {
            volume: newest.volume,
            settings: self.settings.clone(),
            capacity: self.engine.capacity(),
            devices: all.map(member).collect(),
            generation: newest.generation,
            checkpoint: self.checkpoint,
            journal_records: self.journal.records.len() as u64,
            was_damaged: self.is_damaged || !self.found.to_write.is_empty(),
        }
    }
}

/// Reads all that a volume consists of but its data, and writes nothing.
///
/// # Errors
/// If the volume cannot be opened.
pub fn check(devices: &mut [Box<dyn OpenDevice>]) -> Result<VolumeState, VolumeError> {
    Ok(recover(devices)?.state(devices))
}

impl<C: Clock> Volume<C> {
    /// Opens the volume on `devices`, which may come in any order. Repairs what one device lacks and another one has; a
    /// volume of which a device is missing is only read.
    ///
    /// # Errors
    /// If the devices do not belong together, or if the map cannot be read. Then nothing was written.
    pub fn open(mut devices: Vec<Box<dyn OpenDevice>>, clock: C) -> Result<Self, VolumeError> {
        make_durable(&mut devices)?;
        let recovered = recover(&mut devices)?;
        let state = recovered.state(&devices);
        let is_writable = state.missing().next().is_none();
        repair_journal(&mut devices, &recovered)?;
        if is_writable {
            repair_superblocks(&mut devices, &recovered.found)?;
        }
        let Recovered { found, engine, journal, checkpoint, is_damaged, .. } = recovered;
        let mut devices: Vec<Option<Box<dyn OpenDevice>>> = devices.into_iter().map(Some).collect();
        let (mut stores, mut all) = (Vec::new(), Vec::new());
        for (index, (given, own)) in found.given.iter().zip(&found.own).enumerate() {
            let superblock = Superblock { index: index as u16, ..found.newest.clone() };
            let (Some(given), Some(own)) = (given, own) else {
                stores.push(Store::missing());
                all.push(VolumeDevice::new(None, false, superblock));
                continue;
            };
            let device = devices[*given].take().expect("each is given once");
            let (limits, device) = (device.limits(), device.into_backend());
            let layout = own.layout;
            let parts = divide(device, &[(0, layout.size), (layout.data, layout.data_length)]);
            let [whole, data]: [Part; 2] = parts.try_into().ok().expect("two were asked for");
            stores.push(Store::new(Box::new(data)).with_limits(limits));
            all.push(VolumeDevice::new(Some(whole), is_writable, Superblock { layout, ..superblock }));
        }
        let through = journal.through;
        let journal_state = JournalState { ring: journal.ring, through, checkpoint, is_damaged };
        let journal = DiskJournal::new(Devices::new(all), journal_state);
        let driver = RealDriver::new(engine, stores, Box::new(journal), clock);
        Ok(Self { driver, state, answered: VecDeque::new() })
    }

    /// What was known when the volume was opened.
    pub fn state(&self) -> &VolumeState {
        &self.state
    }

    /// Bytes that the host can address.
    pub fn capacity(&self) -> Bytes {
        self.driver.capacity()
    }

    /// Gives a buffer for the data of a write; see [`RealDriver::buffer`].
    pub fn buffer(&mut self, length: usize) -> Buffer {
        self.driver.buffer(length)
    }

    /// Takes the memory of a reply back; see [`RealDriver::recycle`].
    pub fn recycle(&mut self, data: ReplyData) {
        self.driver.recycle(data);
    }

    /// Takes a request that arrives now; see [`RealDriver::submit`]. A volume of which a device is missing takes reads;
    /// a flush has nothing to do there, and everything else is refused.
    pub fn submit(&mut self, tag: Tag, request: Request, data: impl Into<Buffer>) {
        if self.state.missing().next().is_none() || request.kind == RequestKind::Read {
            return self.driver.submit(tag, request, data);
        }
        let result = if request.kind == RequestKind::Flush { Ok(()) } else { Err(DeviceError::ReadOnly) };
        self.answered.push_back(Reply { tag, at: self.driver.time(), result, data: ReplyData::default() });
    }

    /// Performs everything that is due by now.
    pub fn step(&mut self) {
        self.driver.step();
    }

    /// Returns when [`Self::step`] has to be called next, at the latest.
    pub fn next_event(&self) -> Nanos {
        self.driver.next_event()
    }

    /// Returns true while a device or the journal is working.
    pub fn is_busy(&self) -> bool {
        self.driver.is_busy()
    }

    /// Returns true if nothing was ever written to the volume, or all of it was trimmed. False for an engine that does
    /// not know.
    pub fn is_empty(&self) -> bool {
        self.driver.is_empty()
    }

    /// Returns what the engine did since the volume was opened, or since [`Self::start_measuring`].
    pub fn report(&self) -> DeviceReport {
        let report = self.driver.report();
        DeviceReport { kind: self.state.settings.kind.clone(), capacity_bytes: self.capacity().0, ..report }
    }

    /// Sets all counts of [`Self::report`] to zero.
    pub fn start_measuring(&mut self) {
        self.driver.start_measuring();
    }

    /// Takes the reply of the next request that has ended.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.answered.pop_front().or_else(|| self.driver.next_reply())
    }
}

/// Makes durable what the operating system has in memory, and forgets it: a flush that failed earlier may have left
/// bytes there that the device does not hold. Whatever is read afterwards stays.
fn make_durable(devices: &mut [Box<dyn OpenDevice>]) -> Result<(), VolumeError> {
    for device in devices.iter_mut() {
        let flushed = device.blocking().flush();
        let durable = flushed.and(device.forget_cached());
        durable.map_err(|error| VolumeError::NotDurable { device: device.name().to_string(), error })?;
    }
    Ok(())
}

/// Writes batches that one device lacks and another one has, also if a device is missing: what was read once stays,
/// even if the one that has it is lost, too.
fn repair_journal(devices: &mut [Box<dyn OpenDevice>], recovered: &Recovered) -> Result<(), VolumeError> {
    for Repair { keeper, offset, bytes } in &recovered.journal.to_repair {
        let Keeper { given, layout } = recovered.keepers[*keeper];
        write_durably(devices, given, layout.journal_start() + offset, bytes)?;
    }
    Ok(())
}

/// Writes superblocks that are damaged or of an earlier generation.
fn repair_superblocks(devices: &mut [Box<dyn OpenDevice>], found: &Found) -> Result<(), VolumeError> {
    for copy in [1, 0] {
        for &member in &found.to_write {
            let own = found.own[member].as_ref().expect("it was given");
            let given = found.given[member].expect("it was given");
            let superblock = Superblock { index: own.index, layout: own.layout, ..found.newest.clone() };
            let address = superblock.layout.superblocks()[copy];
            write_durably(devices, given, address, &superblock.encode(address))?;
        }
    }
    Ok(())
}

fn write_durably(
    devices: &mut [Box<dyn OpenDevice>],
    device: usize,
    address: u64,
    bytes: &[u8],
) -> Result<(), VolumeError> {
    let device = &mut devices[device];
    let written = device.blocking().write(address, &mut [IoSlice::new(bytes)], true);
    written.map_err(|error| VolumeError::io(&**device, error))
}
