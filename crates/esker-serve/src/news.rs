//! What has changed of a volume since it was last looked at.

use esker_core::{DeviceState, Nanos};
use esker_volume::{DrainProgress, SystemClock, Volume};

use crate::background::BackgroundStatus;
use crate::log::LogEvent;
use crate::status::name_of_state;

/// How often drains and the background are looked at.
const EVERY: Nanos = Nanos::from_millis(100);

/// What was last known.
#[derive(Default)]
pub(crate) struct News {
    states: Vec<DeviceState>,
    /// Whether the drain of each device is at its end.
    drained: Vec<bool>,
    held: Option<String>,
    next_look: Nanos,
    /// Whether something may have changed since the last look.
    may_have_changed: bool,
}

impl News {
    /// What has changed. Says nothing of what was so from the beginning, but for devices that do not work.
    pub(crate) fn of(&mut self, volume: &Volume<SystemClock>, now: Nanos) -> Vec<LogEvent> {
        let mut events = Vec::new();
        let devices = &volume.state().devices;
        self.states.resize(devices.len(), DeviceState::Online);
        for (index, (device, known)) in devices.iter().zip(&mut self.states).enumerate() {
            let state = volume.device_state(index);
            if std::mem::replace(known, state) != state {
                let state = name_of_state(device.presence, state).to_string();
                events.push(LogEvent::DeviceState { device: device.name.clone(), state });
            }
        }
        self.may_have_changed = !self.is_time_to_look(now);
        if !self.may_have_changed {
            self.next_look = now + EVERY;
            self.look(volume, &mut events);
        }
        events
    }

    /// Whether it is time to look at what is not looked at in each turn.
    pub(crate) fn is_time_to_look(&self, now: Nanos) -> bool {
        now >= self.next_look
    }

    fn look(&mut self, volume: &Volume<SystemClock>, events: &mut Vec<LogEvent>) {
        let devices = &volume.state().devices;
        self.drained.resize(devices.len(), false);
        for (index, (device, known)) in devices.iter().zip(&mut self.drained).enumerate() {
            let unreadable_extents = match volume.drain_progress(index) {
                Some(DrainProgress::Empty) => Some(0),
                Some(DrainProgress::Stuck(stuck)) => Some(stuck.extents),
                Some(DrainProgress::Moving) | None => None,
            };
            let was_drained = std::mem::replace(known, unreadable_extents.is_some());
            if let Some(unreadable_extents) = unreadable_extents.filter(|_| !was_drained) {
                events.push(LogEvent::DrainEnded { device: device.name.clone(), unreadable_extents });
            }
        }
        let held = BackgroundStatus::of(volume).and_then(|background| background.held_for_sure().map(str::to_string));
        if held != self.held {
            self.held.clone_from(&held);
            events.push(LogEvent::Background { held });
        }
    }

    /// When to look again, if nothing comes before.
    pub(crate) fn next_look(&self) -> Nanos {
        if self.may_have_changed { self.next_look } else { Nanos::NEVER }
    }
}
