//! Changes of the engine's settings while a volume serves: its policy, and the limits of its background work.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_core::{Bytes, DriveWear};
use esker_tier::{BackgroundReport, LiveSettings, LiveSettingsError, MoveLimits, PinnedRange, PolicySettings};
use serde_json::Value;

use super::Volume;
use super::change::{ChangeError, ChangeUnderWay, EngineChange};
use super::error::VolumeError;
use super::kinds::EngineError;
use super::settings::{AsleepAfter, ChangedLimits, ChangedSettings, MoveBudget, VolumeMap};
use crate::clock::Clock;
use crate::journal::disk::MemberEdit;

impl<C: Clock> Volume<C> {
    /// Returns what the engine does in the background; `None` if it moves nothing.
    pub fn background(&self) -> Option<BackgroundReport> {
        self.driver.background()
    }

    /// Takes what a device says of its wear. Engines that balance wear or hold a life heed it; of a device that says
    /// nothing, the former count what is written.
    pub fn learn_wear(&mut self, device: usize, wear: &DriveWear) {
        self.driver.learn_wear(device, wear);
    }

    /// Has the engine pin the ranges of the map that the settings name, which whoever opens the volume has found. A
    /// volume that is only read needs none.
    ///
    /// # Errors
    /// If the ranges are not for the devices of this volume.
    pub fn follow_map(&mut self, ranges: Arc<[PinnedRange]>) -> Result<(), VolumeError> {
        if self.is_only_read() {
            return Ok(());
        }
        let policy = self.state.settings.engine()?.live().and_then(|live| live.policy);
        let policy = policy.map(|policy| PolicySettings { mapped: Some(ranges), ..policy });
        let live = LiveSettings { policy, ..LiveSettings::default() };
        self.driver.set(&live).map_err(|error| VolumeError::Engine(EngineError::settings(&error)))
    }

    /// Returns the limits of all devices as `changed` has them, by the names of those that it changes; `None` if it
    /// changes none.
    fn changed_limits(
        &self,
        changed: &BTreeMap<String, ChangedLimits>,
    ) -> Result<Option<Vec<MoveLimits>>, ChangeError> {
        if changed.is_empty() {
            return Ok(None);
        }
        let mut limits = self.state.settings.engine()?.live().and_then(|live| live.limits);
        let limits = limits.as_mut().ok_or(LiveSettingsError::NoLimits)?;
        for (name, changed) in changed {
            let device = self.state.devices.iter().position(|device| device.name == *name);
            let device = device.ok_or_else(|| VolumeError::NoDevice(name.clone()))?;
            if limits.len() <= device {
                limits.resize(device + 1, MoveLimits::default());
            }
            let limits = &mut limits[device];
            limits.leave_above = changed.leave_above.unwrap_or(limits.leave_above);
            limits.asleep_after = match changed.asleep_after {
                Some(AsleepAfter::Never) => None,
                Some(AsleepAfter::Time(after)) => Some(after),
                None => limits.asleep_after,
            };
        }
        while limits.pop_if(|last| *last == MoveLimits::default()).is_some() {}
        Ok(Some(std::mem::take(limits)))
    }

    /// Checks new settings of the engine.
    pub(super) fn plan_set(
        &self,
        changed: ChangedSettings,
        map: Option<VolumeMap>,
    ) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        self.driver.check_set(&LiveSettings::default())?;
        let mut settings = self.state.settings.clone();
        let mut background = self.driver.background().map(|now| now.settings).unwrap_or_default();
        background.paused = changed.paused.unwrap_or(background.paused);
        match changed.moved_bytes_per_day {
            Some(MoveBudget::Unlimited) => background.moved_bytes_per_day = None,
            Some(MoveBudget::Bytes(bytes)) => background.moved_bytes_per_day = Some(Bytes(bytes)),
            None => {}
        }
        let limits = self.changed_limits(&changed.limits)?;
        let other_policy = changed.policy.is_some() || map.is_some();
        match (&map, changed.policy) {
            (Some(map), rest) => settings.pin(&map.name, rest),
            (None, Some(policy)) => drop(settings.options.insert("policy".to_string(), policy)),
            (None, None) => {}
        }
        let mut option = |key: &str, value: Value| settings.options.insert(key.to_string(), value);
        option("background", serde_json::to_value(background).expect("settings are plain data"));
        if let Some(limits) = limits {
            option("limits", serde_json::to_value(limits).expect("settings are plain data"));
        }
        if other_policy {
            // Another policy may keep another part of the devices free. What the host is offered stays.
            option("capacity", serde_json::to_value(self.capacity()).expect("a size is plain data"));
        }
        let settings = settings.resolved()?;
        let live = settings.engine()?.live().ok_or(LiveSettingsError::Unsupported)?;
        let ranges = map.map(|map| map.ranges);
        let policy = live.policy.filter(|_| other_policy).map(|policy| PolicySettings { mapped: ranges, ..policy });
        let live = LiveSettings { policy, ..live };
        self.driver.check_set(&live)?;
        let mut planned = self.planned(EngineChange::Set(live));
        planned.settings = settings;
        Ok((planned, MemberEdit::None))
    }
}
