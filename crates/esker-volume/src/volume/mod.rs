//! Volumes: engines whose data, map and journal lie on devices.

mod change;
mod create;
mod dump;
mod error;
mod failing;
#[cfg(test)]
mod faulty_tests;
#[cfg(test)]
mod hostile_tests;
mod join;
mod kinds;
mod lost;
mod map;
mod opening;
mod recover;
mod room;
mod set;
mod settings;
mod signs;
mod state;
mod superblocks;

use std::collections::VecDeque;
use std::io::IoSlice;

use esker_core::{Bytes, DeviceError, Nanos, Request, RequestKind, Tag};
use esker_results::DeviceReport;
use esker_tier::{DeviceIndex, Engine, Reshape};

use crate::backend::{Backend, OnlyRead, OpenDevice};
use crate::clock::Clock;
use crate::driver::{RealDriver, Reply};
use crate::format::{BLOCK, Superblock};
use crate::journal::disk::{Devices, DiskJournal, JournalState, MemberChanges, VolumeDevice};
use crate::memory::{Buffer, ReplyData};
use crate::part::{Part, divide};
use crate::store::Store;
use change::ChangeUnderWay;
pub use change::{ChangeError, DrainProgress, VolumeChange};
pub use create::{MapKeepers, WhatIsThere, create, create_with_map_on};
pub use dump::{DumpPart, dump};
pub use error::{MapDamage, VolumeError};
pub use failing::leave_failing_out;
pub use join::{JoinPlan, JoiningDevice, served_as};
pub use kinds::{EngineDevice, EngineError, EngineSettings, Presence, Restored, VOLUME_KINDS, VolumeKind};
pub use lost::{LostDevice, WhatWasLost, remove_lost};
use map::{JournalFound, Leftovers, Repair};
use recover::{Recovered, recover};
pub use settings::{AsleepAfter, ChangedLimits, ChangedSettings, MoveBudget, VolumeMap, VolumeSettings};
pub use signs::is_without_superblock;
pub use state::{VolumeMember, VolumeState};
use superblocks::Keeper;

/// A volume that is open.
pub struct Volume<C> {
    driver: RealDriver<dyn Engine, C>,
    state: VolumeState,
    /// Replies to requests that need no driver.
    answered: VecDeque<Reply>,
    /// Changes of the superblocks.
    changes: MemberChanges,
    change: Option<ChangeUnderWay>,
    /// How the last change has ended.
    changed: Option<Result<(), ChangeError>>,
    superblock: Superblock,
    /// Whether it was opened to be read.
    only_reads: bool,
}

/// Reads all that a volume consists of but its data, and writes nothing.
///
/// # Errors
/// If the volume cannot be opened.
pub fn check(devices: &mut [Box<dyn OpenDevice>]) -> Result<VolumeState, VolumeError> {
    Ok(recover(devices, true)?.state(devices))
}

impl<C: Clock> Volume<C> {
    /// Opens the volume on `devices`, which may come in any order. Repairs what one device lacks and another one has; a
    /// volume of which a device is missing is only read.
    ///
    /// # Errors
    /// If the devices do not belong together, or if the map cannot be read. Then nothing was written.
    pub fn open(mut devices: Vec<Box<dyn OpenDevice>>, clock: C) -> Result<Self, VolumeError> {
        make_durable(&mut devices)?;
        let mut recovered = recover(&mut devices, false)?;
        repair_journal(&mut devices, &recovered.journal, &recovered.keepers)?;
        match recovered.found.is_complete() {
            true => {
                erase_leftovers(&mut devices, &mut recovered.leftovers);
                opening::begin(&mut devices, &mut recovered.found)?;
            }
            false => opening::repair(&mut devices, &recovered.found)?,
        }
        Ok(Self::of(devices, recovered, clock, false))
    }

    /// Opens the volume on `devices` to read it: nothing is written to them, also not what another opening would repair
    /// or move.
    ///
    /// # Errors
    /// If the devices do not belong together, or if the map cannot be read.
    pub fn open_to_read(mut devices: Vec<Box<dyn OpenDevice>>, clock: C) -> Result<Self, VolumeError> {
        make_durable(&mut devices)?;
        let recovered = recover(&mut devices, true)?;
        Ok(Self::of(devices, recovered, clock, true))
    }

    fn of(devices: Vec<Box<dyn OpenDevice>>, recovered: Recovered, clock: C, only_reads: bool) -> Self {
        let state = recovered.state(&devices);
        let is_writable = !only_reads && recovered.found.is_complete();
        let Recovered { found, engine, journal, leftovers, checkpoint, is_damaged, .. } = recovered;
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
            let data: Box<dyn Backend> = if is_writable { Box::new(data) } else { Box::new(OnlyRead::new(data)) };
            stores.push(Store::new(data).with_limits(limits));
            let device = VolumeDevice::new(Some(whole), is_writable, Superblock { layout, ..superblock });
            all.push(if leftovers.stay_on.contains(given) { device.that_never_joins() } else { device });
        }
        let through = journal.through;
        let journal_state = JournalState { ring: journal.ring, through, checkpoint, is_damaged };
        let own = keeper_superblock(&all);
        let devices = Devices::new(all);
        let changes = devices.changes();
        let journal = DiskJournal::new(devices, journal_state);
        let mut driver = RealDriver::new(engine, stores, Box::new(journal), clock);
        if is_writable {
            for (index, _) in state.devices.iter().enumerate().filter(|(_, device)| device.is_draining) {
                // Where there is no room any more, it is drained once somebody asks again.
                let _ = driver.reshape(Reshape::Drain { device: DeviceIndex(index as u16) }, None);
            }
        }
        let (answered, change, changed) = (VecDeque::new(), None, None);
        Self { driver, state, answered, changes, change, changed, superblock: own, only_reads }
    }

    /// What the volume consists of now.
    pub fn state(&self) -> &VolumeState {
        &self.state
    }

    /// Returns why nothing can be written to the volume, if that is so.
    pub fn why_only_read(&self) -> Option<String> {
        let missing: Vec<&str> = self.state.missing().map(|device| device.name.as_str()).collect();
        match missing.is_empty() {
            true => self.only_reads.then(|| "it was opened to be read".to_string()),
            false => Some(format!("missing: {}", missing.join(", "))),
        }
    }

    /// Returns whether nothing can be written to the volume.
    pub fn is_only_read(&self) -> bool {
        self.only_reads || self.state.missing().next().is_some()
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

    /// Takes a request that arrives now; see [`RealDriver::submit`]. A volume that is only read takes reads; a flush
    /// has nothing to do there, and everything else is refused.
    pub fn submit(&mut self, tag: Tag, request: Request, data: impl Into<Buffer>) {
        if !self.is_only_read() || request.kind == RequestKind::Read {
            return self.driver.submit(tag, request, data);
        }
        let result = if request.kind == RequestKind::Flush { Ok(()) } else { Err(DeviceError::ReadOnly) };
        self.answered.push_back(Reply { tag, at: self.driver.time(), result, data: ReplyData::default() });
    }

    /// Performs everything that is due by now.
    pub fn step(&mut self) {
        self.driver.step();
        self.continue_change();
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

    /// Returns how many bytes of each device have extents of the host on them. Empty for an engine that keeps no map of
    /// extents.
    pub fn used(&self) -> Vec<Bytes> {
        self.driver.used()
    }

    /// Returns how many bytes from `start` on are alike, of `length` bytes within the capacity, and whether they may
    /// have been written. All others read as zeroes, and take no room on a device.
    pub fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        self.driver.written_run(start, length)
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

/// Returns the superblock of a device that keeps the journal, which says where copies of it lie.
fn keeper_superblock(devices: &[VolumeDevice]) -> Superblock {
    let keeps = |device: &&VolumeDevice| device.whole.is_some() && device.superblock.member().keeps_journal;
    devices.iter().find(keeps).expect("without one there is no map").superblock.clone()
}

/// Makes durable what was written to the devices last.
fn make_durable(devices: &mut [Box<dyn OpenDevice>]) -> Result<(), VolumeError> {
    devices.iter_mut().try_for_each(|device| {
        let durable = failing::make_durable(&mut **device);
        durable.map_err(|error| VolumeError::NotDurable { device: device.name().to_string(), error })
    })
}

/// Writes batches that one device lacks and another one has, also if a device is missing: what was read once stays,
/// even if the one that has it is lost, too.
fn repair_journal(
    devices: &mut [Box<dyn OpenDevice>],
    journal: &JournalFound,
    keepers: &[Keeper],
) -> Result<(), VolumeError> {
    for Repair { keeper, offset, bytes } in &journal.to_repair {
        let Keeper { given, layout } = keepers[*keeper];
        write_durably(devices, given, layout.journal_start() + offset, bytes)?;
    }
    Ok(())
}

/// Erases batches that a device got when it was about to keep the journal, and that the journal has lost. Where that
/// fails, they stay, and the device must not keep it now either.
fn erase_leftovers(devices: &mut [Box<dyn OpenDevice>], leftovers: &mut Leftovers) {
    for &(device, address) in &leftovers.blocks {
        if !leftovers.stay_on.contains(&device) && write_durably(devices, device, address, &[0; BLOCK]).is_err() {
            leftovers.stay_on.push(device);
        }
    }
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
