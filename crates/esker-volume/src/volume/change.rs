//! Changes of a volume's devices while it serves. They reach the superblocks before the engine, so that a volume that
//! is opened again always knows where its data may lie.

use esker_core::{Bytes, DeviceState, Hint};
use esker_tier::{DeviceIndex, LiveSettings, LiveSettingsError, Reshape, ReshapeError};
use thiserror::Error;

use super::join::{JoinPlan, JoiningDevice};
use super::kinds::{EngineDevice, EngineError, Presence};
use super::settings::{ChangedSettings, VolumeMap};
use super::{Volume, VolumeError, VolumeMember, VolumeSettings};
use crate::clock::Clock;
use crate::driver::StuckDrain;
use crate::format::{MemberState, Superblock};
use crate::journal::disk::{MemberChange, MemberEdit, News, VolumeDevice};
use crate::part::{Part, divide};
use crate::store::Store;

/// A change of a volume while it serves. Devices have their index in [`VolumeState::devices`](super::VolumeState).
pub enum VolumeChange {
    /// A device joins.
    Join(JoiningDevice),
    /// A device has become larger.
    Grow {
        /// The device.
        device: usize,
        /// Its size.
        size: Bytes,
    },
    /// The host is offered more. A front end shows that when its protocol allows it.
    Offer {
        /// The new capacity, in whole extents.
        capacity: Bytes,
    },
    /// The data of a device move to the others. That goes on when the volume is opened again.
    Drain {
        /// The device.
        device: usize,
    },
    /// A device that is being drained is used again.
    Keep {
        /// The device.
        device: usize,
    },
    /// A device that was drained and is empty leaves the volume, or one that has failed, of which others have copies.
    Remove {
        /// The device.
        device: usize,
    },
    /// The engine gets new settings.
    Set(ChangedSettings),
    /// The engine pins the ranges of a map. The policy of these settings places the rest, or the one in effect.
    SetMap(VolumeMap, ChangedSettings),
}

/// Why a volume is not changed.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// Another change is under way.
    #[error("another change of the volume is under way")]
    Busy,
    /// Nothing can be written to the volume.
    #[error("nothing can be written to the volume: {0}")]
    ReadOnly(String),
    /// There is no such device.
    #[error("there is no device {0}")]
    NoDevice(usize),
    /// The engine refuses the change.
    #[error(transparent)]
    Engine(#[from] ReshapeError),
    /// The engine could not be restored afterwards.
    #[error(transparent)]
    Settings(#[from] EngineError),
    /// The engine does not take the settings.
    #[error(transparent)]
    Live(#[from] LiveSettingsError),
    /// The settings are wrong, or do not fit into a superblock.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The host is offered as much as this already, whatever the devices are.
    #[error("the other devices hold {holds}, and the volume offers {capacity}")]
    Capacity {
        /// What it offers.
        capacity: Bytes,
        /// What the devices that stay hold.
        holds: Bytes,
    },
    /// Its map would be larger than the place that is kept for it.
    #[error("the devices keep room for the map of {holds}, and the volume would have {capacity}")]
    MapRoom {
        /// The new capacity.
        capacity: Bytes,
        /// The largest capacity for whose map there is room.
        holds: Bytes,
    },
    /// No other device keeps the map.
    #[error("{device} alone keeps the map of the volume")]
    LastMap {
        /// The device.
        device: String,
    },
    /// Only one other device keeps the map of a volume with several copies.
    #[error("without {device}, a single device would keep the map of the volume")]
    FewMaps {
        /// The device.
        device: String,
    },
    /// The device was prepared for a volume with other devices.
    #[error("{device} was not prepared for the volume as it is now")]
    NotPrepared {
        /// The device.
        device: String,
    },
    /// The superblocks could not be written.
    #[error("the volume stays as it was: {0}")]
    NotWritten(String),
}

impl Hint for ChangeError {
    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Busy => "try again when it has ended",
            Self::Engine(error) => return error.hint(),
            Self::Settings(error) => return error.hint(),
            Self::Live(error) => return error.hint(),
            Self::Volume(error) => return error.hint(),
            Self::Capacity { .. } => "add a device first",
            Self::MapRoom { .. } => "copy what is on it to a new volume over more devices, which keeps more room",
            Self::LastMap { .. } | Self::FewMaps { .. } => {
                "add a device with room for the map (a quarter of it at most), and wait until it has a copy"
            }
            Self::NotPrepared { .. } => "prepare it again",
            _ => return None,
        };
        Some(text.to_string())
    }

    fn work_failed(&self) -> bool {
        matches!(self, Self::NotWritten(_) | Self::ReadOnly(_))
    }
}

/// How far the drain of a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainProgress {
    /// Its data are moving.
    Moving,
    /// Only extents that cannot be read are left.
    Stuck(StuckDrain),
    /// It is empty, and can be removed.
    Empty,
}

/// What the engine has to do once the superblocks say so.
#[derive(Debug)]
pub(super) enum EngineChange {
    Reshape(Reshape),
    Set(LiveSettings),
    /// Nothing: it has refused what the superblocks said, which say what they said before again.
    TakenBack(ChangeError),
}

/// A change that is being written to the superblocks.
pub(super) struct ChangeUnderWay {
    of_engine: EngineChange,
    /// The store of a device that joins.
    store: Option<Store>,
    /// Its entry in the state.
    joining: Option<VolumeMember>,
    /// The device whose state changes, and its state before, to which it can return.
    before: Option<(usize, MemberState)>,
    pub(super) settings: VolumeSettings,
}

fn index(device: usize) -> DeviceIndex {
    DeviceIndex(u16::try_from(device).unwrap_or(u16::MAX))
}

impl<C: Clock> Volume<C> {
    /// What a device has to be to join.
    ///
    /// # Errors
    /// If the settings in the superblocks make no engine.
    pub fn join_plan(&self) -> Result<JoinPlan, VolumeError> {
        Ok(JoinPlan { volume: self.superblock_now(), unit: self.state.settings.engine()?.unit(), has_map: true })
    }

    fn superblock_now(&self) -> Superblock {
        let members = self.changes.devices().into_iter().map(|now| now.member).collect();
        Superblock { members, ..self.superblock.clone() }
    }

    /// The largest capacity that can be offered, beside what is kept free.
    pub fn capacity_max(&self) -> Bytes {
        self.driver.capacity_max()
    }

    /// Begins a change: once the superblocks of all devices say so, the engine does. [`Self::step`] makes it go on, and
    /// [`Self::next_change`] returns how it has ended.
    ///
    /// # Errors
    /// If it is refused. Then nothing has changed.
    pub fn change(&mut self, change: VolumeChange) -> Result<(), ChangeError> {
        self.check_writable()?;
        let (under_way, edit) = match change {
            VolumeChange::Join(device) => self.plan_join(device)?,
            VolumeChange::Grow { device, size } => self.plan_growth(device, size)?,
            VolumeChange::Offer { capacity } => self.plan_offer(capacity)?,
            VolumeChange::Drain { device } => {
                let (mut planned, edit) =
                    self.plan_state(device, |device| Reshape::Drain { device }, MemberState::Draining)?;
                self.check_capacity_without(device)?;
                planned.before = self.changes.devices().get(device).map(|now| (device, now.member.state));
                (planned, edit)
            }
            VolumeChange::Keep { device } => {
                self.plan_state(device, |device| Reshape::Keep { device }, MemberState::InUse)?
            }
            VolumeChange::Remove { device } => {
                let planned = self.plan_state(device, |device| Reshape::Remove { device }, MemberState::Removed)?;
                self.check_capacity_without(device)?;
                self.check_other_map(device)?;
                planned
            }
            VolumeChange::Set(changed) => self.plan_set(changed, None)?,
            VolumeChange::SetMap(map, changed) => self.plan_set(changed, Some(map))?,
        };
        self.ask(under_way, edit)
    }

    fn ask(&mut self, under_way: ChangeUnderWay, edit: MemberEdit) -> Result<(), ChangeError> {
        self.changes.ask(MemberChange { edit, settings: under_way.settings.text()? });
        self.change = Some(under_way);
        Ok(())
    }

    /// Returns true while a change is under way.
    pub fn is_changing(&self) -> bool {
        self.change.is_some()
    }

    /// Returns true while its journal, map or superblocks are being written: a volume that is left in between is
    /// repaired from the other copy when it is opened again. Unlike [`Self::is_busy`], moves in the background do not
    /// keep this true.
    pub fn is_writing_structures(&self) -> bool {
        self.driver.is_writing_structures()
    }

    /// Returns how a change has ended, once.
    pub fn next_change(&mut self) -> Option<Result<(), ChangeError>> {
        self.changed.take()
    }

    /// Returns how far the drain of a device is; `None` if it is not being drained.
    pub fn drain_progress(&self, device: usize) -> Option<DrainProgress> {
        if !self.state.devices.get(device)?.is_draining {
            return None;
        }
        if let Some(&stuck) = self.driver.stuck().iter().find(|stuck| stuck.store == device) {
            return Some(DrainProgress::Stuck(stuck));
        }
        let is_empty = self.driver.drained().contains(&device);
        Some(if is_empty { DrainProgress::Empty } else { DrainProgress::Moving })
    }

    /// Returns the state of a device, as far as the engine knows it.
    pub fn device_state(&self, device: usize) -> DeviceState {
        self.driver.store_state(device)
    }

    /// Checks that a change may begin.
    ///
    /// # Errors
    /// If another one is under way, or nothing can be written to the volume.
    pub fn check_writable(&self) -> Result<(), ChangeError> {
        if self.change.is_some() {
            return Err(ChangeError::Busy);
        }
        self.why_only_read().map_or(Ok(()), |why| Err(ChangeError::ReadOnly(why)))
    }

    /// Returns the devices of the engine, one of which has other bytes for data, and perhaps one more.
    fn devices_with(&self, changed: Option<(usize, u64)>, new: Option<Bytes>) -> Vec<EngineDevice> {
        let device = |(index, member): (usize, &VolumeMember)| {
            let changed = changed.filter(|(device, _)| *device == index);
            EngineDevice { data: changed.map_or(member.data, |(_, data)| Bytes(data)), presence: member.presence }
        };
        let new = new.map(|data| EngineDevice { data, presence: Presence::Present });
        self.state.devices.iter().enumerate().map(device).chain(new).collect()
    }

    /// Checks a change that the engine has to accept.
    fn plan(&self, reshape: Reshape) -> Result<ChangeUnderWay, ChangeError> {
        self.driver.check_reshape(reshape)?;
        Ok(self.planned(EngineChange::Reshape(reshape)))
    }

    pub(super) fn planned(&self, of_engine: EngineChange) -> ChangeUnderWay {
        ChangeUnderWay { of_engine, store: None, joining: None, before: None, settings: self.state.settings.clone() }
    }

    /// Checks a device that is to join, and divides it.
    fn plan_join(&self, joining: JoiningDevice) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        let JoiningDevice { device, superblock } = joining;
        let (name, limits) = (device.name().to_string(), device.limits());
        let (now, member, layout) = (self.superblock_now(), *superblock.member(), superblock.layout);
        if superblock.volume != now.volume || usize::from(superblock.index) != now.members.len() {
            return Err(ChangeError::NotPrepared { device: name });
        }
        if now.members.len() == Superblock::MEMBERS_MAX {
            return Err(VolumeError::Count(now.members.len() + 1).into());
        }
        let mut planned = self.plan(Reshape::Join { capacity: member.data })?;
        self.state.settings.engine()?.check_devices(&self.devices_with(None, Some(member.data)))?;
        let parts = divide(device.into_backend(), &[(0, layout.size), (layout.data, layout.data_length)]);
        let [whole, data]: [Part; 2] = parts.try_into().ok().expect("two were asked for");
        planned.settings.devices.resize(now.members.len(), String::new());
        planned.settings.devices.push(name.clone());
        planned.store = Some(Store::new(Box::new(data)).with_limits(limits));
        planned.joining = Some(VolumeMember {
            name,
            identity: member.id,
            data: member.data,
            presence: Presence::Present,
            has_failed: false,
            is_draining: false,
            keeps_map: false,
        });
        Ok((planned, MemberEdit::Join(Box::new(VolumeDevice::new(Some(whole), true, superblock)))))
    }

    fn plan_growth(&self, device: usize, size: Bytes) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        let engine = self.state.settings.engine()?;
        let devices = self.changes.devices();
        let now = devices.get(device).ok_or(ChangeError::NoDevice(device))?;
        let layout = now.layout.grown(size, engine.unit().0.max(1));
        let planned = self.plan(Reshape::Grow { device: index(device), capacity: Bytes(layout.data_length) })?;
        engine.check_devices(&self.devices_with(Some((device, layout.data_length)), None))?;
        Ok((planned, MemberEdit::Grow { device, layout }))
    }

    fn plan_offer(&self, capacity: Bytes) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        let mut planned = self.plan(Reshape::Offer { capacity })?;
        self.check_map_room(capacity)?;
        if let Some(serde_json::Value::Object(options)) = self.state.settings.engine()?.with_capacity(capacity) {
            planned.settings.options = options;
        }
        Ok((planned, MemberEdit::None))
    }

    fn plan_state(
        &self,
        device: usize,
        reshape: impl Fn(DeviceIndex) -> Reshape,
        state: MemberState,
    ) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        Ok((self.plan(reshape(index(device)))?, MemberEdit::State { device, state }))
    }

    /// Hands a change to the engine once the superblocks say so, and takes over what they say.
    pub(super) fn continue_change(&mut self) {
        let Some(News { ended, generation, devices }) = self.changes.news(self.state.generation) else { return };
        if let Some(written) = ended {
            let change = self.change.take().expect("it is under way");
            self.changed = self.superblocks_written(change, written);
        }
        (self.state.generation, self.state.capacity) = (generation, self.driver.capacity());
        self.state.devices.iter_mut().zip(&devices).for_each(|(device, now)| device.update(&now.member));
    }

    /// Has the engine make a change, of which the superblocks were written. Returns how it has ended; `None` if the
    /// engine refuses it, because something has happened meanwhile, and the superblocks are yet to be taken back.
    fn superblocks_written(
        &mut self,
        change: ChangeUnderWay,
        written: Result<(), String>,
    ) -> Option<Result<(), ChangeError>> {
        let ChangeUnderWay { of_engine, store, joining, before, settings } = change;
        let made = match (of_engine, written) {
            (EngineChange::TakenBack(refused), _) => return Some(Err(refused)),
            (_, Err(error)) => return Some(Err(ChangeError::NotWritten(error))),
            (of_engine, Ok(())) => {
                self.state.settings = settings;
                self.state.devices.extend(joining);
                match of_engine {
                    EngineChange::Set(settings) => self.driver.set(&settings).map_err(ChangeError::Live),
                    EngineChange::Reshape(reshape) => self.driver.reshape(reshape, store).map_err(ChangeError::Engine),
                    EngineChange::TakenBack(_) => unreachable!("it was looked at"),
                }
            }
        };
        match (made, before) {
            (Err(refused), Some((device, state))) => {
                let taken_back = self.planned(EngineChange::TakenBack(refused));
                self.ask(taken_back, MemberEdit::State { device, state }).err().map(Err)
            }
            (made, _) => Some(made),
        }
    }
}
