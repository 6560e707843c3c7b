//! Lives that policies hold on devices that say how worn they are.

use std::sync::atomic::Ordering;
use std::time::Duration;

use esker_core::DriveWear;
use esker_volume::{ChangedSettings, DeviceIo, IoChoice, LifeSpent, Volume, VolumeChange, WhatIsThere, create};
use serde_json::{Value, json};

use super::clusters::SetClock;
use super::on_files::{closed, devices, files, identities, settings};

const TEN_SECONDS: u64 = 10_000_000_000;

struct Served {
    volume: Volume<SetClock>,
    io: DeviceIo,
    clock: SetClock,
}

impl Served {
    fn set_policy(&mut self, policy: Value) {
        let settings = ChangedSettings { policy: Some(policy), ..ChangedSettings::default() };
        self.volume.change(VolumeChange::Set(settings)).unwrap();
        while self.volume.is_changing() {
            self.volume.step();
            self.io.wait(Some(Duration::from_millis(10)));
        }
        self.volume.next_change().expect("it has ended").unwrap();
    }

    fn pass(&mut self, time: u64) {
        self.clock.0.fetch_add(time, Ordering::Relaxed);
        self.volume.step();
    }

    fn lives(&self) -> Vec<LifeSpent> {
        self.volume.background().unwrap().lives.into_iter().map(|(_, spent)| spent).collect()
    }
}

#[test]
fn a_life_that_is_asked_for_while_a_volume_serves_is_held_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path(), &["flash", "disk"]);
    create(&mut closed(&paths), &settings(), &identities(1, 2), WhatIsThere::Stays).unwrap();
    let (io, clock) = (DeviceIo::start(IoChoice::Best).unwrap(), SetClock::default());
    let volume = Volume::open(devices(&paths, &io, false), clock.clone()).unwrap();
    let mut served = Served { volume, io, clock };
    served.volume.learn_wear(0, &DriveWear { used_percent: 7, written: None, capacity: None });
    served.pass(TEN_SECONDS);
    assert_eq!(served.lives(), []);

    served.set_policy(json!({ "kind": "cost-benefit", "life": "1000s" }));
    served.pass(TEN_SECONDS);
    served.volume.learn_wear(0, &DriveWear { used_percent: 9, written: None, capacity: None });
    served.pass(TEN_SECONDS);
    let [flash, disk] = served.lives().try_into().unwrap();
    assert_eq!(flash.used.map(|used| (used * 100.0).round()), Some(1.0), "{flash:?}");
    assert!((flash.allowed - 0.01).abs() < 1e-9, "{flash:?}");
    assert_eq!(disk, LifeSpent { used: None, allowed: 0.0 });

    served.set_policy(json!("static-split"));
    assert_eq!(served.lives(), []);
}
