//! Disks that join, grow and leave while a volume serves.

use std::collections::BTreeMap;

use esker_core::{Bytes, Nanos, Ratio, Rng};
use esker_volume::{
    AsleepAfter, ChangeError, ChangedLimits, ChangedSettings, DrainProgress, Identity, JoiningDevice, MoveBudget,
    Presence, Volume, VolumeChange, WhatIsThere,
};

use crate::disk::VirtualDisk;
use crate::members::{Asked, Fate};
use crate::world::{SetClock, World};

/// The most disks at a time.
const DISKS_MAX: usize = 5;

impl World {
    /// Asks for a change, which the volume may refuse.
    pub(crate) fn ask_for_change(&mut self, volume: &mut Volume<SetClock>) -> Result<(), String> {
        let devices = &volume.state().devices;
        let present = (0..devices.len()).filter(|&device| devices[device].presence == Presence::Present);
        let present: Vec<usize> = present.collect();
        let device = present[self.rng.below(present.len() as u64) as usize];
        let identity = devices[device].identity;
        let disk = self.members.iter().position(|(member, _)| *member == identity).expect("it was opened");
        let progress = volume.drain_progress(device);
        let (asked, change) = match (self.rng.below(7), progress) {
            (_, Some(DrainProgress::Empty)) => (Asked::Remove(disk), VolumeChange::Remove { device }),
            (0, _) if present.len() < DISKS_MAX => {
                let (joining, was_prepared) = match self.prepared.take() {
                    Some(prepared) => (prepared, true),
                    None => (self.new_disk(volume)?, false),
                };
                if !was_prepared && self.rng.chance(1, 2) {
                    // It joins later: the volume may be another one by then.
                    self.prepared = Some(joining);
                    return Ok(());
                }
                (Asked::Join { was_prepared }, VolumeChange::Join(joining))
            }
            (1, _) => {
                self.disks[disk].enlarge(Bytes(4096 * self.rng.below(256)));
                let size = esker_volume::BlockingBackend::capacity(&self.disks[disk]);
                (Asked::Grow, VolumeChange::Grow { device, size })
            }
            (2, _) => (Asked::Offer, VolumeChange::Offer { capacity: volume.capacity_max() }),
            (4, _) => (Asked::Set, VolumeChange::Set(self.new_settings(volume))),
            (3, Some(_)) => (Asked::Drain, VolumeChange::Keep { device }),
            _ => (Asked::Drain, VolumeChange::Drain { device }),
        };
        match volume.change(change) {
            Ok(()) => self.change = Some(asked),
            Err(ChangeError::NotPrepared { .. }) if asked == (Asked::Join { was_prepared: true }) => {}
            Err(error @ (ChangeError::Busy | ChangeError::NotPrepared { .. } | ChangeError::NoDevice(_))) => {
                return Err(format!("{asked:?}: {error}"));
            }
            Err(_) => self.outcome.refused += 1,
        }
        Ok(())
    }

    /// New settings of the engine.
    fn new_settings(&mut self, volume: &Volume<SetClock>) -> ChangedSettings {
        const POLICIES: [&str; 4] = ["wardrop", "migration", "fast-first", "static-split"];
        let is_hybrid = volume.state().settings.kind != "cluster";
        let policy = self.rng.chance(1, 2).then(|| POLICIES[self.rng.below(4) as usize].into());
        let paused = self.rng.chance(1, 2).then(|| self.rng.chance(1, 4));
        let budget = [MoveBudget::Unlimited, MoveBudget::Bytes((1 << 20) + self.rng.below(1 << 30))];
        let moved_bytes_per_day = self.rng.chance(1, 2).then(|| budget[self.rng.below(2) as usize]);
        let limits = if is_hybrid { self.new_limits(volume) } else { BTreeMap::new() };
        ChangedSettings { policy: policy.filter(|_| is_hybrid), paused, moved_bytes_per_day, limits }
    }

    /// New limits of some devices.
    fn new_limits(&self, volume: &Volume<SetClock>) -> BTreeMap<String, ChangedLimits> {
        let mut rng = Rng::derive(self.outcome.set + self.outcome.answered, "limits");
        let mut limits = BTreeMap::new();
        for device in volume.state().devices.iter().filter(|device| device.presence == Presence::Present) {
            let sleeps = [AsleepAfter::Never, AsleepAfter::Time(Nanos(1 + rng.below(20_000_000)))];
            let changed = ChangedLimits {
                leave_above: rng.chance(1, 3).then(|| Ratio::percent(rng.below(50))),
                asleep_after: rng.chance(1, 3).then(|| sleeps[rng.below(2) as usize]),
            };
            limits.insert(device.name.clone(), changed);
        }
        limits
    }

    /// A new disk, which is to join.
    fn new_disk(&mut self, volume: &Volume<SetClock>) -> Result<JoiningDevice, String> {
        let size = Bytes((2 << 20) + 4096 * self.rng.below(1024));
        let disk = VirtualDisk::new(size, self.rng.next_u64());
        let identity = Identity([0; 16].map(|_: u8| self.rng.below(256) as u8));
        let plan = volume.join_plan().map_err(|error| error.to_string())?;
        let joining = plan.prepare(Box::new(disk.clone()), identity, WhatIsThere::Stays);
        self.disks.push(disk);
        self.members.push((identity, Fate::IsThere));
        joining.map_err(|error| error.to_string())
    }

    /// Takes the end of a change. A disk that was removed is no longer needed.
    pub(crate) fn end_change(
        &mut self,
        volume: &Volume<SetClock>,
        result: Result<(), ChangeError>,
    ) -> Result<(), String> {
        let asked = self.change.take().ok_or("a change ends that nobody has asked for")?;
        if let Err(error) = result {
            return if self.host.may_fail || self.has_failed { Ok(()) } else { Err(format!("{asked:?}: {error}")) };
        }
        match asked {
            Asked::Join { .. } => self.outcome.joined += 1,
            Asked::Grow => self.outcome.grown += 1,
            Asked::Drain => {}
            Asked::Set => self.outcome.set += 1,
            Asked::Offer => {
                self.outcome.offered += 1;
                self.host.offer(volume.capacity())?;
            }
            Asked::Remove(disk) => {
                self.outcome.removed += 1;
                // One that has died meanwhile cannot be given any more.
                if self.members[disk].1 == Fate::IsThere {
                    self.members[disk].1 = Fate::WasRemoved;
                }
            }
        }
        Ok(())
    }
}
