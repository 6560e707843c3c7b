//! Makes shares exact that fill devices to the brim, which an interior point only comes near to.

use esker_assign::{Matrix, Relaxation};

/// Shares below this are taken for none, and rows that are this near to full for full.
const NEAR: f64 = 1e-5;
/// Equations at most: their number to the third power is the work.
const EQUATIONS_MAX: usize = 500;

/// An equation: the pairs in it with their factors, and what its sum should be.
struct Equation {
    terms: Vec<(usize, f64)>,
    sum: f64,
}

/// Changes the shares of a relaxation of whole counts, as little as possible for their size, so that what is nearly
/// full is full, and all of each class is placed. `None` if that is too much work, or leads nowhere.
pub(super) fn polish(relaxation: &Relaxation, shares: &[f64]) -> Option<Vec<f64>> {
    let mut shares: Vec<f64> = shares.iter().map(|&share| if share < NEAR { 0.0 } else { share }).collect();
    let equations = equations(relaxation, &shares);
    if equations.len() > EQUATIONS_MAX {
        return None;
    }
    let mut matrix = Matrix::new(equations.len(), 0);
    let mut weighted = vec![0.0; shares.len()];
    for (at, one) in equations.iter().enumerate() {
        one.terms.iter().for_each(|&(pair, factor)| weighted[pair] = factor * shares[pair] * shares[pair]);
        let row = matrix.row(at);
        for (value, other) in row.iter_mut().zip(&equations) {
            *value = other.terms.iter().map(|&(pair, factor)| factor * weighted[pair]).sum();
        }
        one.terms.iter().for_each(|&(pair, _)| weighted[pair] = 0.0);
    }
    matrix.factor();
    let sum = |one: &Equation| one.terms.iter().map(|&(pair, factor)| factor * shares[pair]).sum::<f64>();
    let mut lack: Vec<f64> = equations.iter().map(|one| one.sum - sum(one)).collect();
    let mut room = vec![0.0; 2 * lack.len()];
    let (first, residual) = room.split_at_mut(equations.len());
    matrix.solve(&mut lack, first, residual);
    let before = shares.clone();
    for (one, price) in equations.iter().zip(&lack) {
        for &(pair, factor) in &one.terms {
            shares[pair] += before[pair] * before[pair] * factor * price;
        }
    }
    shares.iter().all(|share| (0.0..=1.0 + NEAR).contains(share)).then_some(shares)
}

/// That each class is placed, and that what is nearly full is full.
fn equations(relaxation: &Relaxation, shares: &[f64]) -> Vec<Equation> {
    let mut equations = Vec::new();
    let full = |rhs: &f64| Equation { terms: Vec::new(), sum: 1.0 + rhs };
    let mut rows: Vec<Equation> = relaxation.rhs.iter().map(full).collect();
    for class in 0..relaxation.scale.len() {
        let held: Vec<usize> = relaxation.pairs(class).filter(|&pair| shares[pair] > 0.0).collect();
        for &pair in &held {
            for (row, load) in relaxation.rows_of(pair).zip(relaxation.loads_of(pair)) {
                rows[row].terms.push((pair, load * relaxation.scale[class]));
            }
            let cap = relaxation.cap[pair] * relaxation.scale[class];
            if held.len() > 1 && (cap * shares[pair] - 1.0).abs() < NEAR {
                equations.push(Equation { terms: vec![(pair, cap)], sum: 1.0 });
            }
        }
        equations.push(Equation { terms: held.iter().map(|&pair| (pair, 1.0)).collect(), sum: 1.0 });
    }
    rows.retain(|row| {
        let used: f64 = row.terms.iter().map(|&(pair, factor)| factor * shares[pair]).sum();
        (used - row.sum).abs() < 10.0 * NEAR
    });
    equations.extend(rows);
    equations
}
