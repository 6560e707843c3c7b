//! The time of one turn: the same sector always comes after a whole number of turns.

use esker_core::Nanos;

use super::MeasureError;
use super::bench::{Bench, median};

/// Range of turns that are looked for: 24,000 to 1,200 per minute.
const SHORTEST_NS: f64 = 2.5e6;
const LONGEST_NS: f64 = 50e6;
/// How well all samples together have to fit, as the length of the mean of unit vectors.
const FITS: f64 = 0.85;
/// Samples closer to each other than this say nothing about turns.
const SAME_NS: f64 = 1e6;
const SWEEPS: usize = 5;

/// Measures a turn at about `places` places, each of which is read in several sweeps over the disk. Returns the time of
/// a turn in nanoseconds.
pub(super) async fn find(bench: &Bench, places: usize) -> Result<f64, MeasureError> {
    let places: Vec<u64> = {
        let mut places: Vec<u64> = (0..places).map(|_| bench.fresh()).collect();
        places.sort_unstable();
        places
    };
    let mut ends = Vec::new();
    for sweep in 0..SWEEPS {
        let mut times = Vec::new();
        for (index, &place) in places.iter().enumerate() {
            // Without pauses, all sweeps would take equally long, and only show the sum of several turns.
            let pause = Nanos::from_millis(((index * 7 + sweep * 3) % 11) as u64);
            times.push(bench.read(pause, place, bench.block).await.1);
        }
        bench.read_elsewhere(bench.forgets_after.get().saturating_sub(places.len())).await;
        ends.push(times);
    }
    let apart = |sweeps: usize| -> Vec<f64> {
        let later = ends.iter().skip(sweeps).flatten();
        ends.iter().flatten().zip(later).map(|(before, after)| after - before).collect()
    };
    let once = apart(1);
    let whole = median(&mut once.clone());
    let near: Vec<f64> = once.iter().map(|time| time - whole).filter(|off| off.abs() > SAME_NS).collect();
    let coarse = longest_fit(&near).ok_or(MeasureError::NoTurn)?;
    let mut turn = coarse;
    for sweeps in 1..SWEEPS {
        turn = refined(turn, &apart(sweeps));
    }
    Ok(turn)
}

/// Returns how well `times` are multiples of `turn`: 1 if all are, about 0 if they are unrelated to it.
fn fit(turn: f64, times: &[f64]) -> f64 {
    let (sin, cos) = times.iter().fold((0.0, 0.0), |(sin, cos), time| {
        let angle = time / turn * std::f64::consts::TAU;
        (sin + angle.sin(), cos + angle.cos())
    });
    f64::hypot(sin, cos) / times.len().max(1) as f64
}

/// Returns the longest time of which all `times` are multiples. They are also multiples of a half or a third of it.
fn longest_fit(times: &[f64]) -> Option<f64> {
    if times.len() < 16 {
        return None;
    }
    // Times of up to 20 turns move by at most a tenth of a turn from one step to the next.
    const STEP: f64 = 1.0 - 0.0025;
    let mut turn = LONGEST_NS;
    while turn > SHORTEST_NS {
        if fit(turn, times) > FITS {
            // Continue to the top of this peak. It is wide if most times are of a single turn.
            let mut best = turn;
            let mut at = turn;
            while at > turn * 0.85 {
                at *= 1.0 - 0.0001;
                if fit(at, times) > fit(best, times) {
                    best = at;
                }
            }
            return Some(best);
        }
        turn *= STEP;
    }
    None
}

/// Divides each of `times` by the nearest whole number of turns, and returns the median of the results: a better value
/// of `turn`.
fn refined(turn: f64, times: &[f64]) -> f64 {
    let mut turns: Vec<f64> = times.iter().map(|time| time / (time / turn).round().max(1.0)).collect();
    median(&mut turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_common_part_is_found() {
        let turn = 8_333_333.0;
        let times: Vec<f64> = (0..60).map(|i| f64::from(i % 9 - 4) * turn + f64::from(i % 5) * 2_000.0).collect();
        let found = longest_fit(&times).unwrap();
        assert!((found / turn - 1.0).abs() < 2e-3, "{found}");
        // Times without anything in common.
        let mut seed = 1_u64;
        let noise: Vec<f64> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 40) as f64
        })
        .take(200)
        .collect();
        assert_eq!(longest_fit(&noise), None);
    }
}
