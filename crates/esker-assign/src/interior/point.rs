//! A point between the bounds: shares, counts and prices with their slacks.

use crate::relaxation::{NONE, Relaxation};

/// All variables of a relaxation and of its dual. The product of each variable with its slack goes to 0.
#[derive(Clone, Default)]
pub struct Point {
    /// Shares of pairs, and how much dearer than the cheapest each is.
    pub(super) share: Vec<f64>,
    pub(super) excess: Vec<f64>,
    /// Room under the cap of each pair, and its price.
    pub(super) cap_room: Vec<f64>,
    pub(super) cap_price: Vec<f64>,
    /// Price of each class.
    pub(super) class_price: Vec<f64>,
    /// Room and price of each row.
    pub(super) row_room: Vec<f64>,
    pub(super) row_price: Vec<f64>,
    /// Room and price of each total.
    pub(super) total_room: Vec<f64>,
    pub(super) total_price: Vec<f64>,
    /// Count of each group, and the prices of its bounds.
    pub(super) count: Vec<f64>,
    pub(super) min_price: Vec<f64>,
    pub(super) max_price: Vec<f64>,
}

impl Point {
    pub(super) fn zero(relaxation: &Relaxation) -> Self {
        let zeros = |length: usize| vec![0.0; length];
        let (pairs, rows) = (relaxation.cap.len(), relaxation.rhs.len());
        let (totals, groups) = (relaxation.totals.len(), relaxation.groups.len());
        Self {
            share: zeros(pairs),
            excess: zeros(pairs),
            cap_room: zeros(pairs),
            cap_price: zeros(pairs),
            class_price: zeros(relaxation.scale.len()),
            row_room: zeros(rows),
            row_price: zeros(rows),
            total_room: zeros(totals),
            total_price: zeros(totals),
            count: zeros(groups),
            min_price: zeros(groups),
            max_price: zeros(groups),
        }
    }

    /// A point at these prices of rows and these counts whose products are all `product`. Prices and shares keep their
    /// equations; rooms need not.
    pub(super) fn at(relaxation: &Relaxation, row_price: &[f64], count: &[f64], product: f64) -> Self {
        let mut point = Self::zero(relaxation);
        point.row_price.copy_from_slice(row_price);
        point.count.copy_from_slice(count);
        point.row_room = row_price.iter().map(|price| product / price).collect();
        for (pair, _) in relaxation.cap.iter().enumerate().filter(|(_, cap)| **cap > 0.0) {
            let group = relaxation.type_group[relaxation.pair_type[pair]];
            let count = if group == NONE { relaxation.type_count[relaxation.pair_type[pair]] } else { count[group] };
            point.cap_room[pair] = count;
            point.cap_price[pair] = product / point.cap_room[pair];
        }
        for class in 0..relaxation.scale.len() {
            point.place(relaxation, class, product);
        }
        for (at, total) in relaxation.totals.iter().enumerate() {
            let used: f64 = total.per_group.iter().zip(count).map(|(each, count)| each * count).sum();
            let room = (total.limit - used).max(0.05 * (total.limit.abs() + used)).max(f64::MIN_POSITIVE);
            (point.total_room[at], point.total_price[at]) = (room, product / room);
        }
        let unpriced = point.unpriced_costs(relaxation);
        for (at, (group, unpriced)) in relaxation.groups.iter().zip(unpriced).enumerate() {
            let least = product / (group.max - group.min);
            point.min_price[at] = unpriced.max(0.0) + least;
            point.max_price[at] = (-unpriced).max(0.0) + least;
        }
        point
    }

    /// The point in a relaxation that has more pairs, without caps: those that it lacks get small shares, and classes
    /// that were settled begin as if there were no point.
    pub fn with_pairs(self, from: &Relaxation, to: &Relaxation) -> Self {
        let product = self.mean_product(from);
        let pairs = to.cap.len();
        let zeros = || vec![0.0; pairs];
        let (share, excess) = (zeros(), zeros());
        let mut point = Self { share, excess, cap_room: zeros(), cap_price: zeros(), ..self.clone() };
        point.class_price = vec![0.0; to.scale.len()];
        let mut before = from.classes.iter().enumerate().peekable();
        for (class, number) in to.classes.iter().enumerate() {
            let Some((old, _)) = before.next_if(|(_, old)| *old == number) else {
                point.place(to, class, product);
                continue;
            };
            // A class is scaled by what it needs at least, which pairs that are added can make less.
            let scale = to.scale[class] / from.scale[old];
            point.class_price[class] = self.class_price[old] / scale;
            let mut known = from.pairs(old).peekable();
            for pair in to.pairs(class) {
                if let Some(old) = known.next_if(|&old| from.pair_type[old] == to.pair_type[pair]) {
                    (point.share[pair], point.excess[pair]) = (self.share[old] * scale, self.excess[old] / scale);
                } else {
                    let above = to.worth(pair, &point.row_price) - point.class_price[class];
                    let excess = above.max(0.02 * point.class_price[class].abs()).max(f64::MIN_POSITIVE);
                    point.excess[pair] = excess;
                    point.share[pair] = (product / excess).min(0.1 * to.scale[class]);
                }
            }
        }
        point
    }

    /// Sets the price of a class so that its shares, each `product` divided by its excess, add up.
    fn place(&mut self, relaxation: &Relaxation, class: usize, product: f64) {
        let pairs = relaxation.pairs(class);
        for pair in pairs.clone() {
            self.excess[pair] = relaxation.worth(pair, &self.row_price) + relaxation.cap[pair] * self.cap_price[pair];
        }
        let least = self.excess[pairs.clone()].iter().copied().fold(f64::INFINITY, f64::min);
        let scale = relaxation.scale[class];
        // The cheapest pair's excess is at least this. The sum falls as it grows, and ever more slowly: steps of
        // Newton's method come nearer from below.
        let mut first = product / scale;
        for _ in 0..40 {
            let (mut sum, mut slope) = (0.0, 0.0);
            for excess in &self.excess[pairs.clone()] {
                let inverse = 1.0 / (excess - least + first);
                (sum, slope) = (sum + inverse, slope + inverse * inverse);
            }
            let further = (product * sum - scale) / (product * slope);
            if further.is_nan() || further <= 1e-12 * first {
                break;
            }
            first += further;
        }
        self.class_price[class] = least - first;
        let sum: f64 = self.excess[pairs.clone()].iter().map(|one| product / (one - least + first)).sum();
        for pair in pairs {
            self.excess[pair] += first - least;
            self.share[pair] = product / self.excess[pair] * (scale / sum);
        }
    }

    /// Of each group, the part of its cost that prices do not pay.
    pub(super) fn unpriced_costs(&self, relaxation: &Relaxation) -> Vec<f64> {
        let mut unpriced: Vec<f64> = relaxation.groups.iter().map(|group| group.cost).collect();
        for (&group, price) in relaxation.row_group.iter().zip(&self.row_price).filter(|(group, _)| **group != NONE) {
            unpriced[group] -= price;
        }
        if relaxation.has_caps {
            for (&index, price) in relaxation.pair_type.iter().zip(&self.cap_price) {
                if relaxation.type_group[index] != NONE {
                    unpriced[relaxation.type_group[index]] -= price;
                }
            }
        }
        for (total, price) in relaxation.totals.iter().zip(&self.total_price) {
            for (unpriced, each) in unpriced.iter_mut().zip(&total.per_group) {
                *unpriced += each * price;
            }
        }
        unpriced
    }

    /// Mean product of a variable with its slack.
    pub(super) fn mean_product(&self, relaxation: &Relaxation) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let caps = if relaxation.has_caps { relaxation.cap.iter().filter(|cap| **cap > 0.0).count() } else { 0 };
        let bounds = relaxation.groups.iter().enumerate().map(|(at, group)| {
            (self.count[at] - group.min) * self.min_price[at] + (group.max - self.count[at]) * self.max_price[at]
        });
        let sum = dot(&self.share, &self.excess)
            + dot(&self.cap_room, &self.cap_price)
            + dot(&self.row_room, &self.row_price)
            + dot(&self.total_room, &self.total_price)
            + bounds.sum::<f64>();
        let products = self.share.len() + caps + self.row_room.len() + self.total_room.len() + 2 * self.count.len();
        sum / products as f64
    }

    /// The point after steps of these lengths.
    pub(super) fn moved(&self, direction: &Self, primal: f64, dual: f64) -> Self {
        let go = |values: &[f64], changes: &[f64], length: f64| -> Vec<f64> {
            values.iter().zip(changes).map(|(value, change)| value + length * change).collect()
        };
        Self {
            share: go(&self.share, &direction.share, primal),
            excess: go(&self.excess, &direction.excess, dual),
            cap_room: go(&self.cap_room, &direction.cap_room, primal),
            cap_price: go(&self.cap_price, &direction.cap_price, dual),
            class_price: go(&self.class_price, &direction.class_price, dual),
            row_room: go(&self.row_room, &direction.row_room, primal),
            row_price: go(&self.row_price, &direction.row_price, dual),
            total_room: go(&self.total_room, &direction.total_room, primal),
            total_price: go(&self.total_price, &direction.total_price, dual),
            count: go(&self.count, &direction.count, primal),
            min_price: go(&self.min_price, &direction.min_price, dual),
            max_price: go(&self.max_price, &direction.max_price, dual),
        }
    }
}
