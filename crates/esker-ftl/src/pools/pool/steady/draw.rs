//! Random draws for a start in the steady state, and corrections of theory's numbers of blocks.

use esker_core::Rng;

/// Takes `full` blocks in which every page is valid out of `counts`, the numbers of blocks by valid pages. If there are
/// too few, as in pools of few long blocks, takes the fullest blocks, and takes the pages that they lack from others.
/// Returns `None` if that is impossible.
pub(super) fn take_full(counts: &mut [u32], full: u32) -> Option<()> {
    let pages = counts.len() - 1;
    let (mut wanted, mut missing) = (full, 0);
    for valid in (0..=pages).rev() {
        let taken = counts[valid].min(wanted);
        counts[valid] -= taken;
        wanted -= taken;
        missing += taken as usize * (pages - valid);
    }
    for valid in (1..=pages).rev() {
        let fewer = counts[valid].min(missing as u32);
        counts[valid] -= fewer;
        counts[valid - 1] += fewer;
        missing -= fewer as usize;
    }
    (wanted == 0 && missing == 0).then_some(())
}

/// Sets `count` random bits among the first `of` bits of `mask`.
pub(super) fn draw(mask: &mut [u64], count: u32, of: u32, rng: &mut Rng) {
    // Draws the smaller set: the bits that are set, or the others.
    let inverted = 2 * count > of;
    mask.fill(0);
    let mut left = if inverted { of - count } else { count };
    while left > 0 {
        let place = rng.below(u64::from(of));
        let (word, bit) = (&mut mask[place as usize / 64], 1 << (place % 64));
        left -= u32::from(*word & bit == 0);
        *word |= bit;
    }
    if inverted {
        for (index, word) in (0..).step_by(64).zip(mask) {
            let within = of.saturating_sub(index).min(64);
            *word = !*word & if within == 0 { 0 } else { u64::MAX >> (64 - within) };
        }
    }
}

/// Returns `blocks` in random order.
pub(super) fn shuffled<T>(mut blocks: Vec<T>, rng: &mut Rng) -> Vec<T> {
    for last in (1..blocks.len()).rev() {
        blocks.swap(last, rng.below(last as u64 + 1) as usize);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_blocks_are_taken_without_a_page_lost() {
        let all = |counts: &[u32]| (0..).zip(counts).map(|(valid, blocks)| valid * blocks).sum::<u32>();
        for (before, full, after) in [
            (vec![0, 1, 2, 3], 2, Some(vec![0, 1, 2, 1])),
            // The fullest blocks lack four pages, which others give.
            (vec![0, 4, 3, 0, 1], 3, Some(vec![3, 2, 0, 0, 0])),
            (vec![0, 0, 0, 1], 2, None),
            (vec![3, 1], 2, None),
        ] {
            let mut counts = before.clone();
            let taken = take_full(&mut counts, full);
            assert_eq!(taken.map(|()| counts.clone()), after, "{before:?}");
            if taken.is_some() {
                assert_eq!(all(&counts) + full * (before.len() as u32 - 1), all(&before), "{before:?}");
            }
        }
    }

    #[test]
    fn bits_are_drawn_to_the_number_and_everywhere() {
        let mut rng = Rng::new(1);
        for (count, of) in [(0, 0), (0, 5), (5, 5), (1, 200), (199, 200), (100, 200), (64, 64), (63, 128), (128, 128)] {
            let mut seen = [0u64; 4];
            for _ in 0..2000 {
                let mut mask = [u64::MAX; 4];
                draw(&mut mask, count, of, &mut rng);
                assert_eq!(mask.iter().map(|word| word.count_ones()).sum::<u32>(), count, "{count} of {of}");
                mask.iter().zip(&mut seen).for_each(|(word, seen)| *seen |= word);
            }
            let ever = if count == 0 { 0 } else { of };
            assert_eq!(seen.iter().map(|word| word.count_ones()).sum::<u32>(), ever, "{count} of {of}");
        }
    }
}
