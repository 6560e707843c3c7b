//! Rows: what the counts of every plan keep.

use crate::check::TOLERANCE;
use crate::solver::model::Model;
use crate::solver::relax::{Cut, RowPrices};

/// What rounding can have done to sums of numbers that are not negative, as a share. Far more than it does.
const ROUNDED: f64 = 1e-11;
/// How many devices of a type that the proof says nothing of may be added to the counts before the row is slack.
const LIFTED: [f64; 6] = [2.0, 1.0, 0.5, 0.2, 0.05, 0.0];

/// The sum of `each * count` is at least `needed` in every plan.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::solver) struct Row {
    /// Worth of a device of each type; not negative.
    pub(in crate::solver) each: Vec<f64>,
    /// What all classes are worth.
    pub(in crate::solver) needed: f64,
}

impl Row {
    /// Whether these counts are too small by this row.
    pub(in crate::solver) fn excludes(&self, counts: &[u32]) -> bool {
        self.worth(counts) < self.needed
    }

    fn worth(&self, counts: &[u32]) -> f64 {
        self.each.iter().zip(counts).map(|(each, &count)| each * f64::from(count)).sum()
    }
}

/// The rows found so far.
pub(in crate::solver) struct Rows {
    pub(in crate::solver) all: Vec<Row>,
    /// Prices of the range of all counts: where those of types begin that a proof says nothing of.
    known: RowPrices,
    /// Types of which there can be devices.
    usable: Vec<bool>,
}

impl Rows {
    /// The row of the prices of the relaxation of all counts; `None` if they are not those of all usable types.
    pub(in crate::solver) fn new(model: &Model, usable: Vec<bool>, prices: &RowPrices) -> Option<Self> {
        let complete = prices.len() == model.types.len()
            && prices
                .iter()
                .zip(&model.types)
                .zip(&usable)
                .all(|((prices, one), usable)| !usable || prices.len() == one.rows);
        if !complete {
            return None;
        }
        let mut rows = Self { all: Vec::new(), known: prices.clone(), usable };
        // Types without rows cost nothing at these prices.
        let caps: Vec<Vec<f64>> =
            model.types.iter().map(|one| vec![0.0; if one.rows == 0 { model.classes } else { 0 }]).collect();
        rows.all.extend(rows.row(model, prices, &caps));
        for class in 0..model.classes {
            let row = rows.of_class(model, class);
            if !rows.all.contains(&row) {
                rows.all.push(row);
            }
        }
        let mut sets: Vec<Vec<bool>> = Vec::new();
        for class in 0..model.classes {
            let set: Vec<bool> =
                model.types.iter().zip(&rows.usable).map(|(one, usable)| one.allowed[class] && *usable).collect();
            if set != rows.usable && !sets.contains(&set) {
                let priced = |(prices, held): (&Vec<f64>, &bool)| {
                    prices.iter().map(|price| if *held { *price } else { 0.0 }).collect()
                };
                let prices: RowPrices = prices.iter().zip(&set).map(priced).collect();
                rows.all.extend(rows.row(model, &prices, &caps));
                sets.push(set);
            }
        }
        Some(rows)
    }

    /// That there are devices enough for a class by itself: as many of a type as it needs, or parts of them together.
    fn of_class(&self, model: &Model, class: usize) -> Row {
        let worth = |at: usize| {
            let one = &model.types[at];
            let most = one.loads_of(class).iter().fold(one.caps[class], |most, &load| most.max(load));
            // No count is worth more than all that is needed.
            if self.usable[at] && one.allowed[class] { 1.0 / most.max(1.0) } else { 0.0 }
        };
        let each = (0..model.types.len()).map(|at| worth(at) * (1.0 + ROUNDED)).collect();
        Row { each, needed: 1.0 / (1.0 + TOLERANCE) }
    }

    /// Adds the row of a proof that these counts are too small. False if no row with all types excludes them.
    pub(in crate::solver) fn add(&mut self, model: &Model, counts: &[u32], cut: &Cut) -> bool {
        let before = self.row(model, &cut.row_prices, &cut.cap_prices);
        let Some(violated) = before.map(|row| row.needed - row.worth(counts)) else { return false };
        for lifted in LIFTED {
            let (prices, caps) = self.lift(model, counts, cut, lifted);
            let Some(row) = self.row(model, &prices, &caps) else { continue };
            let enough = row.needed - row.worth(counts) >= 0.5 * violated || lifted == 0.0;
            if enough && row.excludes(counts) {
                self.all.push(row);
                return true;
            }
        }
        false
    }

    /// The row at these prices; types that have none count as if there were no devices of them.
    fn row(&self, model: &Model, prices: &[Vec<f64>], caps: &[Vec<f64>]) -> Option<Row> {
        let types = || (0..model.types.len()).filter(|&at| self.usable[at]);
        let price =
            |class: usize| types().map(|at| price(model, prices, caps, class, at)).fold(f64::INFINITY, f64::min);
        let needed: f64 = (0..model.classes).map(price).sum();
        let worth = |at: usize| match self.usable[at] {
            true => (prices[at].iter().sum::<f64>() + caps[at].iter().sum::<f64>()) * (1.0 + ROUNDED),
            false => 0.0,
        };
        // A load may be above its limit by the tolerance.
        let needed = needed * (1.0 - ROUNDED) / (1.0 + TOLERANCE);
        (needed > 0.0 && needed.is_finite()).then(|| Row { each: (0..model.types.len()).map(worth).collect(), needed })
    }

    /// Prices of the types that a proof says nothing of, such that classes worth `devices` of them are cheapest there:
    /// that number of devices of a type is then worth what it saves.
    fn lift(&self, model: &Model, counts: &[u32], cut: &Cut, devices: f64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let (mut prices, mut caps) = (cut.row_prices.clone(), cut.cap_prices.clone());
        let silent = |at: usize| self.usable[at] && counts[at] == 0;
        let held: Vec<usize> = (0..model.types.len()).filter(|&at| self.usable[at] && !silent(at)).collect();
        let class_price = |class: usize| {
            held.iter()
                .map(|&at| price(model, &cut.row_prices, &cut.cap_prices, class, at))
                .fold(f64::INFINITY, f64::min)
        };
        let class_prices: Vec<f64> = (0..model.classes).map(class_price).collect();
        for at in (0..model.types.len()).filter(|&at| silent(at)) {
            let known = &self.known[at];
            let each: f64 = known.iter().sum();
            let one = &model.types[at];
            let cost =
                |class: usize| one.loads_of(class).iter().zip(known).map(|(load, price)| load * price).sum::<f64>();
            let classes = (0..model.classes).filter(|&class| one.allowed[class] && class_prices[class] > 0.0);
            let mut ratios: Vec<(f64, f64)> =
                classes.map(|class| (class_prices[class] / cost(class), cost(class))).collect();
            if ratios.iter().any(|(ratio, _)| !ratio.is_finite()) || each <= 0.0 {
                // Prices of rows cannot keep some classes off this type: prices of caps can.
                caps[at] = (0..model.classes)
                    .map(|class| cap_price(one.caps[class], one.allowed[class], class_prices[class]))
                    .collect();
                prices[at] = vec![0.0; one.rows];
                continue;
            }
            ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (mut room, mut factor) = (devices * each, 0.0);
            for (ratio, cost) in ratios {
                room -= cost;
                if room <= 0.0 {
                    factor = ratio;
                    break;
                }
            }
            prices[at] = known.iter().map(|price| price * factor).collect();
        }
        (prices, caps)
    }
}

fn cap_price(cap: f64, allowed: bool, class_price: f64) -> f64 {
    if allowed && class_price > 0.0 { class_price / cap.max(1.0) } else { 0.0 }
}

/// What a class costs on a type at these prices.
fn price(model: &Model, prices: &[Vec<f64>], caps: &[Vec<f64>], class: usize, at: usize) -> f64 {
    let one = &model.types[at];
    if !one.allowed[class] || prices[at].is_empty() && caps[at].is_empty() {
        return f64::INFINITY;
    }
    let rows: f64 = one.loads_of(class).iter().zip(&prices[at]).map(|(load, price)| load * price).sum();
    // A share needs a device of the type, also where no resource says so.
    rows + caps[at].get(class).map_or(0.0, |price| price * one.caps[class].max(1.0))
}
