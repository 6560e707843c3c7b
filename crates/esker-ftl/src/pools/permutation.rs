//! A random order that takes no memory.

use esker_core::Rng;
use esker_nand::Divisor;

/// Rounds of mixing. Four rounds make the order indistinguishable from a random one (Luby and Rackoff 1988).
const ROUNDS: usize = 4;

/// A permutation of the numbers below a bound: a Feistel network over two digits with different bases. If its output is
/// out of range, it is applied again.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    keys: [u64; ROUNDS],
    /// Base of the upper digit.
    rows: u32,
    /// Base of the lower digit.
    columns: Divisor,
    count: u32,
}

impl Permutation {
    /// A random permutation of the numbers below `count`, which is at least 1.
    pub(crate) fn new(rng: &mut Rng, count: u32) -> Self {
        let columns = f64::from(count).sqrt().ceil() as u32;
        let rows = count.div_ceil(columns);
        Self { keys: std::array::from_fn(|_| rng.next_u64()), rows, columns: Divisor::new(columns), count }
    }

    /// Returns the bound.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number at position `index`, which is below the bound.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let columns = self.columns.get();
        let (mut upper, mut lower) = self.columns.divide(index);
        loop {
            for pair in self.keys.chunks_exact(2) {
                upper += below(mix(pair[0], lower), self.rows);
                upper -= if upper >= self.rows { self.rows } else { 0 };
                lower += below(mix(pair[1], upper), columns);
                lower -= if lower >= columns { columns } else { 0 };
            }
            let number = upper * columns + lower;
            if number < self.count {
                return number;
            }
        }
    }
}

/// Mixes key and digit into 32 bits, each of which depends on every input bit.
#[inline(always)]
fn mix(key: u64, digit: u32) -> u32 {
    let mixed = (key ^ u64::from(digit)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
}

/// Scales `bits` to a number below `bound`.
#[inline(always)]
fn below(bits: u32, bound: u32) -> u32 {
    ((u64::from(bits) * u64::from(bound)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once() {
        for count in [1, 2, 3, 7, 10, 64, 1000, 4097, 99_991] {
            let order = Permutation::new(&mut Rng::new(u64::from(count)), count);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                assert!(!std::mem::replace(&mut seen[order.at(index) as usize], true), "{count}: {index}");
            }
        }
    }

    /// Neighbours are as far apart as in a random order, and no position prefers a part of the numbers.
    #[test]
    fn the_order_is_random() {
        let count = 60_000;
        let order = Permutation::new(&mut Rng::new(5), count);
        let numbers: Vec<f64> = (0..count).map(|index| f64::from(order.at(index)) / f64::from(count)).collect();
        // The mean distance of independent uniform numbers is 1/3, with a standard deviation of 0.236 each.
        for lag in [1, 2, 245, 246] {
            let far = numbers.iter().zip(&numbers[lag..]).map(|(one, other)| (one - other).abs()).sum::<f64>();
            let mean = far / (f64::from(count) - lag as f64);
            assert!((mean - 1.0 / 3.0).abs() < 0.004, "{lag}: {mean}");
        }
        // Sixteen parts of the positions by sixteen parts of the numbers: chi-square with 225 degrees of freedom,
        // deviation 21.
        let mut cells = [[0.0; 16]; 16];
        for (index, number) in numbers.iter().enumerate() {
            cells[index * 16 / count as usize][(number * 16.0) as usize] += 1.0;
        }
        let expected = f64::from(count) / 256.0;
        let chi: f64 = cells.iter().flatten().map(|cell: &f64| (cell - expected).powi(2) / expected).sum();
        assert!((140.0..310.0).contains(&chi), "{chi}");
    }
}
