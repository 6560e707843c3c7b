//! What happens to a [`World`] apart from requests: changes of its devices, checkpoints, and loss of power.

use std::collections::BTreeSet;

use super::world::World;
use super::*;
use crate::engine::RecordNumber;
use crate::testing::{History, Store};

impl World {
    /// Changes the devices or the capacity as an administrator would. A change that is refused changes nothing.
    pub(super) fn reshape(&mut self, kind: u64, device: u64) {
        let index = DeviceIndex((device % self.stores.len() as u64) as u16);
        let capacity = self.settings.devices[index.0 as usize];
        let reshape = match kind % 6 {
            0 if self.stores.len() < 5 => Reshape::Join { capacity: Bytes(self.extent() * 512 * (1 + device % 4)) },
            1 if capacity.0 < 200 * 512 => Reshape::Grow { device: index, capacity: Bytes(capacity.0 + 20 * 512) },
            2 => Reshape::Offer { capacity: Bytes(self.engine.capacity().0 + self.extent() * 512) },
            3 => Reshape::Drain { device: index },
            4 => Reshape::Remove { device: index },
            _ => Reshape::Keep { device: index },
        };
        let mut effects = Vec::new();
        if self.engine.reshape(Nanos(self.step), reshape, &mut effects).is_err() {
            assert!(effects.is_empty());
            return;
        }
        match reshape {
            Reshape::Join { capacity } => {
                self.settings.devices.push(capacity);
                self.stores.push(Store::new(capacity.0 / 512));
                self.settings.policy = serde_json::from_str(r#"{"kind":"static-split"}"#).unwrap();
            }
            Reshape::Grow { device, capacity } => {
                self.settings.devices[device.0 as usize] = capacity;
                self.stores[device.0 as usize].grow(capacity.0 / 512);
            }
            Reshape::Offer { capacity } => {
                let sectors = capacity.0 as usize / 512;
                self.history.resize(sectors, History::durable(0));
                self.values.resize(sectors, BTreeSet::from([0]));
                self.busy.resize(sectors, 0);
                self.seen.resize(sectors, None);
            }
            Reshape::Drain { .. } => self.was_drained = true,
            Reshape::Keep { device } => {
                self.drained.remove(&device.0);
                self.stores[usize::from(device.0)].full = false;
            }
            Reshape::Remove { device } => {
                assert!(self.drained.contains(&device.0), "only what was told to be empty is removed");
                self.removed.insert(device);
                self.stores[usize::from(device.0)].remove();
            }
            Reshape::Shrink { .. } => unreachable!("placement does not shrink"),
        }
        self.take(effects);
        self.engine.check();
        self.take_replies();
    }

    /// Begins a checkpoint, or adds some extents to it. Checks that a complete one equals the map that the records up
    /// to it make.
    pub(super) fn step_checkpoint(&mut self, most: u64) {
        let Some(mut checkpoint) = self.checkpoint.take() else {
            let through = self.engine.begin_checkpoint();
            self.checkpoint = Some(Checkpoint { through, records: Vec::new() });
            return;
        };
        let visit = &mut |record| checkpoint.records.push(record);
        if self.engine.continue_checkpoint(most as u32, visit) {
            let mut records = self.issued[..checkpoint.through.0 as usize].iter().copied();
            let mut replayed = restore(&self.settings, &Checkpoint::default(), &mut records).unwrap();
            assert_eq!(checkpoint, Checkpoint::of(&mut replayed));
        } else {
            self.checkpoint = Some(checkpoint);
        }
    }

    /// Loses power, restores the engine from the data and records that survive, and reads everything. The error names a
    /// sector that is wrong.
    pub(super) fn crash_and_check(mut self) -> Result<(), String> {
        let mut through = self.hardened.0;
        while self.journal.contains_key(&RecordNumber(through + 1)) && self.rng.chance(1, 2) {
            through += 1;
        }
        let records: Vec<Record> = (1..=through).map(|n| self.journal[&RecordNumber(n)]).collect();
        // Half of the records are applied through a checkpoint.
        let (first, rest) = records.split_at(records.len() / 2);
        let half = restore(&self.settings, &Checkpoint::default(), &mut first.iter().copied());
        let checkpoint = Checkpoint::of(&mut half.unwrap());
        let mut engine = restore(&self.settings, &checkpoint, &mut rest.iter().copied()).unwrap();
        for &device in &self.removed {
            engine = engine.with_removed(device).unwrap();
        }
        engine.check();
        let mut rng = self.rng.clone();
        self.stores.iter_mut().for_each(|store| store.lose_power(&mut rng));
        for sector in 0..self.history.len().min(engine.capacity().0 as usize / 512) {
            let mut effects = Vec::new();
            let tag = Tag::new(0, sector as u32);
            let request = Request::read(Lba(sector as u64), Bytes(512));
            engine.on(Nanos::ZERO, Input::Host { tag, request }, &mut effects);
            let mut value = 0;
            for effect in std::mem::take(&mut effects) {
                if let Effect::Io { io, device, request, .. } = effect {
                    value = self.stores[device.0 as usize].live[request.start.0 as usize];
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }, &mut effects);
                }
            }
            let history = &self.history[sector];
            if !history.may_survive(value) {
                return Err(format!("sector {sector}: {value}, not in {history:?}"));
            }
        }
        Ok(())
    }
}
