//! One step of the interior point method.

use super::factor::Matrix;
use super::point::Point;
use crate::relaxation::{NONE, Relaxation};

/// Work space of the steps: residuals, the reduced matrix and the direction.
pub(super) struct Newton {
    matrix: Matrix,
    /// For each pair: the inverse of its diagonal, and the share of its cap in it.
    weight: Vec<f64>,
    /// Sum of the weights of each class.
    weights: Vec<f64>,
    /// What each equation lacks.
    lack: Point,
    /// What each product lacks, in the place of its first variable (`max_price` for that of the largest count).
    pub(super) product_lack: Point,
    pub(super) direction: Point,
    /// Right-hand side and solution of the reduced equations: rows, totals, groups; then room for solving.
    unknown: [Vec<f64>; 3],
    /// One class's column in the reduced matrix.
    column: Vec<f64>,
    /// What each pair's equation lacks, then less what the direction of the reduced unknowns does to it.
    push: Vec<f64>,
}

/// How much of the way to the nearest bound a step goes.
const STEP: f64 = 0.9995;

impl Newton {
    pub(super) fn new(relaxation: &Relaxation) -> Self {
        let (rows, totals, groups) = (relaxation.rhs.len(), relaxation.totals.len(), relaxation.groups.len());
        let order = rows + totals + groups;
        Self {
            matrix: Matrix::new(rows + totals, groups),
            weight: vec![0.0; relaxation.cap.len()],
            weights: vec![0.0; relaxation.scale.len()],
            lack: Point::zero(relaxation),
            product_lack: Point::zero(relaxation),
            direction: Point::zero(relaxation),
            unknown: std::array::from_fn(|_| vec![0.0; order]),
            column: vec![0.0; order],
            push: vec![0.0; relaxation.cap.len()],
        }
    }

    /// Moves the point: towards the optimum, then corrected towards the middle (Mehrotra 1992). False if no step is
    /// possible.
    pub(super) fn step(&mut self, relaxation: &Relaxation, point: &mut Point) -> bool {
        let mean = point.mean_product(relaxation);
        if !(mean > 0.0 && mean.is_finite()) {
            return false;
        }
        self.measure(relaxation, point);
        self.assemble(relaxation, point);
        self.matrix.factor();
        self.aim(relaxation, point, 0.0, false);
        self.solve(relaxation, point);
        let (primal, dual) = self.lengths(relaxation, point);
        let ahead = point.moved(&self.direction, primal, dual).mean_product(relaxation);
        let centre = (ahead / mean).powi(3).clamp(0.0, 1.0);
        self.aim(relaxation, point, centre * mean, true);
        self.solve(relaxation, point);
        let (primal, dual) = self.centre(relaxation, point, centre * mean);
        let next = point.moved(&self.direction, (STEP * primal).min(1.0), (STEP * dual).min(1.0));
        let good = next.mean_product(relaxation);
        if !(good.is_finite() && primal.max(dual) > 1e-8) {
            return false;
        }
        *point = next;
        true
    }

    /// What the equations lack at the point.
    fn measure(&mut self, relaxation: &Relaxation, point: &Point) {
        let lack = &mut self.lack;
        lack.row_room.copy_from_slice(&relaxation.rhs);
        for class in 0..relaxation.scale.len() {
            lack.class_price[class] = relaxation.scale[class];
            for pair in relaxation.pairs(class) {
                let share = point.share[pair];
                for (row, load) in relaxation.rows_of(pair).zip(relaxation.loads_of(pair)) {
                    lack.row_room[row] -= load * share;
                }
                lack.class_price[class] -= share;
                let cap = relaxation.cap[pair];
                let price = relaxation.worth(pair, &point.row_price) + cap * point.cap_price[pair];
                lack.excess[pair] = point.class_price[class] + point.excess[pair] - price;
                if cap > 0.0 {
                    let index = relaxation.pair_type[pair];
                    let count = match relaxation.type_group[index] {
                        NONE => relaxation.type_count[index],
                        group => point.count[group],
                    };
                    lack.cap_room[pair] = count - cap * share - point.cap_room[pair];
                }
            }
        }
        for (row, &group) in relaxation.row_group.iter().enumerate() {
            let count = if group == NONE { 0.0 } else { point.count[group] };
            lack.row_room[row] += count - point.row_room[row];
        }
        for (at, total) in relaxation.totals.iter().enumerate() {
            let used: f64 = total.per_group.iter().zip(&point.count).map(|(each, count)| each * count).sum();
            lack.total_room[at] = total.limit - used - point.total_room[at];
        }
        for (at, unpriced) in point.unpriced_costs(relaxation).into_iter().enumerate() {
            lack.count[at] = point.min_price[at] - point.max_price[at] - unpriced;
        }
    }

    /// The reduced matrix: rows and totals, then groups.
    fn assemble(&mut self, relaxation: &Relaxation, point: &Point) {
        let (rows, totals) = (relaxation.rhs.len(), relaxation.totals.len());
        self.matrix.clear();
        for row in 0..rows {
            self.matrix.row(row)[row] = point.row_room[row] / point.row_price[row];
            if relaxation.row_group[row] != NONE {
                self.matrix.row(rows + totals + relaxation.row_group[row])[row] = 1.0;
            }
        }
        for (at, total) in relaxation.totals.iter().enumerate() {
            self.matrix.row(rows + at)[rows + at] = point.total_room[at] / point.total_price[at];
            for (group, each) in total.per_group.iter().enumerate() {
                self.matrix.row(rows + totals + group)[rows + at] = -each;
            }
        }
        for (at, group) in relaxation.groups.iter().enumerate() {
            let bounds = point.min_price[at] / (point.count[at] - group.min)
                + point.max_price[at] / (group.max - point.count[at]);
            let place = rows + totals + at;
            self.matrix.row(place)[place] = -bounds;
        }
        for class in 0..relaxation.scale.len() {
            self.add_class(relaxation, point, class);
        }
    }

    /// Adds what a class's shares contribute: of each pair its own block, less what keeps the sum of the shares.
    fn add_class(&mut self, relaxation: &Relaxation, point: &Point, class: usize) {
        let pairs = relaxation.pairs(class);
        self.column.fill(0.0);
        let mut sum = 0.0;
        for pair in pairs.clone() {
            let cap = relaxation.cap[pair];
            let stiffness = if cap > 0.0 { point.cap_price[pair] / point.cap_room[pair] } else { 0.0 };
            let weight = 1.0 / (point.excess[pair] / point.share[pair] + stiffness * cap * cap);
            self.weight[pair] = weight;
            sum += weight;
            for (row, load) in relaxation.rows_of(pair).zip(relaxation.loads_of(pair)) {
                self.column[row] = weight * load;
            }
        }
        self.weights[class] = sum;
        // A class on many types is quicker with the zeroes of the others in between.
        let is_sparse = 2 * pairs.len() < relaxation.types.len();
        for pair in pairs.clone() {
            let weight = self.weight[pair];
            // Not the difference of two large numbers.
            let others = if weight < 0.5 * sum {
                sum - weight
            } else {
                pairs.clone().filter(|&other| other != pair).map(|other| self.weight[other]).sum()
            };
            let own = weight * others / sum;
            let first = relaxation.rows_of(pair).start;
            for (at, load) in relaxation.loads_of(pair).iter().enumerate() {
                let row = self.matrix.row(first + at);
                let factor = weight * load / sum;
                let subtract = |row: &mut [f64], column: &[f64]| {
                    for (value, other) in row.iter_mut().zip(column) {
                        *value -= factor * other;
                    }
                };
                if is_sparse {
                    for rows in (pairs.start..pair).map(|other| relaxation.rows_of(other)) {
                        subtract(&mut row[rows.clone()], &self.column[rows]);
                    }
                } else {
                    subtract(&mut row[..first], &self.column);
                }
                for (value, other) in row[first..].iter_mut().zip(relaxation.loads_of(pair)) {
                    *value += own * load * other;
                }
            }
        }
        if relaxation.has_caps {
            self.add_caps(relaxation, point, class);
        }
    }

    /// Adds what the caps of a class contribute to the equations of groups.
    fn add_caps(&mut self, relaxation: &Relaxation, point: &Point, class: usize) {
        let groups_begin = relaxation.rhs.len() + relaxation.totals.len();
        for pair in relaxation.pairs(class) {
            let (cap, group) = (relaxation.cap[pair], relaxation.type_group[relaxation.pair_type[pair]]);
            if cap == 0.0 || group == NONE {
                continue;
            }
            let stiffness = point.cap_price[pair] / point.cap_room[pair];
            let pull = -stiffness * cap;
            let weight = self.weight[pair];
            let place = groups_begin + group;
            self.column[place] += weight * pull;
            let row = self.matrix.row(place);
            for (at, load) in relaxation.rows_of(pair).zip(relaxation.loads_of(pair)) {
                row[at] += weight * pull * load;
            }
            row[place] += weight * pull * pull - stiffness;
        }
        let sum = self.weights[class];
        for place in groups_begin..groups_begin + relaxation.groups.len() {
            let factor = self.column[place] / sum;
            if factor != 0.0 {
                let row = self.matrix.row(place);
                for (value, other) in row.iter_mut().zip(&self.column) {
                    *value -= factor * other;
                }
            }
        }
    }

    /// What a pair's equation lacks once the slacks of share and cap are eliminated.
    fn pair_lack(&self, relaxation: &Relaxation, point: &Point, pair: usize) -> f64 {
        let base = self.lack.excess[pair] + self.product_lack.share[pair] / point.share[pair];
        let cap = relaxation.cap[pair];
        if cap == 0.0 {
            return base;
        }
        base + cap * point.cap_price[pair] / point.cap_room[pair] * self.cap_lack(point, pair)
    }

    fn cap_lack(&self, point: &Point, pair: usize) -> f64 {
        self.lack.cap_room[pair] - self.product_lack.cap_room[pair] / point.cap_price[pair]
    }

    /// Solves for the direction.
    pub(super) fn solve(&mut self, relaxation: &Relaxation, point: &Point) {
        let mut rhs = std::mem::take(&mut self.unknown[0]);
        self.reduce(relaxation, point, &mut rhs);
        let [_, first, residual] = &mut self.unknown;
        self.matrix.solve(&mut rhs, first, residual);
        self.expand_pairs(relaxation, point, &rhs);
        let (rows, totals) = (relaxation.rhs.len(), relaxation.totals.len());
        let (direction, lack) = (&mut self.direction, &self.product_lack);
        for (row, &price) in rhs[..rows].iter().enumerate() {
            direction.row_price[row] = price;
            direction.row_room[row] = (lack.row_room[row] - point.row_room[row] * price) / point.row_price[row];
        }
        for (at, &price) in rhs[rows..rows + totals].iter().enumerate() {
            direction.total_price[at] = price;
            direction.total_room[at] = (lack.total_room[at] - point.total_room[at] * price) / point.total_price[at];
        }
        for (at, group) in relaxation.groups.iter().enumerate() {
            let change = rhs[rows + totals + at];
            direction.count[at] = change;
            let (above, below) = (point.count[at] - group.min, group.max - point.count[at]);
            direction.min_price[at] = (lack.min_price[at] - point.min_price[at] * change) / above;
            direction.max_price[at] = (lack.max_price[at] + point.max_price[at] * change) / below;
        }
        self.unknown[0] = rhs;
    }

    /// The right-hand side of the reduced equations.
    fn reduce(&mut self, relaxation: &Relaxation, point: &Point, rhs: &mut [f64]) {
        let (rows, totals) = (relaxation.rhs.len(), relaxation.totals.len());
        for (row, value) in rhs[..rows].iter_mut().enumerate() {
            *value = self.product_lack.row_room[row] / point.row_price[row] - self.lack.row_room[row];
        }
        for (at, value) in rhs[rows..rows + totals].iter_mut().enumerate() {
            *value = self.product_lack.total_room[at] / point.total_price[at] - self.lack.total_room[at];
        }
        for (at, group) in relaxation.groups.iter().enumerate() {
            let bounds = self.product_lack.min_price[at] / (point.count[at] - group.min)
                - self.product_lack.max_price[at] / (group.max - point.count[at]);
            rhs[rows + totals + at] = -self.lack.count[at] - bounds;
        }
        for class in 0..relaxation.scale.len() {
            let pairs = relaxation.pairs(class);
            let mut sum = self.lack.class_price[class];
            for pair in pairs.clone() {
                self.push[pair] = self.pair_lack(relaxation, point, pair);
                sum -= self.weight[pair] * self.push[pair];
            }
            let shared = sum / self.weights[class];
            for pair in pairs {
                let change = self.weight[pair] * (self.push[pair] + shared);
                for (row, load) in relaxation.rows_of(pair).zip(relaxation.loads_of(pair)) {
                    rhs[row] += load * change;
                }
                let (cap, group) = (relaxation.cap[pair], relaxation.type_group[relaxation.pair_type[pair]]);
                if cap > 0.0 && group != NONE {
                    let stiffness = point.cap_price[pair] / point.cap_room[pair];
                    rhs[rows + totals + group] += stiffness * (self.cap_lack(point, pair) - cap * change);
                }
            }
        }
    }

    /// The direction of shares, caps and class prices at the solution of the reduced equations.
    fn expand_pairs(&mut self, relaxation: &Relaxation, point: &Point, solution: &[f64]) {
        let groups_begin = relaxation.rhs.len() + relaxation.totals.len();
        let count_change = |pair: usize| match relaxation.type_group[relaxation.pair_type[pair]] {
            NONE => 0.0,
            group => solution[groups_begin + group],
        };
        for class in 0..relaxation.scale.len() {
            let pairs = relaxation.pairs(class);
            let mut sum = self.lack.class_price[class];
            for pair in pairs.clone() {
                let mut push = self.push[pair] - relaxation.worth(pair, solution);
                let cap = relaxation.cap[pair];
                if cap > 0.0 {
                    push += cap * point.cap_price[pair] / point.cap_room[pair] * count_change(pair);
                }
                self.push[pair] = push;
                sum -= self.weight[pair] * push;
            }
            let class_change = sum / self.weights[class];
            self.direction.class_price[class] = class_change;
            for pair in pairs {
                let share = self.weight[pair] * (self.push[pair] + class_change);
                self.direction.share[pair] = share;
                self.direction.excess[pair] =
                    (self.product_lack.share[pair] - point.excess[pair] * share) / point.share[pair];
                let cap = relaxation.cap[pair];
                if cap > 0.0 {
                    let change = cap * share - count_change(pair) - self.cap_lack(point, pair);
                    let price = point.cap_price[pair] / point.cap_room[pair] * change;
                    self.direction.cap_price[pair] = price;
                    self.direction.cap_room[pair] =
                        (self.product_lack.cap_room[pair] - point.cap_room[pair] * price) / point.cap_price[pair];
                }
            }
        }
    }
}
