//! An assignment in units in which all numbers are near 1, as the interior point method wants them.

use super::{Assignment, RowLimit, Solution};
use crate::relaxation::{Group, NONE, Relaxation};

/// What loads no row with more than this, as a share, loads nothing.
const NOTHING: f64 = 1e-100;

/// The relaxation of an assignment in units of its own.
pub(super) struct Scaled {
    pub(super) relaxation: Relaxation,
    cost_unit: f64,
}

/// A row in units of its own.
#[derive(Clone, Copy)]
struct Row {
    group: usize,
    rhs: f64,
    unit: f64,
}

impl Scaled {
    /// `None` if a class fits nowhere, or a limit is below 0.
    pub(super) fn new(problem: &Assignment) -> Option<Self> {
        let limits = limits(problem);
        if limits.iter().any(|limit| matches!(limit, RowLimit::Constant(most) if *most < 0.0)) {
            return None;
        }
        let usable = usable_pairs(problem, &limits);
        let (even, all) = row_loads(problem, &usable)?;
        let mut relaxation = Relaxation::new();
        // Of each group: its unit, and its number in the relaxation.
        let mut groups = Vec::new();
        for (number, &(cost, max)) in problem.groups.iter().enumerate() {
            let needed = |loads: &[f64]| most_needed(&limits, loads, number);
            let unit = [needed(&even), needed(&all)].into_iter().find(|unit| *unit > 0.0).unwrap_or(1.0);
            groups.push((unit, relaxation.groups.len()));
            if !is_constant(cost, max) {
                // More than all classes need is as good as no limit.
                let max = (max / unit).min(2.0 * needed(&all) / unit + 1.0);
                relaxation.groups.push(Group { cost: cost * unit, min: 0.0, max });
            }
        }
        let costs: f64 = relaxation.groups.iter().map(|group| group.cost).sum();
        let cost_unit = if costs > 0.0 { costs } else { 1.0 };
        relaxation.groups.iter_mut().for_each(|group| group.cost /= cost_unit);
        relaxation.typical_cost = 1.0;
        let in_units = |limit: &RowLimit| match *limit {
            RowLimit::Constant(most) if most > 0.0 => Row { group: NONE, rhs: 1.0, unit: most },
            RowLimit::Constant(_) => Row { group: NONE, rhs: 0.0, unit: 1.0 },
            RowLimit::Group(number, more) => {
                let (unit, group) = groups[number];
                Row { group, rhs: more / unit, unit }
            }
        };
        let rows: Vec<Row> = limits.iter().map(in_units).collect();
        add_classes(&mut relaxation, problem, &rows, &usable);
        Some(Self { relaxation, cost_unit })
    }

    /// What shares of all pairs cost; `None` if they exceed a limit by more than the tolerance.
    pub(super) fn cost(&self, shares: &[f64], tolerance: f64) -> Option<f64> {
        let needed = self.relaxation.counts_needed(shares);
        let groups = || self.relaxation.groups.iter().zip(&needed);
        let fits = groups().all(|(group, needed)| *needed <= group.max * (1.0 + tolerance));
        let fits = fits && self.relaxation.fits_known_counts(shares, tolerance);
        fits.then(|| groups().map(|(group, needed)| group.cost * needed).sum())
    }

    /// More than all shares that fit cost, but for rounding.
    pub(super) fn dearest(&self) -> f64 {
        self.relaxation.groups.iter().map(|group| group.cost * group.max).sum()
    }

    /// Shares and bound of the relaxation as those of the assignment.
    pub(super) fn solution(&self, problem: &Assignment, shares: &[f64], bound: f64) -> Solution {
        let relaxation = &self.relaxation;
        let mut by_device = vec![vec![0.0; problem.row_ends.len()]; problem.pair_ends.len()];
        for (index, &class) in relaxation.classes.iter().enumerate() {
            for pair in relaxation.pairs(index) {
                by_device[class][relaxation.pair_type[pair]] = shares[pair];
            }
        }
        for &(class, device) in &relaxation.settled {
            by_device[class][device] = 1.0;
        }
        let mut used = vec![0.0; problem.rows.len()];
        for (class, shares) in by_device.iter().enumerate() {
            for pair in problem.pairs_of(class) {
                problem.loads_of(pair).for_each(|(row, load)| used[row] += load * shares[problem.pairs[pair].0]);
            }
        }
        let groups: Vec<f64> =
            (0..problem.groups.len()).map(|number| most_needed(&problem.rows, &used, number)).collect();
        let cost = problem.groups.iter().zip(&groups).map(|((cost, _), quantity)| cost * quantity).sum();
        Solution { shares: by_device, groups, cost, bound: bound * self.cost_unit }
    }
}

/// The limits of all rows, in which groups that can only be 0, or that may be as large as can be, are constants.
fn limits(problem: &Assignment) -> Vec<RowLimit> {
    let limit = |&limit: &RowLimit| match limit {
        RowLimit::Group(number, more) => match problem.groups[number] {
            (cost, max) if is_constant(cost, max) => RowLimit::Constant(more + max.max(0.0)),
            _ => limit,
        },
        RowLimit::Constant(_) => limit,
    };
    problem.rows.iter().map(limit).collect()
}

fn is_constant(cost: f64, max: f64) -> bool {
    cost == 0.0 || max <= 0.0
}

/// Whether each pair can hold anything: no row that has no room is loaded.
fn usable_pairs(problem: &Assignment, limits: &[RowLimit]) -> Vec<bool> {
    let has_room = |(row, load): (usize, f64)| load == 0.0 || limits[row] != RowLimit::Constant(0.0);
    (0..problem.pairs.len()).map(|pair| problem.loads_of(pair).all(has_room)).collect()
}

/// What each row is loaded with if all classes are spread evenly, and if all of each is on the row's device. `None` if
/// a class can be nowhere.
fn row_loads(problem: &Assignment, usable: &[bool]) -> Option<(Vec<f64>, Vec<f64>)> {
    let (mut even, mut all) = (vec![0.0; problem.rows.len()], vec![0.0; problem.rows.len()]);
    for class in 0..problem.pair_ends.len() {
        let pairs = || problem.pairs_of(class).filter(|&pair| usable[pair]);
        let number = pairs().count();
        if number == 0 {
            return None;
        }
        for (row, load) in pairs().flat_map(|pair| problem.loads_of(pair)) {
            even[row] += load / number as f64;
            all[row] += load;
        }
    }
    Some((even, all))
}

/// The quantity of a group that rows with these loads need.
fn most_needed(limits: &[RowLimit], loads: &[f64], group: usize) -> f64 {
    let needed = limits.iter().zip(loads).map(|(limit, load)| match limit {
        RowLimit::Group(number, more) if *number == group => load - more,
        _ => 0.0,
    });
    needed.fold(0.0, f64::max)
}

/// Adds devices as types, and the pairs that can hold anything.
fn add_classes(relaxation: &mut Relaxation, problem: &Assignment, rows: &[Row], usable: &[bool]) {
    for device in 0..problem.row_ends.len() {
        relaxation.add_type(device, NONE, 0.0, rows[problem.rows_of(device)].iter().map(|row| (row.group, row.rhs)));
    }
    for class in 0..problem.pair_ends.len() {
        let pairs = || problem.pairs_of(class).filter(|&pair| usable[pair]);
        let loads = |pair: usize| problem.loads_of(pair).map(|(row, load)| load / rows[row].unit);
        // Where a class loads nothing, it costs nothing and leaves all room to others.
        if let Some(pair) = pairs().find(|&pair| loads(pair).all(|load| load <= NOTHING)) {
            relaxation.add_pair(problem.pairs[pair].0, loads(pair), 0.0);
            relaxation.settle_class(class);
            continue;
        }
        for pair in pairs() {
            relaxation.add_pair(problem.pairs[pair].0, loads(pair), 0.0);
        }
        relaxation.add_class(class);
    }
}
