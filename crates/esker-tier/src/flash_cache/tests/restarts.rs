//! Loss of power, and what a restarted cache returns.

use esker_core::Rng;

use super::world::World;
use super::*;
use crate::testing::History;

impl World {
    /// Loses power, and restores the cache from the data and records that survive.
    pub(super) fn crash(mut self) -> Self {
        let mut through = self.hardened;
        while self.journal.contains_key(&RecordNumber(through.0 + 1)) && self.rng.chance(1, 2) {
            through.0 += 1;
        }
        let records: Vec<Record> =
            (self.base.through.0 + 1..=through.0).map(|number| self.journal[&RecordNumber(number)]).collect();
        // The first half of the records is applied through a checkpoint.
        let (first, second) = records.split_at(records.len() / 2);
        let restore = |base: &Checkpoint, records: &[Record]| {
            restore(&self.settings, base, &mut records.iter().copied()).unwrap()
        };
        let checkpoint = Checkpoint::of(&mut restore(&self.base, first));
        let mut engine = restore(&checkpoint, second);
        assert_eq!(Checkpoint::of(&mut engine), Checkpoint::of(&mut restore(&self.base, &records)));
        engine.check();
        let mut rng = self.rng.clone();
        let mut stores = std::mem::take(&mut self.stores);
        for store in &mut stores {
            store.lose_power(&mut rng);
            (store.failed, store.dirty) = (false, vec![false; store.live.len()]);
        }
        let base = Checkpoint::of(&mut engine);
        let owned = self.owned.take().map(|owned| owned.after_loss_of_power(&base));
        let mut next = self.into_next(rng);
        next.owned = owned;
        (next.engine, next.stores, next.base, next.hardened) = (engine, stores, base, through);
        next.tell_dropped();
        next.tell_room();
        next
    }

    /// Begins a checkpoint, or adds some lines to it. A complete one has to equal the map that the records up to it
    /// make.
    pub(super) fn step_checkpoint(&mut self, most: u32) -> Result<(), String> {
        if self.journal_failed {
            return Ok(());
        }
        let Some(mut checkpoint) = self.checkpoint.take() else {
            let through = self.engine.begin_checkpoint();
            self.checkpoint = Some(Checkpoint { through, records: Vec::new() });
            return Ok(());
        };
        if !self.engine.continue_checkpoint(most, &mut |record| checkpoint.records.push(record)) {
            self.checkpoint = Some(checkpoint);
            return Ok(());
        }
        let records = &self.issued[..(checkpoint.through.0 - self.base.through.0) as usize];
        let mut replayed = restore(&self.settings, &self.base, &mut records.iter().copied()).unwrap();
        let expected = Checkpoint::of(&mut replayed);
        if checkpoint == expected { Ok(()) } else { Err(format!("{checkpoint:?} instead of {expected:?}")) }
    }

    /// Reads everything after a crash: each sector has one of the values that it may have, and has to keep that value.
    pub(super) fn check_survivors(&mut self) -> Result<(), String> {
        let history = self.history.clone();
        self.forget_history();
        for (sector, value) in self.read_everything().into_iter().enumerate() {
            let value = value.expect("reads go on");
            if !history[sector].may_survive(value) {
                return Err(format!("sector {sector}: {value}, not in {:?}", history[sector]));
            }
            self.is_now(sector, value);
        }
        Ok(())
    }

    /// Evicts everything that can leave the cache. Reads return the same values as before.
    pub(super) fn empty_out(&mut self) {
        self.shrink(2);
        self.drain();
        self.read_everything();
    }
}

impl World {
    /// Returns the world after a loss of power, with its engine and stores taken out: requests under way are gone.
    pub(super) fn into_next(self, rng: Rng) -> Self {
        let mut next = Self::new(self.settings.clone(), 0);
        (next.values, next.history) = (self.values, self.history);
        (next.next_value, next.step, next.failures) = (self.next_value, self.step, self.failures);
        next.rng = rng;
        next
    }

    /// For now, any value is right.
    pub(super) fn forget_history(&mut self) {
        for (history, values) in self.history.iter_mut().zip(&self.values) {
            *history = History::any_of(values.iter().copied());
        }
    }

    /// Notes that `sector` holds `value` durably.
    pub(super) fn is_now(&mut self, sector: usize, value: u64) {
        self.history[sector] = History::durable(value);
    }
}
