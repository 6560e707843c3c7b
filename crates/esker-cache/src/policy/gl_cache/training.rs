//! What the model learns from: groups as they were at one moment, and how useful they have proved since.

use esker_core::Rng;

use super::groups::{Groups, NO_ROW};
use super::learner::Features;

/// Rows of a sample, at most: time to train grows faster than the rows.
const SAMPLE_MOST: u32 = 512;

/// Samples that are learnt from; the oldest is forgotten. The paper takes one. Caches with few groups need more.
const SAMPLES: usize = 4;

/// A sample of the groups is taken after each training. Each object of a group adds to the utility of its row when it
/// is first used thereafter, wherever it is then: one over the number of accesses since the sample was taken.
#[derive(Debug, Default)]
pub(super) struct Training {
    rows: Vec<Features>,
    utilities: Vec<f64>,
    /// Where the last sample begins.
    begin: usize,
    /// The number that objects of its first group have.
    number: u32,
    taken_at: Option<u32>,
}

impl Training {
    /// Whether a sample has been taken.
    pub(super) fn has_begun(&self) -> bool {
        self.taken_at.is_some()
    }

    /// An object is used whose next use belongs to `row`.
    #[inline]
    pub(super) fn used(&mut self, row: u32, now: u32) {
        let (Some(taken_at), true) = (self.taken_at, row != NO_ROW) else { return };
        // Rows of earlier samples have lower numbers, which become large ones here.
        let place = self.begin.saturating_add(row.wrapping_sub(self.number) as usize);
        if let Some(utility) = self.utilities.get_mut(place) {
            *utility += 1.0 / f64::from(now.wrapping_sub(taken_at).max(1));
        }
    }

    /// Takes a sample of the groups as they are now.
    pub(super) fn sample(&mut self, groups: &mut Groups, now: u32, rng: &mut Rng) {
        let of_before = (self.utilities.len() - self.begin) as u32;
        // Numbers go round; NO_ROW is left out.
        self.number = if self.number > NO_ROW / 2 { 0 } else { self.number + of_before };
        let size = groups.full().min(SAMPLE_MOST);
        let excess = self.rows.len().saturating_sub(size as usize * (SAMPLES - 1));
        self.rows.drain(..excess);
        self.utilities.drain(..excess);
        self.begin = self.rows.len();
        self.taken_at = Some(now);
        let chosen = choose(groups, size, rng);
        for (row, group) in chosen.into_iter().enumerate() {
            self.rows.push(groups.features(group, now));
            self.utilities.push(0.0);
            groups.set_row(group, self.number + row as u32);
        }
    }

    /// The rows, and the utility of each.
    pub(super) fn rows(&self) -> (&[Features], &[f64]) {
        (&self.rows, &self.utilities)
    }

    /// Bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Features>() + self.utilities.capacity() * size_of::<f64>()
    }
}

/// `size` of the full groups, in the order in which they were written: each has the same chance.
fn choose(groups: &Groups, size: u32, rng: &mut Rng) -> Vec<u32> {
    let (mut wanted, mut rest) = (u64::from(size), u64::from(groups.full()));
    let mut chosen = Vec::with_capacity(size as usize);
    for group in groups.iter() {
        if wanted == rest || rng.below(rest) < wanted {
            chosen.push(group);
            wanted -= 1;
        }
        rest -= 1;
    }
    chosen
}
