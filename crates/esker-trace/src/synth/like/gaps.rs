//! Times between arrivals, in an order like that of the trace.

use std::collections::BTreeMap;

use esker_core::{Nanos, Rng};

use super::deck::Deck;
use super::walk::{WalkCounts, WalkDraw};

/// Counts: which order of magnitude follows which, and the gaps of each magnitude in bins of 3 %.
#[derive(Clone, Debug, Default)]
pub(super) struct GapCounts {
    magnitudes: WalkCounts,
    /// Number and sum of gaps, by (magnitude, bin).
    bins: BTreeMap<(u32, u8), (u64, u128)>,
}

/// Zero for a gap of zero, else one more than the binary logarithm.
fn magnitude(gap: Nanos) -> u32 {
    u64::BITS - gap.0.leading_zeros()
}

/// The five bits below the leading bit.
fn bin(gap: Nanos) -> u8 {
    match magnitude(gap) {
        0 => 0,
        magnitude => ((gap.0 << (64 - magnitude)) >> 58) as u8 & 31,
    }
}

impl GapCounts {
    /// Adds a gap. `before` is the gap before it; for the very first one it is the gap itself.
    pub(super) fn push(&mut self, before: Nanos, gap: Nanos) {
        self.magnitudes.push(magnitude(before), magnitude(gap));
        let entry = self.bins.entry((magnitude(gap), bin(gap))).or_default();
        entry.0 += 1;
        entry.1 += u128::from(gap.0);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.magnitudes.add(&other.magnitudes);
        for (&key, (count, sum)) in &other.bins {
            let entry = self.bins.entry(key).or_default();
            entry.0 += count;
            entry.1 += sum;
        }
    }

    /// Number of gaps.
    pub(super) fn count(&self) -> u64 {
        self.magnitudes.steps()
    }
}

/// Draws gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct GapDraw {
    magnitudes: WalkDraw,
    /// For each magnitude, the means of its bins.
    values: BTreeMap<u32, Deck<Nanos>>,
}

impl GapDraw {
    /// Continues after the last gap of `before`.
    pub(super) fn new(counts: &GapCounts, before: &Self) -> Self {
        let mut values: BTreeMap<u32, Vec<(Nanos, u64)>> = BTreeMap::new();
        for (&(magnitude, _), &(count, sum)) in &counts.bins {
            // Mean of the bin, rounded down for some cards and up for the others, so that the sum stays the same.
            let (mean, rest) = ((sum / u128::from(count)) as u64, (sum % u128::from(count)) as u64);
            let values = values.entry(magnitude).or_default();
            values.push((Nanos(mean), count - rest));
            values.push((Nanos(mean.saturating_add(1)), rest));
        }
        Self {
            magnitudes: WalkDraw::new(&counts.magnitudes, before.magnitudes.state()),
            values: values.into_iter().map(|(magnitude, cards)| (magnitude, Deck::new(cards))).collect(),
        }
    }

    /// The next gap; zero if none was counted.
    pub(super) fn draw(&mut self, rng: &mut Rng) -> Nanos {
        let magnitude = self.magnitudes.step(rng);
        self.values.get_mut(&magnitude).map_or(Nanos::ZERO, |deck| deck.draw(rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_sums_stay() {
        let mut rng = Rng::new(2);
        let gaps: Vec<Nanos> = (0..5_000).map(|_| Nanos((rng.unit() * 30.0).exp() as u64)).collect();
        let mut counts = GapCounts::default();
        for pair in gaps.windows(2) {
            counts.push(pair[0], pair[1]);
        }
        let mut draw = GapDraw::new(&counts, &GapDraw::default());
        let mut drawn: Vec<Nanos> = (1..5_000).map(|_| draw.draw(&mut rng)).collect();
        let sum = |gaps: &[Nanos]| gaps.iter().map(|gap| u128::from(gap.0)).sum::<u128>();
        assert_eq!(sum(&drawn), sum(&gaps[1..]));
        let mut expected = gaps[1..].to_vec();
        expected.sort_unstable();
        drawn.sort_unstable();
        for (drawn, expected) in drawn.iter().zip(&expected) {
            assert!((drawn.0 as f64 - expected.0 as f64).abs() <= expected.0 as f64 / 31.0 + 1.0, "{drawn} {expected}");
        }
    }

    #[test]
    fn long_gaps_follow_long_ones_as_in_the_trace() {
        // Bursts of ten short gaps between pairs of long ones.
        let gap = |index: u64| Nanos(if index % 12 < 10 { 1_000 } else { 1_000_000 });
        let gaps: Vec<Nanos> = (0..12_000).map(gap).collect();
        let mut counts = GapCounts::default();
        for pair in gaps.windows(2) {
            counts.push(pair[0], pair[1]);
        }
        let mut rng = Rng::new(1);
        let mut draw = GapDraw::new(&counts, &GapDraw::default());
        let drawn: Vec<Nanos> = (1..12_000).map(|_| draw.draw(&mut rng)).collect();
        let pairs = drawn.windows(2).filter(|pair| pair[0] == pair[1] && pair[0].0 == 1_000_000).count();
        // Half of the long gaps are followed by another one.
        assert!((900..1_100).contains(&pairs), "{pairs}");
    }
}
