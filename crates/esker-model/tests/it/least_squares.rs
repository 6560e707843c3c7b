//! Least squares against certified values, a closed form, and what its intervals promise.

use esker_core::Rng;
use esker_model::{FitError, Problem};
use proptest::prelude::*;

fn problem(terms: &[&'static str], rows: Vec<Vec<f64>>, values: Vec<f64>) -> Problem {
    Problem { terms: terms.to_vec(), weights: vec![1.0; values.len()], rows, values }
}

/// Norris, of the Statistical Reference Datasets of NIST (linear regression, lower difficulty): x and y.
const NORRIS: [(f64, f64); 36] = [
    (0.2, 0.1),
    (337.4, 338.8),
    (118.2, 118.1),
    (884.6, 888.0),
    (10.1, 9.2),
    (226.5, 228.1),
    (666.3, 668.5),
    (996.3, 998.5),
    (448.6, 449.1),
    (777.0, 778.9),
    (558.2, 559.2),
    (0.4, 0.3),
    (0.6, 0.1),
    (775.5, 778.1),
    (666.9, 668.8),
    (338.0, 339.3),
    (447.5, 448.9),
    (11.6, 10.8),
    (556.0, 557.7),
    (228.1, 228.3),
    (995.8, 998.0),
    (887.6, 888.8),
    (120.2, 119.6),
    (0.3, 0.3),
    (0.3, 0.6),
    (556.8, 557.6),
    (339.1, 339.3),
    (887.2, 888.0),
    (999.0, 998.5),
    (779.0, 778.9),
    (11.1, 10.2),
    (118.3, 117.6),
    (229.2, 228.9),
    (669.1, 668.4),
    (448.9, 449.2),
    (0.5, 0.2),
];

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{found}, not {expected}");
}

#[test]
fn certified_values_come_out() {
    let rows = NORRIS.iter().map(|(x, _)| vec![1.0, *x]).collect();
    let fit = problem(&["1", "x"], rows, NORRIS.iter().map(|(_, y)| *y).collect()).solve().unwrap();
    let [one, x] = &fit.coefficients[..] else { panic!("two terms") };
    near(one.estimate, -0.262323073774029, 1e-11);
    near(x.estimate, 1.00211681802045, 1e-13);
    near(one.standard_error, 0.232818234301152, 1e-12);
    near(x.standard_error, 0.429796848199937e-3, 1e-12);
    near(fit.residual_deviation, 0.884796396144373, 1e-12);
    near(fit.r_squared, 0.999993745883712, 1e-14);
    // With 34 degrees of freedom Student's t reaches 2.728 for 99 % (any table of it).
    near((one.high_99 - one.estimate) / one.standard_error, 2.728, 2e-4);
    assert!((one.p - 0.268).abs() < 0.001 && x.p < 1e-60, "{} {}", one.p, x.p);
}

/// Where each term adds to the value what it really does, in `trials` draws of noise: the share of intervals that have
/// the truth. `seen` says which of the terms 1, x and z the fit is told of.
fn share_of_intervals_with_the_truth(seen: [bool; 3], trials: u64) -> f64 {
    const TRUTH: [f64; 3] = [3.0, -2.0, 0.5];
    let pick =
        |all: [f64; 3]| -> Vec<f64> { all.into_iter().zip(seen).filter(|(_, seen)| *seen).map(|(of, _)| of).collect() };
    let (mut held, mut all) = (0u32, 0u32);
    for trial in 0..trials {
        let mut rng = Rng::derive(trial, "trial");
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        for _ in 0..25 {
            let x = rng.unit();
            let row = [1.0, x, x + rng.unit()];
            let noise = 0.1 * rng.normal();
            values.push(row.iter().zip(TRUTH).map(|(of, truth)| of * truth).sum::<f64>() + noise);
            rows.push(pick(row));
        }
        let terms: Vec<&str> = ["1", "x", "z"].into_iter().zip(seen).filter(|of| of.1).map(|of| of.0).collect();
        let fit = problem(&terms, rows, values).solve().unwrap();
        for (of, truth) in fit.coefficients.iter().zip(pick(TRUTH)) {
            all += 1;
            held += u32::from((of.low_99..=of.high_99).contains(&truth));
        }
    }
    f64::from(held) / f64::from(all)
}

#[test]
fn ninety_nine_of_a_hundred_intervals_have_the_truth() {
    let share = share_of_intervals_with_the_truth([true; 3], 2_000);
    assert!((0.985..=0.995).contains(&share), "{share}");
}

#[test]
fn a_fit_without_one_of_the_terms_is_found_out() {
    for (what, seen) in [("no constant", [false, true, true]), ("z dropped", [true, true, false])] {
        let share = share_of_intervals_with_the_truth(seen, 500);
        assert!(share < 0.9, "{what}: {share}");
    }
}

#[test]
fn what_cannot_be_solved_is_one_clear_error() {
    let rows =
        |count: usize| -> Vec<Vec<f64>> { (0..count).map(|n| vec![1.0, n as f64, 3.0 - 7.0 * n as f64]).collect() };
    let of = |count: usize| problem(&["1", "x", "y"], rows(count), vec![2.0; count]).solve().unwrap_err();
    assert_eq!(of(10), FitError::Collinear { term: "y" });
    assert_eq!(of(3), FitError::TooFew { values: 3, terms: 3 });
    assert_eq!(of(0), FitError::TooFew { values: 0, terms: 3 });
    let same = problem(&["1", "x"], vec![vec![1.0, 0.0]; 5], vec![1.0; 5]).solve();
    assert_eq!(same.unwrap_err(), FitError::Collinear { term: "x" });
    let mut wrong = problem(&["1"], vec![vec![1.0]; 4], vec![1.0; 4]);
    wrong.values[2] = f64::NAN;
    assert_eq!(wrong.clone().solve().unwrap_err(), FitError::NotFinite { term: "the value", run: 3 });
    wrong.rows[1][0] = f64::INFINITY;
    assert_eq!(wrong.solve().unwrap_err(), FitError::NotFinite { term: "1", run: 2 });
}

proptest! {
    /// One term and a constant, by the formulas of any textbook.
    #[test]
    fn one_term_is_the_closed_form(points in prop::collection::vec((-100.0..100.0f64, -1e3..1e3f64), 4..40)) {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|of| of.0), mean(|of| of.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        prop_assume!(xx > 1.0 && yy > 1.0);
        let slope = xy / xx;
        let left = (yy - slope * xy).max(0.0);
        let slope_error = (left / (count - 2.0) / xx).sqrt();
        let rows = points.iter().map(|(x, _)| vec![1.0, *x]).collect();
        let fit = problem(&["1", "x"], rows, points.iter().map(|(_, y)| *y).collect()).solve().unwrap();
        let close = |found: f64, expected: f64, scale: f64| (found - expected).abs() <= 1e-6 * scale.max(1.0);
        prop_assert!(close(fit.coefficients[1].estimate, slope, slope.abs()));
        prop_assert!(close(fit.coefficients[0].estimate, mean_y - slope * mean_x, mean_y.abs() + 100.0 * slope.abs()));
        prop_assert!(close(fit.coefficients[1].standard_error, slope_error, slope_error));
        prop_assert!(close(fit.r_squared, 1.0 - left / yy, 1.0));
        let adjusted = 1.0 - (left / (count - 2.0)) / (yy / (count - 1.0));
        prop_assert!(close(fit.adjusted_r_squared, adjusted, 1.0));
    }

    /// A weight of two is the point given twice, but for the number of points.
    #[test]
    fn a_weight_is_how_often_a_point_counts(points in prop::collection::vec((-9.0..9.0f64, -9.0..9.0f64), 5..20)) {
        let xx: f64 = points.iter().map(|(x, _)| (x - points[0].0).abs()).sum();
        prop_assume!(xx > 1.0);
        let rows = |from: &[(f64, f64)]| -> Vec<Vec<f64>> { from.iter().map(|(x, _)| vec![1.0, *x]).collect() };
        let values = |from: &[(f64, f64)]| -> Vec<f64> { from.iter().map(|(_, y)| *y).collect() };
        let mut weighted = problem(&["1", "x"], rows(&points), values(&points));
        weighted.weights[0] = 2.0;
        let twice = [&points[..], &points[..1]].concat();
        let repeated = problem(&["1", "x"], rows(&twice), values(&twice));
        let (one, two) = (weighted.solve().unwrap(), repeated.solve().unwrap());
        for (a, b) in one.coefficients.iter().zip(&two.coefficients) {
            prop_assert!((a.estimate - b.estimate).abs() < 1e-6 * (1.0 + a.estimate.abs()));
        }
        prop_assert!((one.r_squared - two.r_squared).abs() < 1e-6);
    }
}

#[test]
fn values_that_are_all_zero_are_explained_by_nothing() {
    let rows: Vec<Vec<f64>> = (0..8).map(|at| vec![1.0, f64::from(at)]).collect();
    let fit = problem(&["1", "x"], rows, vec![0.0; 8]).solve().unwrap();
    assert_eq!((fit.r_squared, fit.adjusted_r_squared), (0.0, 0.0));
    assert!(fit.coefficients.iter().all(|one| (one.estimate, one.p, one.high_99) == (0.0, 1.0, 0.0)), "{fit:?}");
}
