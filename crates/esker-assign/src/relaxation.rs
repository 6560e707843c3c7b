//! The linear programme over shares and fractional counts, in the layout in which it is solved.
//!
//! For types that are still in question (`a`), rows `m` of each (one for each resource), classes `j`:
//! - all of a class is placed: the sum over `a` of `x[a,j]` is `scale[j]`,
//! - rows: the sum over `j` of `loads[m,j] * x[a,j]` is at most `rhs[m]` and the count of the row's group,
//! - caps: `cap[a,j] * x[a,j]` is at most the count of the type,
//! - totals: the sum over groups of `per_group[k] * y[k]` is at most `limit`,
//! - `y[k]` is between `min[k]` and `max[k]`; the sum of `cost[k] * y[k]` is to be as small as possible.
//!
//! A type is a device, or several that are alike, with the rows that limit what it holds. Shares are scaled by what the
//! class needs, so that all loads are near 1 however small a class is.

/// No group: the count is known.
pub const NONE: usize = usize::MAX;

/// One programme. Types are added first, then each class with its pairs.
#[derive(Clone, Debug)]
pub struct Relaxation {
    /// The types in question, as their owner numbers them.
    pub types: Vec<usize>,
    /// First row of each of these types; one more at the end.
    pub first_row: Vec<usize>,
    /// Group whose count caps of each of these types share, or [`NONE`].
    pub type_group: Vec<usize>,
    /// Count of types without a group, 0 with one.
    pub type_count: Vec<f64>,
    /// Group of each row, or [`NONE`].
    pub row_group: Vec<usize>,
    /// What each row has beside the count of its group.
    pub rhs: Vec<f64>,
    /// The counts to be found.
    pub groups: Vec<Group>,
    /// Limits over all groups.
    pub totals: Vec<GroupTotal>,
    /// The classes whose shares are to be found, as their owner numbers them, in ascending order.
    pub classes: Vec<usize>,
    /// The other classes, each with the type that holds all of it: their loads are taken from `rhs`.
    pub settled: Vec<(usize, usize)>,
    /// What each class needs at least: its shares add up to this.
    pub scale: Vec<f64>,
    /// First pair of each of these classes; one more at the end.
    pub first_pair: Vec<usize>,
    /// Of each pair: its type (an index into `types`).
    pub pair_type: Vec<usize>,
    /// Of each pair: where its loads begin.
    pub pair_load: Vec<usize>,
    /// Of each pair: its cap, 0 for none.
    pub cap: Vec<f64>,
    /// Loads of all pairs.
    pub loads: Vec<f64>,
    /// Whether any pair has a cap.
    pub has_caps: bool,
    /// Size of a price, where the search for prices begins.
    pub typical_cost: f64,
}

/// A count that is to be found.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Cost of one.
    pub cost: f64,
    /// The smallest count.
    pub min: f64,
    /// The largest count, above the smallest.
    pub max: f64,
}

/// A limit over all groups.
#[derive(Clone, Debug)]
pub struct GroupTotal {
    /// What one of each group takes of the limit.
    pub per_group: Vec<f64>,
    /// The limit.
    pub limit: f64,
}

impl Default for Relaxation {
    fn default() -> Self {
        Self::new()
    }
}

impl Relaxation {
    /// One without types and classes.
    pub fn new() -> Self {
        Self {
            types: Vec::new(),
            first_row: vec![0],
            type_group: Vec::new(),
            type_count: Vec::new(),
            row_group: Vec::new(),
            rhs: Vec::new(),
            groups: Vec::new(),
            totals: Vec::new(),
            classes: Vec::new(),
            settled: Vec::new(),
            scale: Vec::new(),
            first_pair: vec![0],
            pair_type: Vec::new(),
            pair_load: Vec::new(),
            cap: Vec::new(),
            loads: Vec::new(),
            has_caps: false,
            typical_cost: 0.0,
        }
    }

    /// Adds a type, which has this number. Its caps are limited by a group or by a count, each of its rows by the
    /// group and the constant that `rows` gives.
    pub fn add_type(&mut self, number: usize, group: usize, count: f64, rows: impl IntoIterator<Item = (usize, f64)>) {
        self.types.push(number);
        self.type_group.push(group);
        self.type_count.push(count);
        for (group, rhs) in rows {
            self.row_group.push(group);
            self.rhs.push(rhs);
        }
        self.first_row.push(self.rhs.len());
    }

    /// Adds a pair to the class that is added next: an index into `types`, what all of the class loads each row of
    /// that type with, and its cap.
    pub fn add_pair(&mut self, index: usize, loads: impl IntoIterator<Item = f64>, cap: f64) {
        self.pair_type.push(index);
        self.pair_load.push(self.loads.len());
        self.loads.extend(loads);
        self.cap.push(cap);
    }

    /// Adds the class of the pairs that were added last, and scales these. Each has a load or a cap.
    pub fn add_class(&mut self, number: usize) {
        let pairs = self.first_pair[self.scale.len()]..self.cap.len();
        let mut scale = f64::INFINITY;
        for pair in pairs.clone() {
            let most = self.loads_of(pair).iter().fold(0.0f64, |most, &load| most.max(load));
            scale = scale.min(if most > 0.0 { most } else { self.cap[pair] });
        }
        self.classes.push(number);
        self.scale.push(scale);
        self.loads[self.pair_load[pairs.start]..].iter_mut().for_each(|load| *load /= scale);
        self.cap[pairs.clone()].iter_mut().for_each(|cap| *cap /= scale);
        self.has_caps |= self.cap[pairs.clone()].iter().any(|&cap| cap > 0.0);
        self.first_pair.push(pairs.end);
    }

    /// Takes the pair away that was added last, and its loads from the rows: it holds all of the class.
    pub fn settle_class(&mut self, number: usize) {
        let (Some(index), Some(first_load)) = (self.pair_type.pop(), self.pair_load.pop()) else { return };
        self.cap.pop();
        self.settled.push((number, self.types[index]));
        for (rhs, load) in self.rhs[self.first_row[index]..].iter_mut().zip(self.loads.drain(first_load..)) {
            *rhs -= load;
        }
    }

    /// The pairs of a class.
    pub fn pairs(&self, class: usize) -> std::ops::Range<usize> {
        self.first_pair[class]..self.first_pair[class + 1]
    }

    /// The rows of a pair's type.
    pub fn rows_of(&self, pair: usize) -> std::ops::Range<usize> {
        let index = self.pair_type[pair];
        self.first_row[index]..self.first_row[index + 1]
    }

    /// The loads of a pair, in the order of the rows of its type.
    pub fn loads_of(&self, pair: usize) -> &[f64] {
        let first = self.pair_load[pair];
        &self.loads[first..first + self.rows_of(pair).len()]
    }

    /// What a pair costs at these prices of rows.
    pub fn worth(&self, pair: usize, prices: &[f64]) -> f64 {
        self.loads_of(pair).iter().zip(&prices[self.rows_of(pair)]).map(|(load, price)| load * price).sum()
    }

    /// The smallest counts of the groups that shares from 0 to 1 fit into.
    pub fn counts_needed(&self, shares: &[f64]) -> Vec<f64> {
        let mut needed: Vec<f64> = self.groups.iter().map(|group| group.min).collect();
        for (used, (&group, rhs)) in self.used(shares).iter().zip(self.row_group.iter().zip(&self.rhs)) {
            if group != NONE {
                needed[group] = needed[group].max(used - rhs);
            }
        }
        self.for_caps(shares, |index, used| {
            if self.type_group[index] != NONE {
                needed[self.type_group[index]] = needed[self.type_group[index]].max(used);
            }
        });
        needed
    }

    /// By how much shares from 0 to 1 use more of each row than these counts of groups have.
    pub fn lacking(&self, shares: &[f64], counts: &[f64]) -> Vec<f64> {
        let rows = self.used(shares).into_iter().zip(self.row_group.iter().zip(&self.rhs));
        rows.map(|(used, (&group, rhs))| used - rhs - counts.get(group).unwrap_or(&0.0)).collect()
    }

    /// Whether shares from 0 to 1 fit into the counts that are known.
    pub fn fits_known_counts(&self, shares: &[f64], tolerance: f64) -> bool {
        let used = self.used(shares);
        let mut fits = used
            .iter()
            .zip(self.row_group.iter().zip(&self.rhs))
            .all(|(used, (&group, rhs))| group != NONE || *used <= rhs * (1.0 + tolerance));
        self.for_caps(shares, |index, used| {
            fits &= self.type_group[index] != NONE || used <= self.type_count[index] * (1.0 + tolerance);
        });
        fits
    }

    /// What is used of each row.
    fn used(&self, shares: &[f64]) -> Vec<f64> {
        let mut used = vec![0.0; self.rhs.len()];
        for class in 0..self.scale.len() {
            for pair in self.pairs(class) {
                let amount = shares[pair] * self.scale[class];
                for (row, load) in self.rows_of(pair).zip(self.loads_of(pair)) {
                    used[row] += load * amount;
                }
            }
        }
        used
    }

    /// Calls `see` with the type and what its cap asks of each capped pair.
    fn for_caps(&self, shares: &[f64], mut see: impl FnMut(usize, f64)) {
        if !self.has_caps {
            return;
        }
        for class in 0..self.scale.len() {
            for pair in self.pairs(class) {
                see(self.pair_type[pair], self.cap[pair] * shares[pair] * self.scale[class]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NONE, Relaxation};

    #[test]
    fn what_is_settled_is_taken_from_rows() {
        let mut relaxation = Relaxation::new();
        relaxation.add_type(7, NONE, 1.0, [(NONE, 1.0), (NONE, 4.0)]);
        relaxation.add_type(9, NONE, 1.0, [(NONE, 2.0)]);
        relaxation.add_pair(0, [0.25, 1.0], 0.0);
        relaxation.settle_class(0);
        relaxation.add_pair(0, [1.0, 2.0], 0.0);
        relaxation.add_pair(1, [4.0], 0.0);
        relaxation.add_class(1);
        assert_eq!((&*relaxation.rhs, &*relaxation.settled), (&[0.75, 3.0, 2.0][..], &[(0, 7)][..]));
        // The class is scaled by the least that it needs.
        assert_eq!((&*relaxation.classes, &*relaxation.scale), (&[1][..], &[2.0][..]));
        assert_eq!((relaxation.loads_of(0), relaxation.loads_of(1)), (&[0.5, 1.0][..], &[2.0][..]));
        // Three quarters of the first row are left, and half the class fills less than that.
        assert!(relaxation.fits_known_counts(&[0.5, 0.5], 0.0) && !relaxation.fits_known_counts(&[0.8, 0.2], 0.0));
    }
}
