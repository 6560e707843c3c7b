//! A device of a simulated world, for the tests of engines.

use esker_core::Rng;

/// A device with a volatile cache: its content, and what each sector may hold after losing power. A failed flush
/// forgets to write some of the sectors that it could not write; they still read as before.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) live: Vec<u64>,
    pub(crate) survivors: Vec<Vec<u64>>,
    pub(crate) dirty: Vec<bool>,
    /// A flush or durable write has failed.
    pub(crate) failed: bool,
    /// It refuses all writes.
    pub(crate) full: bool,
}

impl Store {
    /// A store that holds somebody else's data.
    pub(crate) fn new(sectors: u64) -> Self {
        let mut store = Self { live: Vec::new(), survivors: Vec::new(), dirty: Vec::new(), failed: false, full: false };
        store.grow(sectors);
        store
    }
    pub(crate) fn grow(&mut self, sectors: u64) {
        for sector in self.live.len() as u64..sectors {
            self.live.push(u64::MAX - sector);
            self.survivors.push(vec![u64::MAX - sector]);
            self.dirty.push(false);
        }
    }
    /// Takes the device away.
    pub(crate) fn remove(&mut self) {
        *self = Self::new(0);
    }
    pub(crate) fn write(&mut self, sector: usize, value: u64, durable: bool) {
        self.live[sector] = value;
        self.dirty[sector] = !durable;
        if durable {
            self.survivors[sector].clear();
        }
        self.survivors[sector].push(value);
    }
    pub(crate) fn flush(&mut self) {
        for sector in 0..self.live.len() {
            if std::mem::take(&mut self.dirty[sector]) {
                self.survivors[sector] = vec![self.live[sector]];
            }
        }
    }
    pub(crate) fn fail_to_flush(&mut self, rng: &mut Rng) {
        self.failed = true;
        for (dirty, survivors) in self.dirty.iter_mut().zip(&mut self.survivors) {
            if std::mem::take(dirty) {
                *survivors = vec![survivors[rng.below(survivors.len() as u64) as usize]];
            }
        }
    }
    pub(crate) fn lose_power(&mut self, rng: &mut Rng) {
        for (survivors, live) in self.survivors.iter_mut().zip(&mut self.live) {
            *live = survivors[rng.below(survivors.len() as u64) as usize];
            *survivors = vec![*live];
        }
    }
}
