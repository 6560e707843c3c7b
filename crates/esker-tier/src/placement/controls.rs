//! Commands for devices that the policy asks for.

use esker_core::Nanos;

use super::{Event, PlacementEngine};
use crate::engine::{DeviceControl, Effect};
use crate::extent::DeviceIndex;

impl PlacementEngine {
    /// Sends the commands that the policy wants.
    #[inline]
    pub(super) fn send_controls(&mut self, effects: &mut Vec<Effect>) {
        for (device, control) in self.wishes.controls.drain(..) {
            let DeviceControl::PauseWearLevelling(is_paused) = control;
            self.paused_levelling.retain(|other| *other != device);
            self.paused_levelling.extend(is_paused.then_some(device));
            effects.push(Effect::Control { device, control });
        }
    }

    /// Undoes what the policy has asked of devices: another policy takes its place and would not know of it.
    pub(super) fn end_controls(&mut self, effects: &mut Vec<Effect>) {
        self.wishes.controls.clear();
        let resume = DeviceControl::PauseWearLevelling(false);
        effects.extend(self.paused_levelling.drain(..).map(|device| Effect::Control { device, control: resume }));
    }

    /// Handles the answer of a device that does not know a command.
    pub(super) fn is_unsupported(&mut self, now: Nanos, device: DeviceIndex, control: DeviceControl) {
        self.paused_levelling.retain(|other| *other != device);
        self.notify_policy(now, Event::Unsupported { device, control });
    }
}
