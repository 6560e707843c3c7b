//! How much is written between two cleanings.

/// Number of bins.
const BINS: usize = 256;
/// Width of a bin in the beginning, in sectors.
const WIDTH_FIRST: u64 = 8;
/// Gaps that are counted before all counts are halved, so that a drive that fills up is followed.
const COUNTED_MAX: u64 = 1024;
/// Gaps that have to be known before anything is expected of them.
const COUNTED_MIN: u64 = 8;
/// What a bin counts without any gap.
const UNSEEN: f64 = 0.05;
/// What is left of a bin, by rounding or of gaps long past, that counts as nothing.
const NOTHING: f64 = 0.01;
/// The chance of a cleaning that is overdue.
const OVERDUE: f64 = 0.5;

/// The sectors written between one cleaning and the next, in bins. Memory does not grow: bins become wider.
///
/// A slow write says only that a gap ended somewhere in it. Its count goes to the bins that it touches in proportion to
/// what they have from other gaps, so that gaps of one length gather in one bin however large the writes are
/// (expectation maximisation, one step for each gap).
#[derive(Clone, Debug)]
pub(super) struct CleaningGaps {
    bins: [f64; BINS],
    counted: u64,
    width: u64,
}

impl CleaningGaps {
    pub(super) fn new() -> Self {
        Self { bins: [0.0; BINS], counted: 0, width: WIDTH_FIRST }
    }

    /// Counts a gap that has ended while `sectors` were written, `since` sectors after the cleaning before it.
    pub(super) fn add(&mut self, since: u64, sectors: u64) {
        let last = since + sectors.max(1) - 1;
        while last / self.width >= BINS as u64 {
            for bin in 0..BINS / 2 {
                self.bins[bin] = self.bins[2 * bin] + self.bins[2 * bin + 1];
            }
            self.bins[BINS / 2..].fill(0.0);
            self.width *= 2;
        }
        let touched = &mut self.bins[(since / self.width) as usize..=(last / self.width) as usize];
        let (all, count) = (touched.iter().sum::<f64>(), touched.len() as f64);
        // What no gap has shown yet is possible, too.
        touched.iter_mut().for_each(|bin| *bin += (*bin + UNSEEN) / (all + count * UNSEEN));
        self.counted += 1;
        if self.counted >= COUNTED_MAX {
            self.bins.iter_mut().for_each(|count| *count /= 2.0);
            self.counted /= 2;
        }
    }

    /// Returns how likely a cleaning is while `sectors` more are written, when `since` have been written since the
    /// last one.
    pub(super) fn chance(&self, since: u64, sectors: u64) -> f64 {
        if self.counted < COUNTED_MIN || sectors == 0 {
            return 0.0;
        }
        let longer = self.longer(since);
        if longer > NOTHING {
            return 1.0 - self.longer(since + sectors) / longer;
        }
        let longest =
            self.bins.iter().rposition(|&count| count > NOTHING).map_or(0, |bin| (bin as u64 + 1) * self.width);
        // A cleaning that is late by a whole gap is not coming: the drive has been trimmed, or has found time to clean.
        if since < 2 * longest { OVERDUE } else { 0.0 }
    }

    /// Returns the number of gaps longer than `sectors`; those of its bin lie evenly in it.
    fn longer(&self, sectors: u64) -> f64 {
        let bin = (sectors / self.width) as usize;
        if bin >= BINS {
            return 0.0;
        }
        let part = (sectors % self.width) as f64 / self.width as f64;
        self.bins[bin + 1..].iter().sum::<f64>() + self.bins[bin] * (1.0 - part)
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;

    /// The chance by the gaps themselves, in bins of `width` sectors; `None` if no gap is so long.
    fn counted(gaps: &[u64], width: u64, since: u64, sectors: u64) -> Option<f64> {
        let longer = |than: u64| gaps.iter().filter(|&&gap| gap / width >= than / width).count() as f64;
        (longer(since) > 0.0).then(|| 1.0 - longer(since + sectors) / longer(since))
    }

    proptest! {
        /// At the borders of bins, the chance is that of the gaps themselves.
        #[test]
        fn the_chance_is_the_share_of_gaps_that_end(
            gaps in prop::collection::vec(0u64..20_000, 8..500),
            since in 0u64..250,
            sectors in 1u64..250,
        ) {
            let mut found = CleaningGaps::new();
            gaps.iter().for_each(|&gap| found.add(gap, 1));
            let width = found.width;
            let longest = gaps.iter().max().unwrap();
            prop_assert!(longest / width < BINS as u64 && (width == WIDTH_FIRST || longest / width >= BINS as u64 / 2));
            let (since, sectors) = (since * width, sectors * width);
            let chance = found.chance(since, sectors);
            match counted(&gaps, width, since, sectors) {
                Some(expected) => prop_assert!((chance - expected).abs() < 1e-9, "{chance}, not {expected}"),
                None => prop_assert_eq!(chance, if since < 2 * (longest / width + 1) * width { OVERDUE } else { 0.0 }),
            }
        }
    }

    #[test]
    fn few_gaps_say_nothing_and_old_ones_fade() {
        let mut gaps = CleaningGaps::new();
        (1..COUNTED_MIN).for_each(|_| gaps.add(100, 1));
        assert_eq!(gaps.chance(96, 8), 0.0);
        gaps.add(100, 1);
        assert_eq!((gaps.chance(96, 8), gaps.chance(0, 96)), (1.0, 0.0));
        (0..20_000).for_each(|_| gaps.add(400, 1));
        assert!(gaps.chance(0, 200) < 0.01 && gaps.chance(400, 8) == 1.0, "{}", gaps.chance(0, 200));
    }

    /// The drive cleans when the fiftieth unit of 8 sectors is written, in writes of one to four.
    #[test]
    fn gaps_that_end_within_large_writes_gather_where_they_end() {
        let (mut gaps, mut rng) = (CleaningGaps::new(), Rng::new(1));
        for _ in 0..500 {
            let mut since = 0;
            loop {
                let units = 1 + rng.below(4);
                if since + units >= 50 {
                    gaps.add(8 * since, 8 * units);
                    break;
                }
                since += units;
            }
        }
        let chance = |since: u64, units: u64| gaps.chance(8 * since, 8 * units);
        assert!(chance(46, 3) < 0.1 && chance(45, 4) < 0.1, "{} {}", chance(46, 3), chance(45, 4));
        assert!(chance(46, 4) > 0.9 && chance(49, 1) > 0.9, "{} {}", chance(46, 4), chance(49, 1));
    }
}
