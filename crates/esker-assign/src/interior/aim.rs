//! Where a step aims, and how far it goes.

use super::newton::Newton;
use super::point::Point;
use crate::relaxation::Relaxation;

/// Corrections of a step at most, how much further each has to make it go, and how far products may be from their
/// mean before they are corrected (Gondzio 1996).
const CORRECTIONS_MAX: usize = 3;
const FURTHER: f64 = 0.3;
const LEAST_GAIN: f64 = 0.03;
const SPREAD: f64 = 10.0;

impl Newton {
    /// Sets what each product lacks to be `product`, less what the last direction adds to it by itself if `corrected`.
    pub(super) fn aim(&mut self, relaxation: &Relaxation, point: &Point, product: f64, corrected: bool) {
        let direction = &self.direction;
        let aim = |lack: &mut [f64], [a, b]: [&[f64]; 2], [da, db]: [&[f64]; 2]| {
            for at in 0..lack.len() {
                let second = if corrected { da[at] * db[at] } else { 0.0 };
                lack[at] = product - a[at] * b[at] - second;
            }
        };
        let lack = &mut self.product_lack;
        aim(&mut lack.share, [&point.share, &point.excess], [&direction.share, &direction.excess]);
        if relaxation.has_caps {
            aim(&mut lack.cap_room, [&point.cap_room, &point.cap_price], [&direction.cap_room, &direction.cap_price]);
        }
        aim(&mut lack.row_room, [&point.row_room, &point.row_price], [&direction.row_room, &direction.row_price]);
        let totals = [&*point.total_room, &*point.total_price];
        aim(&mut lack.total_room, totals, [&direction.total_room, &direction.total_price]);
        for (at, group) in relaxation.groups.iter().enumerate() {
            let (above, below) = (point.count[at] - group.min, group.max - point.count[at]);
            let second = if corrected { direction.count[at] } else { 0.0 };
            lack.min_price[at] = product - above * point.min_price[at] - second * direction.min_price[at];
            lack.max_price[at] = product - below * point.max_price[at] + second * direction.max_price[at];
        }
    }

    /// Corrects the direction as long as it can then be followed further: products that would be far from `product`
    /// after a longer step are brought back. Returns how far the direction can be followed.
    pub(super) fn centre(&mut self, relaxation: &Relaxation, point: &Point, product: f64) -> (f64, f64) {
        let mut lengths = self.lengths(relaxation, point);
        // Rounding can leave nothing to aim at.
        let corrections = if product > 0.0 { CORRECTIONS_MAX } else { 0 };
        for _ in 0..corrections {
            let longer = ((lengths.0 + FURTHER).min(1.0), (lengths.1 + FURTHER).min(1.0));
            let ahead = point.moved(&self.direction, longer.0, longer.1);
            let before = (self.direction.clone(), self.product_lack.clone());
            self.bring_back(relaxation, &ahead, product);
            self.solve(relaxation, point);
            let found = self.lengths(relaxation, point);
            if found.0 + found.1 < lengths.0 + lengths.1 + LEAST_GAIN {
                (self.direction, self.product_lack) = before;
                break;
            }
            lengths = found;
        }
        lengths
    }

    /// Adds to what products lack what brings those of the point ahead near to `product`.
    fn bring_back(&mut self, relaxation: &Relaxation, ahead: &Point, product: f64) {
        let (least, most) = (product / SPREAD, product * SPREAD);
        let change = |found: f64| (found.clamp(least, most) - found).max(-most);
        let add = |lack: &mut [f64], a: &[f64], b: &[f64]| {
            for (lack, (a, b)) in lack.iter_mut().zip(a.iter().zip(b)) {
                *lack += change(a * b);
            }
        };
        let lack = &mut self.product_lack;
        add(&mut lack.share, &ahead.share, &ahead.excess);
        if relaxation.has_caps {
            add(&mut lack.cap_room, &ahead.cap_room, &ahead.cap_price);
        }
        add(&mut lack.row_room, &ahead.row_room, &ahead.row_price);
        add(&mut lack.total_room, &ahead.total_room, &ahead.total_price);
        for (at, group) in relaxation.groups.iter().enumerate() {
            lack.min_price[at] += change((ahead.count[at] - group.min) * ahead.min_price[at]);
            lack.max_price[at] += change((group.max - ahead.count[at]) * ahead.max_price[at]);
        }
    }

    /// How far the direction can be followed before a primal variable or a dual one is 0, at most 1.
    pub(super) fn lengths(&self, relaxation: &Relaxation, point: &Point) -> (f64, f64) {
        let to_zero = |values: &[f64], changes: &[f64]| {
            let mut length = 1.0f64;
            for (value, change) in values.iter().zip(changes) {
                if value + length * change < 0.0 {
                    length = -value / change;
                }
            }
            length
        };
        let direction = &self.direction;
        let mut primal = to_zero(&point.share, &direction.share)
            .min(to_zero(&point.row_room, &direction.row_room))
            .min(to_zero(&point.total_room, &direction.total_room));
        let mut dual = to_zero(&point.excess, &direction.excess)
            .min(to_zero(&point.row_price, &direction.row_price))
            .min(to_zero(&point.total_price, &direction.total_price))
            .min(to_zero(&point.min_price, &direction.min_price))
            .min(to_zero(&point.max_price, &direction.max_price));
        if relaxation.has_caps {
            primal = primal.min(to_zero(&point.cap_room, &direction.cap_room));
            dual = dual.min(to_zero(&point.cap_price, &direction.cap_price));
        }
        for (at, group) in relaxation.groups.iter().enumerate() {
            let change = direction.count[at];
            let room = if change < 0.0 { point.count[at] - group.min } else { group.max - point.count[at] };
            if change != 0.0 {
                primal = primal.min(room / change.abs());
            }
        }
        (primal, dual)
    }
}
