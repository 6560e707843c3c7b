//! Commands for devices that a policy asks for.

use std::sync::{Arc, Mutex};

use esker_core::Telemetry;

use super::*;
use crate::engine::{DeviceControl, LiveSettings};

const PAUSE: DeviceControl = DeviceControl::PauseWearLevelling(true);
const RESUME: DeviceControl = DeviceControl::PauseWearLevelling(false);

/// Has levelling pause while a device has erased something, until a device answers that it cannot.
#[derive(Debug, Default)]
struct Pausing {
    unsupported: Arc<Mutex<Vec<(DeviceIndex, DeviceControl)>>>,
}

impl Placement for Pausing {
    fn place(&mut self, _: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(0)
    }

    fn observe(&mut self, _: Nanos, event: &Event<'_>, _: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Device { device, telemetry } => {
                wishes.controls.push((device, DeviceControl::PauseWearLevelling(telemetry.erases > 0)));
            }
            Event::Unsupported { device, control } => self.unsupported.lock().unwrap().push((device, control)),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, _: usize) {}
}

fn erased(device: u16, erases: u64) -> Input {
    Input::Device { device: DeviceIndex(device), telemetry: Telemetry { erases, ..Telemetry::default() } }
}

fn control(device: u16, control: DeviceControl) -> Effect {
    Effect::Control { device: DeviceIndex(device), control }
}

/// Exchanges the policy, and returns the commands that follow.
fn exchange(engine: &mut PlacementEngine) -> Vec<Effect> {
    let policy = Some(serde_json::from_str(r#"{"kind":"static-split","weights":[1,1]}"#).unwrap());
    let mut effects = Vec::new();
    engine.set(Nanos::ZERO, &LiveSettings { policy, ..LiveSettings::default() }, &mut effects).unwrap();
    effects.retain(|effect| matches!(effect, Effect::Control { .. }));
    effects
}

#[test]
fn a_policy_gives_commands_and_hears_who_does_not_know_them() {
    let policy = Pausing::default();
    let unsupported = policy.unsupported.clone();
    let mut engine = engine().with_policy(Box::new(policy));
    assert_eq!(on(&mut engine, erased(0, 3)), [control(0, PAUSE)]);
    assert_eq!(on(&mut engine, erased(1, 0)), [control(1, RESUME)]);
    assert!(unsupported.lock().unwrap().is_empty());
    assert_eq!(on(&mut engine, Input::Unsupported { device: DeviceIndex(1), control: RESUME }), []);
    assert_eq!(*unsupported.lock().unwrap(), [(DeviceIndex(1), RESUME)]);
}

#[test]
fn another_policy_finds_no_device_with_its_levelling_paused() {
    let mut engine = engine().with_policy(Box::new(Pausing::default()));
    for input in
        [erased(0, 3), erased(1, 3), erased(0, 4), Input::Unsupported { device: DeviceIndex(1), control: PAUSE }]
    {
        on(&mut engine, input);
    }
    // Asked for twice, it is ended once; what the other device does not know needs no end.
    assert_eq!(exchange(&mut engine), [control(0, RESUME)]);
    assert_eq!(exchange(&mut engine), []);
    // What the policy has ended itself is not ended again.
    let mut engine = self::engine().with_policy(Box::new(Pausing::default()));
    for input in [erased(0, 3), erased(0, 0)] {
        on(&mut engine, input);
    }
    assert_eq!(exchange(&mut engine), []);
}
