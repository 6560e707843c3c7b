//! The cost of an access, by over-provisioning.

use esker_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of the flash per line, and of the backing device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// Time to read a line from the flash, and to program one, in nanoseconds.
    pub(super) read: f64,
    pub(super) program: f64,
    /// Time to erase a block, in nanoseconds.
    pub(super) erase: f64,
    /// Number of lines in a block.
    pub(super) lines_a_block: f64,
    /// Time of an access to the backing device, in nanoseconds.
    pub(super) miss: f64,
}

/// The traffic that a workload causes in a cache of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Share of the accesses that are writes.
    pub(super) writes: f64,
    pub(super) miss_ratio: f64,
    /// Share of the misses that evict a line: less than one while the cache fills.
    pub(super) evicting: f64,
    /// Share of a block's lines that are still valid when the block is cleaned.
    pub(super) valid: f64,
}

impl Traffic {
    /// Returns the lines programmed per access, not counting copies by cleaning: writes, and reads that miss.
    pub(super) fn programs(&self) -> f64 {
        self.writes + (1.0 - self.writes) * self.miss_ratio
    }
}

impl Costs {
    /// Returns the time to program a line, including its share of cleaning, in nanoseconds: equations 4.2 and 4.3.
    pub(super) fn program_and_clean(&self, valid: f64) -> f64 {
        let cleaning = valid * self.lines_a_block * (self.read + self.program) + self.erase;
        self.program + cleaning / ((1.0 - valid) * self.lines_a_block)
    }

    /// Returns the mean latency of an access, in nanoseconds, if lines are copied back as `copying` says.
    pub(super) fn latency(&self, traffic: &Traffic, copying: CopyingBack) -> f64 {
        let Traffic { writes, miss_ratio, evicting, valid } = *traffic;
        let (program, reads) = (self.program_and_clean(valid), 1.0 - writes);
        let read = reads * ((1.0 - miss_ratio) * self.read + miss_ratio * self.miss);
        match copying {
            CopyingBack::InTurn => {
                let write = program + miss_ratio * evicting * (self.read + self.miss);
                read + reads * miss_ratio * program + writes * write
            }
            CopyingBack::InBackground => {
                let on_flash = traffic.programs() * program + reads * (1.0 - miss_ratio) * self.read;
                let behind = miss_ratio * (reads + writes * evicting) * self.miss;
                (read + writes * program).max(on_flash).max(behind)
            }
        }
    }

    /// Returns the blocks erased per access.
    pub(super) fn erases(&self, traffic: &Traffic) -> f64 {
        traffic.programs() / ((1.0 - traffic.valid) * self.lines_a_block)
    }
}

impl Costs {
    pub(super) fn new([read, program, erase, miss]: [Nanos; 4], lines_a_block: u64) -> Self {
        let [read, program, erase, miss] = [read, program, erase, miss].map(|time| time.0 as f64);
        Self { read, program, erase, lines_a_block: lines_a_block as f64, miss }
    }
}

/// The over-provisioning at each step of the training, in percent of the flash (Xia, section 4.4).
pub(super) const TRAINED: [u32; 8] = [85, 75, 65, 55, 45, 35, 25, 15];

/// A share at each over-provisioning of [`TRAINED`], interpolated linearly in between.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShareBySize {
    pub(super) shares: [f64; TRAINED.len()],
    /// The share at an over-provisioning of 0 % and of 100 %.
    pub(super) ends: [f64; 2],
}

impl ShareBySize {
    /// Returns the share at `over_provisioning`, which is itself a share of the flash.
    pub(super) fn at(&self, over_provisioning: f64) -> f64 {
        let percent = (over_provisioning * 100.0).clamp(0.0, 100.0);
        let [none, all] = self.ends;
        let trained = TRAINED.iter().map(|&trained| f64::from(trained)).zip(self.shares);
        let points: Vec<(f64, f64)> =
            std::iter::once((100.0, all)).chain(trained).chain(std::iter::once((0.0, none))).collect();
        let between = points.windows(2).find(|pair| pair[1].0 <= percent).expect("it lies between two");
        let [(high, at_high), (low, at_low)] = [between[0], between[1]];
        at_low + (at_high - at_low) * (percent - low) / (high - low)
    }
}

/// Share of a block's lines that are valid when the block is cleaned, by over-provisioning: the paper's table of U.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidByOverProvisioning {
    pub(super) table: ShareBySize,
    /// How many times as much of all blocks the lines take as of the visible flash: less than 1 if the drive has spare
    /// blocks of its own, more if it keeps some blocks erased.
    pub(super) crowded: f64,
}

/// Values of [`ValidByOverProvisioning::crowded`] to consider, in percent. Assumed.
const CROWDED: std::ops::RangeInclusive<u32> = 60..=115;
/// The largest share of valid lines that is believed: if all were valid, cleaning would never end.
pub(super) const VALID_MAX: f64 = 0.99;

impl ValidByOverProvisioning {
    /// The table before any measurement, as if valid lines were spread evenly over all blocks. Cleaning that chooses
    /// its blocks well finds fewer.
    pub(super) fn even() -> Self {
        let shares = TRAINED.map(|percent| 1.0 - f64::from(percent) / 100.0);
        Self { table: ShareBySize { shares, ends: [VALID_MAX, 0.0] }, crowded: 1.0 }
    }

    /// Takes in that cleaning has found the share `valid` at `over_provisioning`. Cleaning never finds more when it has
    /// more space, so entries with more over-provisioning are lowered to `valid`, and those with less are raised to it.
    pub(super) fn measured(&mut self, over_provisioning: f64, valid: f64) {
        let percent = over_provisioning * 100.0;
        let nearest = |one: &usize, other: &usize| {
            let far = |index: usize| (f64::from(TRAINED[index]) - percent).abs();
            far(*one).total_cmp(&far(*other))
        };
        let at = (0..TRAINED.len()).min_by(nearest).expect("there are steps");
        let shares = &mut self.table.shares;
        shares[at] = valid;
        shares[..at].iter_mut().for_each(|more_space| *more_space = more_space.min(valid));
        shares[at + 1..].iter_mut().for_each(|less_space| *less_space = less_space.max(valid));
    }

    /// Replaces the table by what the miniatures have found at each step of [`TRAINED`]. A miniature that still `fills`
    /// will find more: once it cleans at all, it is assumed to find at least the share that cleaning finds when all
    /// lines are written equally often.
    pub(super) fn replace(&mut self, mut shares: [f64; TRAINED.len()], fills: [bool; TRAINED.len()]) {
        let mut most = 0.0_f64;
        for step in 0..shares.len() {
            if fills[step] && shares[step] > 0.0 {
                shares[step] = shares[step].max(valid_of_uniform(f64::from(TRAINED[step]) / 100.0));
            }
            most = most.max(shares[step].min(VALID_MAX));
            shares[step] = most;
        }
        self.table.shares = shares;
    }

    /// Takes in that the flash has the share `valid` at `over_provisioning`, where the table has what the miniatures
    /// found. The difference is explained by blocks that the miniatures do not know of. Of the numbers of blocks that
    /// explain it equally well, the one nearest to the present belief is taken.
    pub(super) fn calibrate(&mut self, over_provisioning: f64, valid: f64) {
        let explained = |crowded: f64| {
            let wrong = (self.table.at(1.0 - crowded * (1.0 - over_provisioning)) - valid).abs();
            // Smaller differences are chance.
            ((wrong * 200.0).round(), (crowded - self.crowded).abs())
        };
        let by_fit = |one: &f64, other: &f64| {
            let ((one, far), (other, further)) = (explained(*one), explained(*other));
            one.total_cmp(&other).then(far.total_cmp(&further))
        };
        let best = CROWDED.map(|percent| f64::from(percent) / 100.0).min_by(by_fit).expect("there are some");
        self.crowded = best;
    }

    /// Returns the share of valid lines at `over_provisioning`, which is itself a share of the flash.
    pub(super) fn at(&self, over_provisioning: f64) -> f64 {
        self.table.at(1.0 - self.crowded * (1.0 - over_provisioning)).min(VALID_MAX)
    }
}

/// Returns the share of valid lines that cleaning finds in the oldest block if all lines are written equally often.
/// Until the block's turn comes again, (1 - valid) times as many lines are written as the flash has room for, and each
/// write hits one of the cached lines: valid = exp(-(1 - valid) / taken), where lines take the share `taken` of the
/// flash.
fn valid_of_uniform(over_provisioning: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..40 {
        let valid = (low + high) / 2.0;
        let taken = (1.0 - valid) / -valid.ln();
        if taken < 1.0 - over_provisioning { low = valid } else { high = valid }
    }
    low
}

/// When an evicted dirty line is copied back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyingBack {
    /// While the host goes on, as the cache does: a write waits for the flash, and a read that misses for the backing
    /// device. Neither is faster than the busier of the two devices can do its work.
    #[default]
    InBackground,
    /// Before the new line is written: equation 4.5.
    InTurn,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of Xia's table 5: 25 us to read, 200 us to program, 1.5 ms to erase blocks of 64 pages, 5 ms for the
    /// disk.
    fn costs() -> Costs {
        Costs::new([25, 200, 1500, 5000].map(Nanos::from_micros), 64)
    }

    #[test]
    fn latency_is_that_of_the_equations() {
        // Half of a block's lines are copied: 32 reads and programs (7,200 us) and the erase, for 32 lines.
        assert_eq!(costs().program_and_clean(0.5), 200_000.0 + 8_700_000.0 / 32.0);
        let writes = Traffic { writes: 1.0, miss_ratio: 0.2, evicting: 1.0, valid: 0.5 };
        assert_eq!(costs().latency(&writes, CopyingBack::InTurn), 471_875.0 + 0.2 * 5_025_000.0);
        // A fifth of 5 ms on the disk takes longer than the flash; a twentieth does not.
        assert_eq!(costs().latency(&writes, CopyingBack::InBackground), 1_000_000.0);
        let few = Traffic { miss_ratio: 0.05, ..writes };
        assert_eq!(costs().latency(&few, CopyingBack::InBackground), 471_875.0);
        // A cache that is not full yet copies nothing back.
        let filling = Traffic { evicting: 0.0, ..writes };
        for copying in [CopyingBack::InTurn, CopyingBack::InBackground] {
            assert_eq!(costs().latency(&filling, copying), 471_875.0);
        }
        assert_eq!(costs().erases(&writes), 1.0 / 32.0);
        let reads = Traffic { writes: 0.0, ..writes };
        let missed = 0.8 * 25_000.0 + 0.2 * 5_000_000.0;
        assert_eq!(costs().latency(&reads, CopyingBack::InTurn), missed + 0.2 * 471_875.0);
        assert_eq!(costs().latency(&reads, CopyingBack::InBackground), missed);
        assert_eq!(costs().erases(&reads), 0.2 / 32.0);
    }

    #[test]
    fn the_table_goes_straight_between_measurements() {
        let table = ShareBySize { shares: [0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8], ends: [1.0, 0.0] };
        let found = [1.0, 0.925, 0.85, 0.80, 0.15, 0.20, 0.075].map(|share| (table.at(share) * 1e6).round() / 1e6);
        assert_eq!(found, [0.0, 0.05, 0.1, 0.1, 0.8, 0.7, 0.9]);
        assert!((ValidByOverProvisioning::even().at(0.4) - 0.6).abs() < 1e-9);
    }

    /// With more space cleaning never finds more, whatever single measurements say.
    #[test]
    fn a_measurement_bounds_those_on_both_sides() {
        let mut table = ValidByOverProvisioning::even();
        table.measured(0.44, 0.3);
        let found: Vec<f64> = TRAINED.iter().map(|&percent| table.at(f64::from(percent) / 100.0)).collect();
        let expected = [0.15, 0.25, 0.3, 0.3, 0.3, 0.65, 0.75, 0.85];
        let differs = found.iter().zip(expected).any(|(found, expected)| (found - expected).abs() > 1e-9);
        assert!(!differs, "{found:?}");
    }

    /// A drive with 10 % spare blocks of its own finds the same share valid at 35 % as the miniatures find at 41.5 %.
    #[test]
    fn spare_blocks_are_found() {
        let by_space = |over_provisioning: f64| (1.0 - over_provisioning).powi(2);
        let mut table = ValidByOverProvisioning::even();
        table.replace(TRAINED.map(|percent| by_space(f64::from(percent) / 100.0)), [false; TRAINED.len()]);
        table.calibrate(0.35, by_space(1.0 - 0.9 * 0.65));
        assert!((table.crowded - 0.9).abs() < 0.011, "{table:?}");
        for left in [0.2, 0.5, 0.8] {
            let expected = by_space(1.0 - 0.9 * (1.0 - left));
            assert!((table.at(left) - expected).abs() < 0.02, "{left}: {}, not {expected}", table.at(left));
        }
        // If all sizes find the same, nothing can be learned from it.
        table.replace([0.0; TRAINED.len()], [false; TRAINED.len()]);
        table.calibrate(0.35, 0.0);
        assert!((table.crowded - 0.9).abs() < 0.011, "{table:?}");
    }

    /// Sizes that still fill are expected to find what cleaning finds when all lines are written equally often, unless
    /// they clean nothing yet or have found more already. At a share of one half, lines take 1 / (2 ln 2) of the flash.
    #[test]
    fn sizes_that_fill_are_expected_to_find_more() {
        assert!((valid_of_uniform(1.0 - 0.5 / 2f64.ln()) - 0.5).abs() < 1e-6);
        let mut table = ValidByOverProvisioning::even();
        let found = [0.0, 0.0, 0.0, 0.1, 0.2, 0.4, 0.4, 0.9];
        table.replace(found, TRAINED.map(|percent| percent <= 25 || percent >= 65));
        let expected = [0.0, 0.0, 0.0, 0.1, 0.2, 0.4, valid_of_uniform(0.25), 0.9];
        assert_eq!(table.table.shares, expected);
        table.replace(found, [false; TRAINED.len()]);
        assert_eq!(table.table.shares, found);
    }
}
