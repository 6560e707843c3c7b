//! The balance of credits over time.

use esker_core::Nanos;
use esker_results::CreditPoint;

/// Points that are kept: enough to draw a curve.
const POINTS_MAX: usize = 241;
/// The first distance between points. It doubles as the run goes on.
const FIRST_DISTANCE: Nanos = Nanos::from_millis(1);

/// Samples of a balance at even distances, at most [`POINTS_MAX`] of a run of any length.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    points: Vec<CreditPoint>,
    next: Nanos,
    distance: Nanos,
}

impl Balance {
    pub(super) fn since(now: Nanos) -> Self {
        Self { points: Vec::new(), next: now, distance: FIRST_DISTANCE }
    }

    /// Takes the samples that are due by `now`. Nothing was spent since the last call.
    #[inline]
    pub(super) fn follow(&mut self, now: Nanos, balance: impl Fn(Nanos) -> f64) {
        while self.next <= now {
            let at = self.next;
            self.points.push(CreditPoint { at_s: at.as_secs_f64(), credits: balance(at) });
            if self.points.len() == POINTS_MAX {
                // The last of them has an even index and is kept.
                let mut index = 0;
                self.points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.distance = self.distance * 2;
            }
            self.next = at + self.distance;
        }
    }

    /// The samples, and the balance at the end.
    pub(super) fn points(&self, now: Nanos, balance: f64) -> Vec<CreditPoint> {
        let mut points = self.points.clone();
        let end = CreditPoint { at_s: now.as_secs_f64(), credits: balance };
        if points.last().is_none_or(|last| last.at_s < end.at_s) {
            points.push(end);
        } else if let Some(last) = points.last_mut() {
            // The sample was taken before what was spent at the same moment.
            *last = end;
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_length_have_few_points_at_even_distances() {
        for (seconds, at_least) in [(1, 120), (100, 120), (86_400, 120), (292 * 365 * 86_400, 120)] {
            let mut balance = Balance::since(Nanos::ZERO);
            let end = Nanos::from_secs(seconds);
            for step in 1..=10 {
                balance.follow(Nanos(end.0 / 10 * step), |at| at.as_secs_f64());
            }
            let points = balance.points(end, 7.0);
            assert!((at_least..=242).contains(&points.len()), "{seconds} s: {}", points.len());
            assert_eq!((points[0].at_s, points[points.len() - 1].credits), (0.0, 7.0));
            let distance = points[1].at_s;
            let even = |pair: &[CreditPoint]| (pair[1].at_s - pair[0].at_s - distance).abs() < 1e-9 * end.as_secs_f64();
            assert!(points[..points.len() - 1].windows(2).all(even), "{seconds} s");
        }
    }
}
