//! The linear programme over shares and fractional counts, in the layout in which it is solved.
//!
//! For types that are still in question (`a`), rows `m` of each (one for each resource), classes `j`:
//! - all of a class is placed: the sum over `a` of `x[a,j]` is `scale[j]`,
//! - rows: the sum over `j` of `loads[m,j] * x[a,j]` is at most `rhs[m]` and the count of the row's group,
//! - caps: `cap[a,j] * x[a,j]` is at most the count of the type,
//! - totals: the sum over groups of `per_group[k] * y[k]` is at most `limit`,
//! - `y[k]` is between `min[k]` and `max[k]`; the sum of `cost[k] * y[k]` is to be as small as possible.
//!
//! A group is a type whose count is not known. To find out whether given counts will do, all types are one group:
//! loads are then shares of all devices of a type, and `y` is how full the fullest is. Shares are scaled by what the
//! class needs, so that all loads are near 1 however small a class is.

use super::model::{CountRange, Model};

/// No group: the count is known.
pub(super) const NONE: usize = usize::MAX;

#[derive(Default)]
pub(super) struct Relaxation {
    /// The types in question, as numbers in the model.
    pub(super) types: Vec<usize>,
    /// First row of each of these types; one more at the end.
    pub(super) first_row: Vec<usize>,
    /// Group of each of these types, or [`NONE`].
    pub(super) type_group: Vec<usize>,
    /// Count of types without a group, 0 with one.
    pub(super) type_count: Vec<f64>,
    pub(super) row_group: Vec<usize>,
    pub(super) rhs: Vec<f64>,
    pub(super) groups: Vec<Group>,
    pub(super) totals: Vec<GroupTotal>,
    /// The classes whose shares are to be found, as numbers in the model.
    pub(super) classes: Vec<usize>,
    /// The other classes, each with the type that holds all of it: their loads are taken from `rhs`.
    pub(super) settled: Vec<(usize, usize)>,
    pub(super) scale: Vec<f64>,
    /// First pair of each of these classes; one more at the end.
    pub(super) first_pair: Vec<usize>,
    /// Of each pair: its type (an index into `types`), where its loads begin, and its cap (0 for none).
    pub(super) pair_type: Vec<usize>,
    pub(super) pair_load: Vec<usize>,
    pub(super) cap: Vec<f64>,
    pub(super) loads: Vec<f64>,
    pub(super) has_caps: bool,
    /// Size of a price, where the search for prices begins.
    pub(super) typical_cost: f64,
}

/// A count that is to be found.
pub(super) struct Group {
    pub(super) cost: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// A limit over all groups.
pub(super) struct GroupTotal {
    pub(super) per_group: Vec<f64>,
    pub(super) limit: f64,
}

/// How the pairs of a type are turned into rows.
struct TypeUse {
    group: usize,
    count: f64,
    /// Loads are divided by this.
    divisor: f64,
}

impl Relaxation {
    /// Fractional counts within a range. `None` if there is no plan in the range whatever the counts.
    pub(super) fn of_range(model: &Model, range: &CountRange, every_cap: bool) -> Option<Self> {
        let allowed = |at: usize, class: usize| model.types[at].allowed[class];
        Self::of(model, range, every_cap, &allowed)
    }

    /// The relaxation with those pairs of a type and a class alone for which `pairs` is true; all of them are allowed.
    /// Nothing has caps.
    pub(super) fn of_pairs(model: &Model, range: &CountRange, pairs: &dyn Fn(usize, usize) -> bool) -> Option<Self> {
        Self::of(model, range, false, pairs)
    }

    fn of(model: &Model, range: &CountRange, every_cap: bool, pairs: &dyn Fn(usize, usize) -> bool) -> Option<Self> {
        let mut relaxation = Self::default();
        let mut uses = Vec::new();
        for (at, one) in model.types.iter().enumerate() {
            let (min, max) = (f64::from(range.min[at]), f64::from(range.max[at]));
            if max == 0.0 {
                continue;
            }
            relaxation.types.push(at);
            if min < max {
                uses.push(TypeUse { group: relaxation.groups.len(), count: 0.0, divisor: 1.0 });
                relaxation.groups.push(Group { cost: one.cost, min, max });
            } else {
                uses.push(TypeUse { group: NONE, count: min, divisor: 1.0 });
            }
        }
        for total in &model.totals {
            let mut left = GroupTotal { per_group: vec![0.0; relaxation.groups.len()], limit: total.limit };
            for (&at, one) in relaxation.types.iter().zip(&uses) {
                match one.group {
                    NONE => left.limit -= total.per_device[at] * one.count,
                    group => left.per_group[group] = total.per_device[at],
                }
            }
            relaxation.totals.push(left);
        }
        let costs = relaxation.types.iter().map(|&at| model.types[at].cost);
        relaxation.typical_cost = costs.fold(0.0, f64::max);
        relaxation.add_pairs(model, &uses, every_cap, pairs)?;
        Some(relaxation)
    }

    /// How full the fullest devices have to be with these counts: the cost of the only group. `None` if a class has no
    /// type of which there is a device.
    pub(super) fn of_counts(model: &Model, counts: &[u32], pairs: &dyn Fn(usize, usize) -> bool) -> Option<Self> {
        let mut relaxation = Self::default();
        let mut uses = Vec::new();
        for (at, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            relaxation.types.push(at);
            uses.push(TypeUse { group: 0, count: 0.0, divisor: f64::from(count) });
        }
        relaxation.groups.push(Group { cost: 1.0, min: 0.0, max: 1.0 });
        relaxation.typical_cost = 1.0;
        relaxation.add_pairs(model, &uses, false, pairs)?;
        // What each class needs by itself, together, is more than enough.
        let worst = |pair: usize| relaxation.loads_of(pair).iter().fold(relaxation.cap[pair], |a, &b| a.max(b));
        let all: f64 = (0..relaxation.scale.len())
            .map(|class| relaxation.scale[class] * relaxation.pairs(class).map(worst).fold(0.0, f64::max))
            .sum();
        let settled: f64 = relaxation.rhs.iter().map(|rhs| -rhs).sum();
        relaxation.groups[0].max = 2.0 * (all + settled) + 1.0;
        Some(relaxation)
    }

    fn add_pairs(
        &mut self,
        model: &Model,
        uses: &[TypeUse],
        every_cap: bool,
        pairs: &dyn Fn(usize, usize) -> bool,
    ) -> Option<()> {
        for (&at, one) in self.types.iter().zip(uses) {
            self.first_row.push(self.rhs.len());
            self.type_group.push(one.group);
            self.type_count.push(one.count);
            self.row_group.extend(std::iter::repeat_n(one.group, model.types[at].rows));
            self.rhs.extend(std::iter::repeat_n(one.count, model.types[at].rows));
        }
        self.first_row.push(self.rhs.len());
        for class in 0..model.classes {
            let first = self.pair_type.len();
            let mut scale = f64::INFINITY;
            for (index, (&at, one)) in self.types.iter().zip(uses).enumerate() {
                let device_type = &model.types[at];
                if !pairs(at, class) {
                    continue;
                }
                let first_load = self.loads.len();
                self.loads.extend(device_type.loads_of(class).iter().map(|load| load / one.divisor));
                // A share is at most 1, and needs a whole device.
                let cap = device_type.caps[class].max(if every_cap { 1.0 } else { 0.0 }) / one.divisor;
                let most = self.loads[first_load..].iter().fold(0.0f64, |most, &load| most.max(load));
                scale = scale.min(if most > 0.0 { most } else { cap });
                self.pair_type.push(index);
                self.pair_load.push(first_load);
                self.cap.push(cap);
            }
            match self.pair_type.len() - first {
                0 => return None,
                1 if self.cap[first] == 0.0 => {
                    self.settle(class);
                    continue;
                }
                _ => {}
            }
            self.classes.push(class);
            self.scale.push(scale);
            self.first_pair.push(first);
            self.loads[self.pair_load[first]..].iter_mut().for_each(|load| *load /= scale);
            self.cap[first..].iter_mut().for_each(|cap| *cap /= scale);
        }
        self.first_pair.push(self.pair_type.len());
        self.has_caps = self.cap.iter().any(|&cap| cap > 0.0);
        Some(())
    }

    /// Takes the last pair away, and its loads from the rows: it holds all of the class.
    fn settle(&mut self, class: usize) {
        let (Some(index), Some(first_load)) = (self.pair_type.pop(), self.pair_load.pop()) else { return };
        self.cap.pop();
        self.settled.push((class, self.types[index]));
        for (rhs, load) in self.rhs[self.first_row[index]..].iter_mut().zip(self.loads.drain(first_load..)) {
            *rhs -= load;
        }
    }

    /// What the devices of types whose count is known cost.
    pub(super) fn known_cost(&self, model: &Model) -> f64 {
        let known = self.types.iter().zip(self.type_group.iter().zip(&self.type_count));
        known.filter(|(_, (group, _))| **group == NONE).map(|(&at, (_, count))| model.types[at].cost * count).sum()
    }

    /// The pairs of a class.
    pub(super) fn pairs(&self, class: usize) -> std::ops::Range<usize> {
        self.first_pair[class]..self.first_pair[class + 1]
    }

    /// The rows of a pair's type.
    pub(super) fn rows_of(&self, pair: usize) -> std::ops::Range<usize> {
        let index = self.pair_type[pair];
        self.first_row[index]..self.first_row[index + 1]
    }

    /// The loads of a pair, in the order of the rows of its type.
    pub(super) fn loads_of(&self, pair: usize) -> &[f64] {
        let first = self.pair_load[pair];
        &self.loads[first..first + self.rows_of(pair).len()]
    }

    /// Prices of rows from those of the model's types, each times `factor` of its type. `None` if a type has none.
    pub(super) fn row_prices(&self, prices: &[Vec<f64>], factor: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
        let known = self.types.iter().flat_map(|&at| prices[at].iter().map(move |price| (at, price)));
        let known: Vec<f64> = known.map(|(at, price)| price * factor(at)).collect();
        (known.len() == self.rhs.len() && known.iter().sum::<f64>() > 0.0).then_some(known)
    }

    /// What a pair costs at these prices of rows.
    pub(super) fn worth(&self, pair: usize, prices: &[f64]) -> f64 {
        self.loads_of(pair).iter().zip(&prices[self.rows_of(pair)]).map(|(load, price)| load * price).sum()
    }

    /// The smallest counts of the groups that shares from 0 to 1 fit into.
    pub(super) fn counts_needed(&self, shares: &[f64]) -> Vec<f64> {
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
    pub(super) fn lacking(&self, shares: &[f64], counts: &[f64]) -> Vec<f64> {
        let rows = self.used(shares).into_iter().zip(self.row_group.iter().zip(&self.rhs));
        rows.map(|(used, (&group, rhs))| used - rhs - counts.get(group).unwrap_or(&0.0)).collect()
    }

    /// Whether shares from 0 to 1 fit into the counts that are known.
    pub(super) fn fits_known_counts(&self, shares: &[f64], tolerance: f64) -> bool {
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
