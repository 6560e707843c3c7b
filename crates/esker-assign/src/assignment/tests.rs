//! Assignments whose best shares are known, and random ones against another linear programme solver.

use microlp::{ComparisonOp, OptimizationDirection};
use proptest::prelude::*;

use super::{Assignment, RowLimit, Solution};

/// How near random assignments come to the optimum. Nearly all come within 1e-7 of it. Where times differ by factors of
/// thousands and a device is full, rounding leaves a few at some 1e-6.
const NEAR: f64 = 1e-5;

/// Times of each class on each device, room that each class takes, and the room of each device. Best is what makes the
/// sum of all times, and `largest` times the largest of them, as small as possible.
#[derive(Clone, Debug)]
struct Times {
    /// By class, then by device; `None` where the class may not be.
    times: Vec<Vec<Option<f64>>>,
    sizes: Vec<f64>,
    rooms: Vec<f64>,
    largest: f64,
}

impl Times {
    fn new(times: &[&[f64]], rooms: &[f64], largest: f64) -> Self {
        let times: Vec<Vec<Option<f64>>> =
            times.iter().map(|times| times.iter().map(|&time| Some(time)).collect()).collect();
        Self { sizes: vec![1.0; times.len()], times, rooms: rooms.to_vec(), largest }
    }

    fn assignment(&self) -> Assignment {
        let mut assignment = Assignment::new();
        let longest = assignment.add_group(self.largest, f64::INFINITY);
        for &room in &self.rooms {
            let time = assignment.add_group(1.0, f64::INFINITY);
            let rows = [RowLimit::Group(time, 0.0), RowLimit::Group(longest, 0.0), RowLimit::Constant(room)];
            assignment.add_device(&rows);
        }
        for (times, &size) in self.times.iter().zip(&self.sizes) {
            let on = times.iter().enumerate().filter_map(|(device, time)| Some((device, [(*time)?, (*time)?, size])));
            let on: Vec<(usize, [f64; 3])> = on.collect();
            let on: Vec<(usize, &[f64])> = on.iter().map(|(device, loads)| (*device, &loads[..])).collect();
            assignment.add_class(&on);
        }
        assignment
    }

    fn solve(&self) -> Option<Solution> {
        self.assignment().solve(1e-9)
    }

    /// What these shares cost. They have to keep all limits.
    fn cost(&self, shares: &[Vec<f64>]) -> f64 {
        let mut times = vec![0.0; self.rooms.len()];
        let mut held = times.clone();
        for ((shares, of_class), size) in shares.iter().zip(&self.times).zip(&self.sizes) {
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|&share| share >= 0.0));
            for (device, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                times[device] += share * of_class[device].expect("a share where the class may not be");
                held[device] += share * size;
            }
        }
        for (held, room) in held.iter().zip(&self.rooms) {
            assert!(*held <= room * (1.0 + 1e-8), "{held} where there is room for {room}");
        }
        times.iter().sum::<f64>() + self.largest * times.iter().copied().fold(0.0, f64::max)
    }

    /// The least cost; `None` if the classes do not fit.
    fn reference(&self) -> Option<f64> {
        let mut programme = microlp::Problem::new(OptimizationDirection::Minimize);
        let longest = programme.add_var(self.largest, (0.0, f64::INFINITY));
        let mut rows = vec![(vec![], vec![]); self.rooms.len()];
        for (times, &size) in self.times.iter().zip(&self.sizes) {
            let mut all = Vec::new();
            for (device, time) in times.iter().enumerate().filter_map(|(device, time)| Some((device, (*time)?))) {
                let share = programme.add_var(time, (0.0, 1.0));
                all.push((share, 1.0));
                rows[device].0.push((share, time));
                rows[device].1.push((share, size));
            }
            programme.add_constraint(&all, ComparisonOp::Eq, 1.0);
        }
        for ((mut times, held), &room) in rows.into_iter().zip(&self.rooms) {
            times.push((longest, -1.0));
            programme.add_constraint(&times, ComparisonOp::Le, 0.0);
            programme.add_constraint(&held, ComparisonOp::Le, room);
        }
        match programme.solve() {
            Ok(outcome) => Some(outcome.into_solution().expect("no limit on time").objective()),
            Err(microlp::Error::Infeasible) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}, not {expected:?}");
}

/// With many to serve at a time, what counts is that no device is busy longer than the others.
#[test]
fn a_class_is_spread_until_times_are_equal() {
    let found = Times::new(&[&[1.0, 3.0]], &[1.0, 1.0], 1e3).solve().unwrap();
    assert_near(&found.shares[0], &[0.75, 0.25]);
    assert_near(&found.groups, &[0.75, 0.75, 0.75]);
}

#[test]
fn all_is_on_the_fastest_device_if_only_the_sum_of_times_counts() {
    let found = Times::new(&[&[3.0, 1.0], &[0.2, 0.1]], &[2.0, 2.0], 0.0).solve().unwrap();
    assert_near(&[found.cost, found.bound], &[1.1, 1.1]);
    for shares in &found.shares {
        assert_near(shares, &[0.0, 1.0]);
    }
}

/// The fractional knapsack: what saves most time for its room is on the fast device, and one class is on both.
#[test]
fn the_hottest_classes_fill_the_fast_device() {
    let heats = [5.0, 4.0, 3.0, 2.0, 1.0];
    let times: Vec<[f64; 2]> = heats.iter().map(|heat| [0.1 * heat, *heat]).collect();
    let times: Vec<&[f64]> = times.iter().map(|times| &times[..]).collect();
    let found = Times::new(&times, &[2.5, 10.0], 0.0).solve().unwrap();
    let fast: Vec<f64> = found.shares.iter().map(|shares| shares[0]).collect();
    assert_near(&fast, &[1.0, 1.0, 0.5, 0.0, 0.0]);
}

#[test]
fn devices_can_be_full_to_the_brim() {
    let times = Times::new(&[&[1.0, 5.0], &[2.0, 4.0], &[3.0, 3.0]], &[1.5, 1.5], 0.0);
    let found = times.solve().unwrap();
    assert!((times.cost(&found.shares) - 7.0).abs() < 1e-6, "{found:?}");
    let too_small = Times { rooms: vec![1.5, 1.499], ..times };
    assert_eq!(too_small.solve(), None);
}

#[test]
fn classes_without_loads_are_somewhere() {
    let found = Times { sizes: vec![0.0, 1.0], ..Times::new(&[&[0.0, 0.0], &[1.0, 2.0]], &[1.0, 0.0], 1.0) };
    let found = found.solve().unwrap();
    assert_eq!(found.shares[0].iter().sum::<f64>(), 1.0);
    // The second device has no room at all.
    assert_near(&found.shares[1], &[1.0, 0.0]);
    assert_near(&[found.cost], &[2.0]);
    let nothing = Times { sizes: vec![0.0], ..Times::new(&[&[0.0, 0.0]], &[1.0, 0.0], 1.0) }.solve().unwrap();
    assert_eq!((nothing.cost, nothing.bound), (0.0, 0.0));
    assert_eq!(Assignment::new().solve(1e-6).unwrap().shares, [[0.0; 0]; 0]);
}

#[test]
fn what_fits_nowhere_has_no_solution() {
    assert_eq!(Times::new(&[&[1.0, 2.0]], &[0.0, 0.0], 1.0).solve(), None);
    assert_eq!(Times::new(&[&[1.0, 2.0]], &[1.0, -1.0], 1.0).solve(), None);
    assert_eq!(Times::new(&[&[]], &[1.0, 1.0], 1.0).solve(), None);
}

/// A device that is busy in any case is that much less for the class, and a group can be limited.
#[test]
fn allowances_and_limits_of_groups_count() {
    let solve = |busy: f64, max: f64| {
        let mut assignment = Assignment::new();
        let longest = assignment.add_group(1.0, max);
        for more in [-busy, 0.0] {
            assignment.add_device(&[RowLimit::Group(longest, more)]);
        }
        assignment.add_class(&[(0, &[2.0]), (1, &[2.0])]);
        assignment.solve(1e-9)
    };
    let found = solve(1.0, 2.0).unwrap();
    assert_near(&found.shares[0], &[0.25, 0.75]);
    assert_near(&found.groups, &[1.5]);
    assert_eq!((solve(1.0, 1.4), solve(1.0, 0.0)), (None, None));
    // What is free is used first.
    assert_near(&solve(-4.0, 0.0).unwrap().shares[0], &[1.0, 0.0]);
}

fn times() -> impl Strategy<Value = Times> {
    let time = prop_oneof![4 => (-2.0f64..2.0).prop_map(|power| Some(10f64.powf(power))), 1 => Just(None)];
    (2usize..=4, 1usize..=20).prop_flat_map(move |(devices, classes)| {
        let times = prop::collection::vec(prop::collection::vec(time.clone(), devices), classes);
        let sizes = prop::collection::vec(0.1f64..3.0, classes);
        let rooms = prop::collection::vec(0.1f64..2.0 * classes as f64, devices);
        let largest = prop_oneof![Just(0.0), 0.0f64..10.0, Just(1e3)];
        (times, sizes, rooms, largest).prop_map(|(times, sizes, rooms, largest)| Times { times, sizes, rooms, largest })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the unit of time, which the other solver is not asked to cope with.
    #[test]
    fn assignments_cost_what_another_solver_finds(times in times(), decades in -9i32..9) {
        let unit = 10f64.powi(decades);
        let expected = times.reference().map(|cost| cost * unit);
        let mut times = times;
        times.times.iter_mut().flatten().flatten().for_each(|time| *time *= unit);
        let found = times.solve();
        prop_assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some(expected)) = (found, expected) {
            let cost = times.cost(&found.shares);
            prop_assert!((cost - found.cost).abs() <= 1e-9 * cost, "{} and not {}", found.cost, cost);
            prop_assert!((cost - expected).abs() <= NEAR * expected, "{} and not {}", cost, expected);
            prop_assert!(found.bound <= expected * (1.0 + 1e-9), "{} above {}", found.bound, expected);
            prop_assert!(found.bound >= expected * (1.0 - NEAR), "{} below {}", found.bound, expected);
        }
    }
}
