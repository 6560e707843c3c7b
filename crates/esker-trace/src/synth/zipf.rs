//! Zipf-distributed ranks.

use esker_core::Rng;

/// Draws ranks `0..count`; rank r has a probability proportional to `1 / (r + 1)^exponent`. Exact, in constant time and
/// memory: rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 1996).
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    /// Bounds of the area under the hat function, left and right.
    low: f64,
    high: f64,
    /// A draw that is closer than this to the next integer is accepted without further tests.
    sure: f64,
}

impl Zipf {
    /// A distribution over `count` ranks, at least one. `exponent` is finite and not negative (asserted). Zero is
    /// uniform.
    pub fn new(count: u64, exponent: f64) -> Self {
        assert!(count > 0, "there is at least one rank");
        assert!(exponent.is_finite() && exponent >= 0.0, "a Zipf exponent is finite and not negative: {exponent}");
        let mut zipf = Self { count: count as f64, exponent, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// x^-exponent.
    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// An antiderivative of the density: (x^(1-e) - 1) / (1-e), and ln x where e is one.
    fn integral(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), 1.0 - self.exponent);
        if (power * log).abs() < 1e-8 { log + power * log * log / 2.0 } else { (power * log).exp_m1() / power }
    }

    /// The inverse of the integral.
    fn inverse(&self, y: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let t = (y * power).max(-1.0);
        if t.abs() < 1e-8 { (y - power * y * y / 2.0).exp() } else { (t.ln_1p() / power).exp() }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let y = self.high + rng.unit() * (self.low - self.high);
            let x = self.inverse(y);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.sure || y >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square test against the exact probabilities: 99.9 % of correct generators stay below the bound.
    #[test]
    fn ranks_come_with_their_probabilities() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.000_001, 1.2, 2.5] {
            let zipf = Zipf::new(50, exponent);
            let weights: Vec<f64> = (1..=50).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            let draws = 400_000;
            let mut counts = [0u32; 50];
            let mut rng = Rng::new(11);
            for _ in 0..draws {
                counts[zipf.draw(&mut rng) as usize] += 1;
            }
            let chi_square: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(&count, weight)| {
                    let expected = f64::from(draws) * weight / total;
                    (f64::from(count) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 85.4, "exponent {exponent}: {chi_square}");
        }
    }

    #[test]
    fn large_and_small_counts_work() {
        let mut rng = Rng::new(1);
        let huge = Zipf::new(1 << 40, 0.8);
        assert!((0..1000).map(|_| huge.draw(&mut rng)).max().unwrap() > 1 << 30);
        let one = Zipf::new(1, 1.0);
        assert!((0..100).all(|_| one.draw(&mut rng) == 0));
    }
}
