//! The distribution of valid pages over blocks, in the steady state of uniformly random page writes.

use super::Compared;

/// Steps of bisection: more than a number has bits.
const STEPS: usize = 120;
/// Upper bound of steps of Newton's method; a handful is enough.
const NEWTON_MAX: usize = 60;

/// The distribution of blocks by their number of valid pages, at the moments when a victim is chosen, in the limit of
/// infinitely many blocks.
///
/// Any page of a block is equally likely to be overwritten next, so a block with i valid pages loses one at a rate
/// proportional to i. In the steady state, every number of valid pages is passed by as many blocks as are cleaned. `c`
/// is the number of pages overwritten between two victims, per block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stationary {
    /// The share of blocks with each number of valid pages.
    shares: Vec<f64>,
    /// Mean number of valid pages of a victim.
    pub(crate) victim: f64,
}

impl Stationary {
    /// Computes the distribution for blocks with `pages` pages, with a mean of `mean` valid pages, under a policy that
    /// compares the blocks `compared`. With `spares_full`, a chosen block without a superseded page is skipped, and the
    /// choice is repeated.
    pub(crate) fn new(compared: Compared, spares_full: bool, pages: u32, mean: f64) -> Self {
        let shares = |c: f64| match compared {
            Compared::All => greedy(c, pages),
            Compared::Drawn(draws) => drawn(c, pages, draws, spares_full),
        };
        let valid = |shares: &[f64]| shares.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum::<f64>();
        // The more pages are overwritten between two victims, the fewer are valid. `low` and `high` are bounds of ln c.
        let (mut low, mut high): (f64, f64) = (-30.0, 30.0);
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            if valid(&shares(middle.exp())) > mean {
                low = middle;
            } else {
                high = middle;
            }
        }
        let c = ((low + high) / 2.0).exp();
        Self { shares: shares(c), victim: f64::from(pages) - c * mean }
    }

    /// Returns the distribution of valid pages of victims and, if full blocks are skipped, the share of choices that
    /// fall on a full block.
    pub(crate) fn victims(&self, compared: Compared, spares_full: bool) -> (Vec<(u32, f64)>, f64) {
        let most = self.shares.len() - 1;
        let Compared::Drawn(draws) = compared else {
            let low = self.victim.floor();
            return (vec![(low as u32, 1.0 - (self.victim - low)), (low as u32 + 1, self.victim - low)], 0.0);
        };
        let (mut above, mut chosen) = (0.0, Vec::with_capacity(most + 1));
        for (valid, share) in self.shares.iter().enumerate().rev() {
            let upto: f64 = above + share;
            chosen.push((valid as u32, upto.powf(f64::from(draws)) - above.powf(f64::from(draws))));
            above = upto;
        }
        let full = if spares_full { chosen.remove(0).1 } else { 0.0 };
        chosen.iter_mut().for_each(|(_, share)| *share /= 1.0 - full);
        (chosen, full)
    }

    /// Returns how many of `blocks` blocks have each number of valid pages, so that the sum is `valid` pages, which
    /// must fit.
    pub(crate) fn apportion(&self, blocks: u32, valid: u64) -> Vec<u32> {
        let most = self.shares.len() - 1;
        assert!(valid <= u64::from(blocks) * most as u64, "{valid} pages do not fit {blocks} blocks");
        let (mut sum, mut given) = (0.0, 0);
        let mut counts: Vec<u32> = Vec::with_capacity(most + 1);
        for share in &self.shares {
            sum += share;
            let upto = ((sum * f64::from(blocks)).round() as u32).min(blocks);
            counts.push(upto - given);
            given = upto;
        }
        counts[most] += blocks - given;
        let held: u64 = (0..).zip(&counts).map(|(valid, blocks): (u64, _)| valid * u64::from(*blocks)).sum();
        // Spread the rounding error over all numbers of valid pages.
        let (mut missing, mut surplus) = (valid.saturating_sub(held), held.saturating_sub(valid));
        while missing > 0 || surplus > 0 {
            for level in (0..most).rev() {
                if missing > 0 && counts[level] > 0 {
                    counts[level] -= 1;
                    counts[level + 1] += 1;
                    missing -= 1;
                }
            }
            for level in 1..=most {
                if surplus > 0 && counts[level] > 0 {
                    counts[level] -= 1;
                    counts[level - 1] += 1;
                    surplus -= 1;
                }
            }
        }
        counts
    }
}

/// Returns m_i = 1 / (c i) for more valid pages i than the victims' number k, and the remaining blocks at k (Desnoyers
/// 2012, for few pages per block).
fn greedy(c: f64, pages: u32) -> Vec<f64> {
    let mut shares = vec![0.0; pages as usize + 1];
    let mut left: f64 = 1.0;
    for valid in (1..=pages as usize).rev() {
        shares[valid] = left.min(1.0 / (c * valid as f64));
        left -= shares[valid];
    }
    shares[0] = left;
    shares
}

/// With Q_i the share of blocks with at least i valid pages, i c (Q_i - Q_(i+1)) = 1 - Q_i^d: blocks go from i to i - 1
/// as often as a victim has fewer than i (after Van Houdt 2013). If full blocks are skipped, the right side is divided
/// by its greatest value, at i = b, so that Q_b = 1 / (c b).
fn drawn(c: f64, pages: u32, draws: u32, spares_full: bool) -> Vec<f64> {
    let mut shares = vec![0.0; pages as usize + 1];
    let draws = f64::from(draws);
    let full = (1.0 / (c * f64::from(pages))).min(1.0);
    let chosen = if spares_full { 1.0 - full.powf(draws) } else { 1.0 };
    let mut above = 0.0;
    for valid in (1..=pages as usize).rev() {
        let rate = c * chosen * valid as f64;
        // Newton's method descends from 1 to the root, since the function is convex and increasing.
        let mut q: f64 = 1.0;
        for _ in 0..NEWTON_MAX {
            let power = q.powf(draws - 1.0);
            let next = (q - (rate * (q - above) - 1.0 + power * q) / (rate + draws * power)).max(above);
            let done = (q - next).abs() < 1e-15;
            q = next;
            if done {
                break;
            }
        }
        shares[valid] = q - above;
        above = q;
    }
    shares[0] = 1.0 - above;
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs per page written: a victim with `victim` valid pages of 64 frees the rest.
    fn amplification(compared: Compared, spare: f64) -> f64 {
        64.0 / (64.0 - Stationary::new(compared, false, 64, 64.0 * (1.0 - spare)).victim)
    }

    #[test]
    fn victims_are_those_of_theory() {
        // The table of tests/write_amplification.rs: greedy, random, 2 and 10 choices.
        for (spare, expected) in [
            (0.07, [6.6155, 14.2857, 9.6354, 6.8939]),
            (0.15, [3.3536, 6.6667, 4.6475, 3.4636]),
            (0.50, [1.2389, 2.0000, 1.5262, 1.2612]),
        ] {
            let policies = [Compared::All, Compared::Drawn(1), Compared::Drawn(2), Compared::Drawn(10)];
            for (compared, expected) in policies.into_iter().zip(expected) {
                let computed = amplification(compared, spare);
                assert!((computed - expected).abs() < 5.1e-5, "{compared:?}, S {spare}: {computed}, not {expected}");
            }
        }
    }

    #[test]
    fn full_blocks_that_are_spared_are_no_victims() {
        for (compared, mean) in [(Compared::Drawn(1), 62.0), (Compared::Drawn(3), 60.0)] {
            let any = Stationary::new(compared, false, 64, mean);
            let gainful = Stationary::new(compared, true, 64, mean);
            assert!(gainful.victim < any.victim, "{} against {}", gainful.victim, any.victim);
            // With a single draw, the victim is the mean block among those that are not full.
            let full = gainful.shares[64];
            if compared == Compared::Drawn(1) {
                assert!(((mean - 64.0 * full) / (1.0 - full) - gainful.victim).abs() < 1e-6);
            }
            assert!((gainful.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        let greedy = |spares_full| Stationary::new(Compared::All, spares_full, 64, 60.0);
        assert_eq!(greedy(true), greedy(false));
    }

    #[test]
    fn blocks_are_apportioned_to_the_page() {
        for compared in [Compared::All, Compared::Drawn(1), Compared::Drawn(7)] {
            for (blocks, valid) in [(1, 0), (1, 64), (3, 100), (1000, 63_999), (1000, 54_321), (4099, 200_000)] {
                let law = Stationary::new(compared, false, 64, valid as f64 / f64::from(blocks));
                let counts = law.apportion(blocks, valid);
                assert_eq!(counts.iter().sum::<u32>(), blocks);
                let held: u64 = (0..).zip(&counts).map(|(valid, blocks): (u64, _)| valid * u64::from(*blocks)).sum();
                assert_eq!(held, valid, "{compared:?}, {blocks} blocks");
                // Each number of valid pages has its share of blocks, apart from rounding, which is spread.
                for (count, share) in counts.iter().zip(&law.shares) {
                    assert!((f64::from(*count) - share * f64::from(blocks)).abs() < 3.0, "{compared:?}, {blocks}");
                }
            }
        }
    }
}
