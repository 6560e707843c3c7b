//! Changes of the devices of a volume that is served.

use std::io;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use esker_core::{Bytes, DeviceState, DriveWear};
use esker_volume::{
    DEVICE_NAME_RULE, DeviceIo, DrainProgress, Identity, JoinPlan, JoiningDevice, OpenDevice, SystemClock, Volume,
    VolumeChange, VolumeMap, WhatIsThere, is_device_name,
};
use serde_json::Value;

use crate::control::{ControlError, VolumeOperation};

/// What says where the devices of a volume are when it is opened the next time, and how they are opened. A place is a
/// text that says where a device is.
pub trait VolumeFile: Send {
    /// Returns true if it names such a device.
    fn has(&self, name: &str) -> bool;

    /// The size that a device in use has now.
    ///
    /// # Errors
    /// If nothing says where the device is, if it cannot be asked, or if it cannot grow while it is used.
    fn size(&self, name: &str) -> Result<Bytes, ControlError>;

    /// What a device says of its wear, if anything. Does not block.
    fn wear(&self, name: &str) -> Option<DriveWear>;

    /// Returns what opens the device at `place`. It is called in a thread of its own, because that may take long.
    fn opening(&self, name: &str, place: &str, io: &DeviceIo) -> Opening;

    /// Adds a device, before it joins: one that is named and has not joined does no harm.
    ///
    /// # Errors
    /// If that cannot be written.
    fn add(&mut self, name: &str, place: &str) -> io::Result<()>;

    /// Takes out a device that was removed.
    ///
    /// # Errors
    /// If that cannot be written.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Reads the map of ranges at `place`, for the devices of these names in order, and keeps a copy of it for whoever
    /// opens the volume the next time.
    ///
    /// # Errors
    /// If it cannot be read, has a mistake, or cannot be kept.
    fn keep_map(&mut self, place: &str, devices: &[&str]) -> Result<VolumeMap, ControlError>;

    /// Forgets the map of this name, which the volume follows no more.
    fn forget_map(&mut self, name: &str);
}

/// Opens a device.
pub type Opening = Box<dyn FnOnce() -> Result<Box<dyn OpenDevice>, ControlError> + Send>;

/// The change that is under way.
pub(crate) struct Changes {
    file: Box<dyn VolumeFile>,
    under_way: Option<Change>,
}

struct Change {
    /// Who waits for its end.
    asked_by: u32,
    /// The name of a device that joins with it.
    added: Option<String>,
    /// The name of a device that leaves with it.
    removed: Option<String>,
    /// Names of maps that the volume may follow no more when it has ended.
    maps: Vec<String>,
    preparing: Option<Preparing>,
}

/// A device that is being opened and prepared, in a thread, because that takes as long as the device takes.
struct Preparing {
    name: String,
    place: String,
    ends: Receiver<Result<JoiningDevice, ControlError>>,
}

impl Changes {
    pub(crate) fn new(file: Box<dyn VolumeFile>) -> Self {
        Self { file, under_way: None }
    }

    pub(crate) fn file(&self) -> &dyn VolumeFile {
        &*self.file
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Begins the change that `asked_by` asks for.
    pub(crate) fn begin(
        &mut self,
        volume: &mut Volume<SystemClock>,
        io: &DeviceIo,
        asked_by: u32,
        operation: VolumeOperation,
    ) -> Result<(), ControlError> {
        if self.under_way.is_some() {
            return Err(ControlError::new("another change of the volume is under way"));
        }
        volume.check_writable().map_err(|error| ControlError::of(&error))?;
        let mut change = Change { asked_by, added: None, removed: None, maps: Vec::new(), preparing: None };
        let asked = match operation {
            VolumeOperation::Status => unreachable!("it changes nothing"),
            VolumeOperation::AddDevice { name, place, force, no_map } => {
                let plan = volume.join_plan().map_err(|error| ControlError::of(&error))?;
                let plan = if no_map { plan.without_map() } else { plan };
                change.preparing = Some(self.prepare(volume, io, (name.clone(), place), plan, force)?);
                change.added = Some(name);
                None
            }
            VolumeOperation::Drain { device } => Some(VolumeChange::Drain { device: index(volume, &device)? }),
            VolumeOperation::Keep { device } => Some(VolumeChange::Keep { device: index(volume, &device)? }),
            VolumeOperation::Remove { device } => {
                let index = index(volume, &device)?;
                // Of what was on one that has failed, others may have copies: the engine knows.
                let has_failed = volume.device_state(index) == DeviceState::Failed;
                if !has_failed && volume.drain_progress(index) != Some(DrainProgress::Empty) {
                    return Err(not_empty(&device, volume.drain_progress(index)));
                }
                change.removed = Some(device);
                Some(VolumeChange::Remove { device: index })
            }
            VolumeOperation::GrowDevice { device } => {
                let index = index(volume, &device)?;
                Some(VolumeChange::Grow { device: index, size: self.file.size(&device)? })
            }
            VolumeOperation::Grow { capacity_bytes } => {
                Some(VolumeChange::Offer { capacity: capacity_bytes.map_or(volume.capacity_max(), Bytes) })
            }
            VolumeOperation::Set { settings } => {
                change.maps.extend(followed(volume));
                Some(VolumeChange::Set(settings))
            }
            VolumeOperation::SetMap { place, settings } => {
                let devices: Vec<&str> = volume.state().devices.iter().map(|device| device.name.as_str()).collect();
                let map = self.file.keep_map(&place, &devices)?;
                change.maps.extend(followed(volume).into_iter().chain([map.name.clone()]));
                Some(VolumeChange::SetMap(map, settings))
            }
        };
        if let Some(asked) = asked
            && let Err(error) = volume.change(asked)
        {
            self.forget_maps(&change.maps, volume);
            return Err(ControlError::of(&error));
        }
        self.under_way = Some(change);
        Ok(())
    }

    /// Forgets those of these maps that the volume does not follow.
    fn forget_maps(&mut self, maps: &[String], volume: &Volume<SystemClock>) {
        let followed = followed(volume);
        maps.iter().filter(|map| followed.as_ref() != Some(*map)).for_each(|map| self.file.forget_map(map));
    }

    /// Begins to prepare the device of this name at this place.
    fn prepare(
        &mut self,
        volume: &Volume<SystemClock>,
        io: &DeviceIo,
        (name, place): (String, String),
        plan: JoinPlan,
        force: bool,
    ) -> Result<Preparing, ControlError> {
        let what = |error: &dyn std::fmt::Display| ControlError::new(format!("{name} ({place}): {error}"));
        if !is_device_name(&name) {
            let message = format!("a device cannot be called {name:?}");
            return Err(ControlError { hint: Some(DEVICE_NAME_RULE.to_string()), ..ControlError::new(message) });
        }
        if self.file.has(&name) || volume.state().devices.iter().any(|device| device.name == name) {
            let message = format!("the volume has, or had, a device called {name}");
            return Err(ControlError { hint: Some("choose another name".to_string()), ..ControlError::new(message) });
        }
        let identity = Identity::random().map_err(|error| what(&error))?;
        let open = self.file.opening(&name, &place, io);
        let what_is_there = if force { WhatIsThere::IsLost } else { WhatIsThere::Stays };
        let (sender, ends) = mpsc::channel();
        let signal = io.signal();
        let work = move || {
            let prepared = open().and_then(|device| {
                plan.prepare(device, identity, what_is_there).map_err(|error| ControlError::of(&error))
            });
            // The server may have ended.
            let _ = sender.send(prepared);
            signal.give();
        };
        thread::Builder::new().name("new device".to_string()).spawn(work).map_err(|error| what(&error))?;
        Ok(Preparing { name, place, ends })
    }

    /// Goes on with the change under way. Returns whom to tell how it has ended.
    pub(crate) fn go_on(&mut self, volume: &mut Volume<SystemClock>) -> Option<(u32, Result<Value, ControlError>)> {
        let change = self.under_way.as_mut()?;
        let result = match &change.preparing {
            Some(Preparing { name, place, ends }) => {
                let prepared = match ends.try_recv() {
                    Ok(prepared) => prepared,
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Disconnected) => Err(ControlError::new("the device could not be prepared")),
                };
                let joins = prepared.and_then(|device| {
                    self.file.add(name, place).map_err(|error| not_named(name, &error))?;
                    volume.change(VolumeChange::Join(device)).map_err(|error| ControlError::of(&error))
                });
                change.preparing = None;
                match joins {
                    Ok(()) => {
                        volume.step();
                        return None;
                    }
                    Err(error) => Err(error),
                }
            }
            None => volume.next_change()?.map_err(|error| ControlError::of(&error)),
        };
        let Change { asked_by, added, removed, maps, .. } = self.under_way.take().expect("it is under way");
        if result.is_ok() {
            // After a failure, superblocks that were written may name either.
            self.forget_maps(&maps, volume);
        }
        if let (Err(_), Some(name)) = (&result, added)
            && !volume.state().devices.iter().any(|device| device.name == name)
        {
            // If that cannot be written, a device is named that is none of the volume's.
            let _ = self.file.remove(&name);
        }
        let result = result.and_then(|()| match removed.map(|name| (self.file.remove(&name), name)) {
            Some((Err(error), name)) => {
                let message = format!("{name} was removed, and the volume's file still names it: {error}");
                Err(ControlError::new(message))
            }
            _ => Ok(Value::Null),
        });
        Some((asked_by, result))
    }
}

/// The map that the volume follows.
fn followed(volume: &Volume<SystemClock>) -> Option<String> {
    volume.state().settings.map_name().map(str::to_string)
}

/// Why a device does not join of which the volume's file cannot say where it is.
fn not_named(name: &str, error: &io::Error) -> ControlError {
    let message = format!("{name} did not join, because the volume's file cannot be written: {error}");
    let hint = "have whoever runs this be able to write that file and its folder, and add the device again";
    ControlError { hint: Some(hint.to_string()), ..ControlError::new(message) }
}

/// Why a device cannot leave.
fn not_empty(name: &str, progress: Option<DrainProgress>) -> ControlError {
    let (message, hint) = match progress {
        None => (format!("{name} was not drained"), "drain it first: its data move to the others"),
        Some(_) => (format!("{name} still holds data"), "wait until its drain has ended"),
    };
    ControlError { hint: Some(hint.to_string()), ..ControlError::new(message) }
}

/// The index of a device.
fn index(volume: &Volume<SystemClock>, name: &str) -> Result<usize, ControlError> {
    let devices = &volume.state().devices;
    let names = || devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
    devices.iter().position(|device| device.name == name).ok_or_else(|| {
        let error = ControlError::new(format!("the volume has no device called {name}"));
        ControlError { hint: Some(format!("its devices are {}", names())), ..error }
    })
}
