//! A device of a simulated world, for the tests of engines.

use esker_core::Rng;

/// A device with a volatile write cache: what each sector reads as, and which values it may hold after a loss of power.
/// A failed flush drops the data of some sectors: they read as before, or as what they held when they were last
/// flushed.
#[derive(Clone, Debug)]
pub struct Store {
    pub live: Vec<u64>,
    pub survivors: Vec<Vec<u64>>,
    pub dirty: Vec<bool>,
    /// Whether a flush or durable write has failed.
    pub failed: bool,
}

impl Store {
    /// A store that holds somebody else's data: values that no host in a test writes.
    pub fn new(sectors: u64) -> Self {
        let mut store = Self { live: Vec::new(), survivors: Vec::new(), dirty: Vec::new(), failed: false };
        store.grow(sectors);
        store
    }
    pub fn grow(&mut self, sectors: u64) {
        for sector in self.live.len() as u64..sectors {
            self.live.push(u64::MAX - sector);
            self.survivors.push(vec![u64::MAX - sector]);
            self.dirty.push(false);
        }
    }
    /// Removes the device: no sectors are left.
    pub fn remove(&mut self) {
        *self = Self::new(0);
    }
    pub fn write(&mut self, sector: usize, value: u64, durable: bool) {
        self.live[sector] = value;
        self.dirty[sector] = !durable;
        if durable {
            self.survivors[sector].clear();
        }
        self.survivors[sector].push(value);
    }
    pub fn flush(&mut self) {
        for sector in 0..self.live.len() {
            if std::mem::take(&mut self.dirty[sector]) {
                self.survivors[sector] = vec![self.live[sector]];
            }
        }
    }
    pub fn fail_to_flush(&mut self, rng: &mut Rng) {
        self.failed = true;
        let forgets = rng.chance(1, 2);
        for ((dirty, survivors), live) in self.dirty.iter_mut().zip(&mut self.survivors).zip(&mut self.live) {
            if std::mem::take(dirty) {
                *survivors = vec![survivors[rng.below(survivors.len() as u64) as usize]];
                if forgets {
                    *live = survivors[0];
                }
            }
        }
    }
    pub fn lose_power(&mut self, rng: &mut Rng) {
        for (survivors, live) in self.survivors.iter_mut().zip(&mut self.live) {
            *live = survivors[rng.below(survivors.len() as u64) as usize];
            *survivors = vec![*live];
        }
        self.failed = false;
        self.dirty.fill(false);
    }
}
