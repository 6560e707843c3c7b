//! A dense symmetric matrix, factored.

/// A symmetric matrix, of which the lower triangle is kept row by row. Its first rows belong to a positive definite
/// block and its last ones to a negative definite block, so that it can be factored without exchanging rows
/// (Vanderbei 1995).
pub struct Matrix {
    order: usize,
    /// Order of the positive definite block.
    positive: usize,
    values: Vec<f64>,
    /// The matrix's own values, before it was factored: what a solution is corrected against.
    original: Vec<f64>,
}

impl Matrix {
    /// One of zeroes, with blocks of these orders.
    pub fn new(positive: usize, negative: usize) -> Self {
        let order = positive + negative;
        Self { order, positive, values: vec![0.0; order * order], original: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// The part of a row up to its diagonal.
    #[inline]
    pub fn row(&mut self, at: usize) -> &mut [f64] {
        &mut self.values[at * self.order..at * self.order + at + 1]
    }

    /// Factors the matrix into L D L^T. A pivot that is too small or of the wrong sign, as rounding makes it where a
    /// row depends on others, is made so large that its unknown becomes 0.
    pub fn factor(&mut self) {
        self.original.clone_from(&self.values);
        let order = self.order;
        for row in 0..order {
            let (above, rest) = self.values.split_at_mut(row * order);
            let current = &mut rest[..=row];
            // L D first, in place.
            for column in 0..row {
                let known = &above[column * order..column * order + column];
                current[column] -= dot(known, &current[..column]);
            }
            let scale = current[row].abs();
            let mut pivot = current[row];
            for column in 0..row {
                let scaled = current[column] / above[column * order + column];
                pivot -= scaled * current[column];
                current[column] = scaled;
            }
            let sign = if row < self.positive { 1.0 } else { -1.0 };
            current[row] = if pivot * sign > 1e-15 * scale && pivot * sign > 1e-300 { pivot } else { sign * 1e128 };
        }
    }

    /// Solves for the right-hand side, with one correction of what rounding left.
    pub fn solve(&self, rhs: &mut [f64], first: &mut [f64], residual: &mut [f64]) {
        first.copy_from_slice(rhs);
        self.substitute(first);
        residual.copy_from_slice(rhs);
        for row in 0..self.order {
            let values = &self.original[row * self.order..row * self.order + row + 1];
            for (column, value) in values[..row].iter().enumerate() {
                residual[row] -= value * first[column];
                residual[column] -= value * first[row];
            }
            residual[row] -= values[row] * first[row];
        }
        self.substitute(residual);
        for ((result, a), b) in rhs.iter_mut().zip(&*first).zip(&*residual) {
            *result = a + b;
        }
    }

    fn substitute(&self, x: &mut [f64]) {
        let order = self.order;
        for row in 0..order {
            let values = &self.values[row * order..row * order + row];
            x[row] -= dot(values, &x[..row]);
        }
        for (row, value) in x.iter_mut().enumerate() {
            *value /= self.values[row * order + row];
        }
        for row in (0..order).rev() {
            let value = x[row];
            for (column, factor) in self.values[row * order..row * order + row].iter().enumerate() {
                x[column] -= factor * value;
            }
        }
    }
}

/// The inner product, in four sums that are independent of each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours, others) = (a.chunks_exact(4).zip(b.chunks_exact(4)), a.len() / 4 * 4);
    let mut sums = [0.0; 4];
    for (a, b) in fours {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = a[others..].iter().zip(&b[others..]).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn a_solution_solves_its_equations() {
        // [4 1 2; 1 3 -1; 2 -1 -5]: two positive rows, one negative.
        let rows = [[4.0, 0.0, 0.0], [1.0, 3.0, 0.0], [2.0, -1.0, -5.0]];
        let mut matrix = Matrix::new(2, 1);
        for (at, row) in rows.iter().enumerate() {
            matrix.row(at).copy_from_slice(&row[..=at]);
        }
        matrix.factor();
        let mut x = [1.0, 2.0, 3.0];
        matrix.solve(&mut x, &mut [0.0; 3], &mut [0.0; 3]);
        let product = [4.0 * x[0] + x[1] + 2.0 * x[2], x[0] + 3.0 * x[1] - x[2], 2.0 * x[0] - x[1] - 5.0 * x[2]];
        for (found, expected) in product.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-14, "{product:?}");
        }
    }
}
