//! What a volume moves in the background, and what keeps it from that.

use std::collections::BTreeMap;

use esker_volume::{
    BackgroundReport, BackgroundSettings, HeldReason, LifeSpent, MoveLimits, SystemClock, Volume, VolumeState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a volume moves in the background.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackgroundStatus {
    /// The name of the policy of placement, or of the balancer.
    pub policy: String,
    /// Its keys, as in an experiment.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub policy_settings: Map<String, Value>,
    /// Whether it is paused.
    pub paused: bool,
    /// Bytes that moves of the policy may write in any 24 hours; `None` for any number.
    pub moved_bytes_per_day: Option<u64>,
    /// Limits of devices, by their names.
    #[serde(default)]
    pub limits: BTreeMap<String, MoveLimits>,
    /// Number of extents that are being copied.
    pub copies: u32,
    /// Bytes that copies have written since the volume was opened.
    pub moved_bytes: u64,
    /// Bytes that they have written in the last 24 hours.
    pub moved_bytes_in_day: u64,
    /// Why nothing is being copied although something should move, such as `no room on flash`, or may have to.
    pub held: Option<String>,
    /// What devices have used of the life that the policy holds, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lives: BTreeMap<String, LifeStatus>,
}

/// What a device has used of its rated life since the policy began to hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LifeStatus {
    /// What was used, as a share of its rated life; `None` if it does not say how worn it is.
    pub used: Option<f64>,
    /// What might have been used.
    pub allowed: f64,
}

/// Takes apart what names a policy: its name alone, or a table with it as `kind`.
fn named(policy: &Value) -> (String, Map<String, Value>) {
    let mut settings = policy.as_object().cloned().unwrap_or_default();
    let kind = settings.remove("kind").unwrap_or_else(|| policy.clone());
    (kind.as_str().unwrap_or_default().to_string(), settings)
}

impl BackgroundStatus {
    /// Why nothing moves although something should. While the budget of a hybrid grows, as it does whenever a server
    /// has begun, nobody knows whether something should.
    pub(crate) fn held_for_sure(&self) -> Option<&str> {
        self.held.as_deref().filter(|reason| *reason != GROWS)
    }

    /// Returns what `volume` moves; `None` if its engine moves nothing.
    pub(crate) fn of(volume: &Volume<SystemClock>) -> Option<Self> {
        let BackgroundReport { settings, copies, moved, moved_in_day, held, lives } = volume.background()?;
        let BackgroundSettings { paused, moved_bytes_per_day } = settings;
        let options = &volume.state().settings.options;
        let policy = ["policy", "balancer"].iter().find_map(|key| options.get(*key));
        let (policy, policy_settings) = policy.map(named).unwrap_or_default();
        Some(Self {
            policy,
            policy_settings,
            paused,
            moved_bytes_per_day: moved_bytes_per_day.map(|bytes| bytes.0),
            limits: limits_of(volume.state()),
            copies,
            moved_bytes: moved.0,
            moved_bytes_in_day: moved_in_day.0,
            held: held.map(|reason| in_words(&reason, volume.state())),
            lives: lives.into_iter().map(|(device, spent)| life_of(volume.state(), device.0.into(), spent)).collect(),
        })
    }
}

/// What is said of a budget that does not allow the next extent yet.
const GROWS: &str = "the budget grows evenly in the first 24 hours, and does not allow a move yet";

/// What a device has used of its life, with its name.
fn life_of(state: &VolumeState, device: usize, LifeSpent { used, allowed }: LifeSpent) -> (String, LifeStatus) {
    (name_of(state, device), LifeStatus { used, allowed })
}

/// The limits of the devices that have any.
fn limits_of(state: &VolumeState) -> BTreeMap<String, MoveLimits> {
    let limits = state.settings.options.get("limits").cloned().unwrap_or_default();
    let limits: Vec<MoveLimits> = serde_json::from_value(limits).unwrap_or_default();
    let named = state.devices.iter().map(|device| device.name.clone()).zip(limits);
    named.filter(|(_, limits)| *limits != MoveLimits::default()).collect()
}

fn name_of(state: &VolumeState, device: usize) -> String {
    state.devices.get(device).map_or(String::new(), |device| device.name.clone())
}

fn in_words(reason: &HeldReason, state: &VolumeState) -> String {
    let name = |device: usize| name_of(state, device);
    match reason {
        HeldReason::Paused => "paused".to_string(),
        HeldReason::OnlyRead => "only to be read".to_string(),
        HeldReason::Budget => "the budget of the last 24 hours is spent".to_string(),
        // A cluster asks its budget only if something is to move.
        HeldReason::BudgetGrows if state.settings.kind == "cluster" => GROWS.replace("a move", "the next move"),
        HeldReason::BudgetGrows => GROWS.to_string(),
        HeldReason::JournalFailed => "the journal has failed".to_string(),
        HeldReason::Refused(device) => format!("{} has refused a copy", name(device.0.into())),
        HeldReason::NoRoom(devices) => {
            let names: Vec<String> = devices.iter().map(|device| name(device.0.into())).collect();
            format!("no room on {}", names.join(", "))
        }
        HeldReason::TooFewDevices => "too few devices for all copies: add one".to_string(),
        HeldReason::Asleep(device) => format!("{} is left asleep", name(device.0.into())),
        HeldReason::FillsFirst(device) => format!("{} is not as full yet as `leave_above` says", name(device.0.into())),
        HeldReason::Unreadable(device) => {
            format!("parts of {} cannot be read, and are nowhere else", name(device.0.into()))
        }
        HeldReason::Failed(device) => format!("{} cannot be read", name(device.0.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_grows_is_no_news_and_one_that_is_spent_is() {
        for (reason, is_news) in [(GROWS, false), ("the budget of the last 24 hours is spent", true)] {
            let background = BackgroundStatus { held: Some(reason.to_string()), ..BackgroundStatus::default() };
            assert_eq!(background.held_for_sure(), Some(reason).filter(|_| is_news));
        }
    }
}
