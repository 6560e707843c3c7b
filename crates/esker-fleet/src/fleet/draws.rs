//! Requests by chance: how often each slice is written in an epoch.

use esker_core::Rng;

/// From this mean on, drawing by multiplication takes longer than by rejection.
const LARGE: f64 = 10.0;

/// Draws what is written to each slice in an epoch, as a real fleet would see it: slices are written independently of
/// each other, a whole number of times.
#[derive(Debug)]
pub(super) struct Draws {
    rng: Rng,
    /// Pages of a write.
    write: f64,
    /// Pages of each slice in this epoch.
    pages: Vec<f32>,
}

impl Draws {
    /// Draws for writes of this number of pages.
    pub(super) fn new(seed: u64, write: f64) -> Self {
        Self { rng: Rng::derive(seed, "fleet requests"), write, pages: Vec::new() }
    }

    /// Draws an epoch. `weights` are the pages that are expected on the first day, `growth` how much more it is now.
    pub(super) fn begin_epoch(&mut self, weights: &[f32], growth: f64) {
        let Self { rng, write, pages } = self;
        pages.clear();
        pages.extend(weights.iter().map(|weight| {
            let requests = poisson(rng, f64::from(*weight) * growth / *write);
            (requests as f64 * *write) as f32
        }));
    }

    /// Pages of each slice in this epoch.
    pub(super) fn pages(&self) -> &[f32] {
        &self.pages
    }
}

/// A number of events of which `mean` are expected, and which are independent of each other.
fn poisson(rng: &mut Rng, mean: f64) -> u64 {
    if mean >= LARGE {
        return poisson_by_rejection(rng, mean);
    }
    let (least, mut product, mut count) = ((-mean).exp(), rng.unit(), 0);
    while product > least {
        product *= rng.unit();
        count += 1;
    }
    count
}

/// Hörmann 1993, "The transformed rejection method for generating Poisson random variables": PTRS.
fn poisson_by_rejection(rng: &mut Rng, mean: f64) -> u64 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let most_at_once = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (rng.unit() - 0.5, rng.unit());
        let from_edge = 0.5 - u.abs();
        let count = ((2.0 * a / from_edge + b) * u + mean + 0.43).floor();
        if from_edge >= 0.07 && v <= most_at_once {
            return count as u64;
        }
        if count < 0.0 || (from_edge < 0.013 && v > from_edge) {
            continue;
        }
        let bound = count * mean.ln() - mean - ln_factorial(count);
        if (v * inverse_alpha / (a / (from_edge * from_edge) + b)).ln() <= bound {
            return count as u64;
        }
    }
}

/// Stirling's series, and exact products below ten.
fn ln_factorial(count: f64) -> f64 {
    if count < 10.0 {
        return (2..=count as u64).map(|factor| factor as f64).product::<f64>().ln();
    }
    let inverse = 1.0 / count;
    let series = inverse * (1.0 / 12.0 - inverse * inverse * (1.0 / 360.0 - inverse * inverse / 1260.0));
    (count + 0.5) * count.ln() - count + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_are_exact_enough() {
        let mut sum = 0.0;
        for count in 1..200u32 {
            sum += f64::from(count).ln();
            assert!((ln_factorial(count.into()) - sum).abs() < 1e-9 * sum.max(1.0), "{count}");
        }
    }

    /// Against the probabilities of Poisson's law, on both sides of the change of method: chi squared of 20 to 30 cells
    /// is above 70 once in 10,000 times, and the seed is fixed.
    #[test]
    fn counts_follow_poissons_law() {
        for mean in [0.3, 4.0, 9.9, 10.0, 40.0, 3000.0] {
            let (mut rng, draws) = (Rng::new(3), 40_000u32);
            let mut counts = std::collections::BTreeMap::<u64, u32>::new();
            (0..draws).for_each(|_| *counts.entry(poisson(&mut rng, mean)).or_default() += 1);
            let probability = |count: u64| (count as f64 * f64::ln(mean) - mean - ln_factorial(count as f64)).exp();
            let width = (mean.sqrt() / 4.0).ceil() as u64;
            let last = (mean + 6.0 * mean.sqrt() + 6.0) as u64;
            let (mut squares, mut cells) = (0.0, 0);
            for from in (0..last).step_by(width as usize) {
                let cell = from..from + width;
                let expected = cell.clone().map(probability).sum::<f64>() * f64::from(draws);
                let found: u32 = counts.range(cell).map(|(_, found)| *found).sum();
                if expected >= 5.0 {
                    squares += (f64::from(found) - expected).powi(2) / expected;
                    cells += 1;
                }
            }
            assert!(
                cells >= 3 && squares < f64::from(cells) + 6.0 * (2.0 * f64::from(cells)).sqrt(),
                "{mean}: {squares}"
            );
        }
    }

    #[test]
    fn an_epoch_is_whole_requests_and_their_mean_is_the_weight() {
        let (mut draws, weights) = (Draws::new(1, 8.0), [0.0f32, 8.0, 320.0]);
        let mut sums = [0.0f64; 3];
        for _ in 0..20_000 {
            draws.begin_epoch(&weights, 1.5);
            for (sum, pages) in sums.iter_mut().zip(draws.pages()) {
                assert_eq!(pages % 8.0, 0.0);
                *sum += f64::from(*pages) / 20_000.0;
            }
        }
        assert!(sums[0] == 0.0 && (sums[1] - 12.0).abs() < 0.2 && (sums[2] - 480.0).abs() < 1.5, "{sums:?}");
    }
}
