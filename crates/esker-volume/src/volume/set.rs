//! Changes of the engine's settings while a volume serves: its policy, and the limits of its background work.

use esker_core::Bytes;
use esker_tier::{BackgroundReport, LiveSettings, LiveSettingsError};
use serde_json::Value;

use super::Volume;
use super::change::{ChangeError, ChangeUnderWay, EngineChange};
use super::settings::{ChangedSettings, MoveBudget};
use crate::clock::Clock;
use crate::journal::disk::MemberEdit;

impl<C: Clock> Volume<C> {
    /// Returns what the engine does in the background; `None` if it moves nothing.
    pub fn background(&self) -> Option<BackgroundReport> {
        self.driver.background()
    }

    /// Checks new settings of the engine.
    pub(super) fn plan_set(&self, changed: ChangedSettings) -> Result<(ChangeUnderWay, MemberEdit), ChangeError> {
        self.driver.check_set(&LiveSettings::default())?;
        let mut settings = self.state.settings.clone();
        let mut background = self.driver.background().map(|now| now.settings).unwrap_or_default();
        background.paused = changed.paused.unwrap_or(background.paused);
        match changed.moved_bytes_per_day {
            Some(MoveBudget::Unlimited) => background.moved_bytes_per_day = None,
            Some(MoveBudget::Bytes(bytes)) => background.moved_bytes_per_day = Some(Bytes(bytes)),
            None => {}
        }
        let other_policy = changed.policy.is_some();
        let mut option = |key: &str, value: Value| settings.options.insert(key.to_string(), value);
        option("background", serde_json::to_value(background).expect("settings are plain data"));
        if let Some(policy) = changed.policy {
            option("policy", policy);
            // Another policy may keep another part of the devices free. What the host is offered stays.
            option("capacity", serde_json::to_value(self.capacity()).expect("a size is plain data"));
        }
        let settings = settings.resolved()?;
        let live = settings.engine()?.live().ok_or(LiveSettingsError::Unsupported)?;
        let live = LiveSettings { policy: live.policy.filter(|_| other_policy), ..live };
        self.driver.check_set(&live)?;
        let mut planned = self.planned(EngineChange::Set(live));
        planned.settings = settings;
        Ok((planned, MemberEdit::None))
    }
}
