//! Relaxations against another linear programme solver, and bounds where coefficients are far apart.

use microlp::{ComparisonOp, OptimizationDirection};

use super::model::Model;
use super::relax::{Goal, relax};
use crate::check::check;
use crate::instances::InstanceSettings;
use crate::problem::{Problem, Sharing};
use crate::solver::{Outcome, SolverSettings, keep_going, solve};

/// The least cost with fractional counts.
fn reference(problem: &Problem) -> f64 {
    let mut programme = microlp::Problem::new(OptimizationDirection::Minimize);
    let counts: Vec<_> = problem.types.iter().map(|one| programme.add_var(one.cost, (0.0, f64::INFINITY))).collect();
    let shares: Vec<Vec<_>> =
        problem.classes.iter().map(|_| counts.iter().map(|_| programme.add_var(0.0, (0.0, 1.0))).collect()).collect();
    for shares in &shares {
        let all: Vec<_> = shares.iter().map(|&share| (share, 1.0)).collect();
        programme.add_constraint(&all, ComparisonOp::Eq, 1.0);
    }
    for (at, one) in problem.types.iter().enumerate() {
        for resource in &one.resources {
            let terms = shares.iter().zip(&resource.loads).map(|(shares, &load)| (shares[at], load));
            let room = (counts[at], -resource.per_device);
            if resource.sharing == Sharing::PerClass {
                for term in terms {
                    programme.add_constraint([term, room], ComparisonOp::Le, 0.0);
                }
            } else {
                let terms: Vec<_> = terms.chain([room]).collect();
                programme.add_constraint(&terms, ComparisonOp::Le, 0.0);
            }
        }
    }
    programme.solve().unwrap().into_solution().unwrap().objective()
}

#[test]
fn relaxations_cost_what_another_solver_finds() {
    for seed in 0..20 {
        let (classes, types) = [(5, 2), (20, 4), (33, 5), (50, 5)][seed as usize % 4];
        let mut problem = InstanceSettings { classes, types, ..InstanceSettings::PAPER }.problem(seed);
        if seed % 3 == 0 {
            problem.types[0].resources[1].sharing = Sharing::PerClass;
        }
        let (model, range) = Model::new(&problem);
        let goal = Goal { every_cap: false, cutoff: f64::INFINITY, tolerance: 1e-8 };
        let relaxed = relax(&model, &range, goal, None);
        let (cost, expected) = (relaxed.best.unwrap().cost, reference(&problem));
        assert!((cost - expected).abs() <= 1e-6 * expected, "seed {seed}: {cost}, not {expected}");
        assert!(relaxed.bound <= expected * (1.0 + 1e-9), "seed {seed}: {} above {expected}", relaxed.bound);
        assert!(relaxed.bound >= expected * (1.0 - 1e-6), "seed {seed}: {} below {expected}", relaxed.bound);
        // Caps on all shares can only raise the bound, to at most what whole counts cost.
        let capped = relax(&model, &range, Goal { every_cap: true, ..goal }, None);
        let settings = SolverSettings { gap: 1e-4, ..SolverSettings::default() };
        let Ok(Outcome::Planned(solution)) = solve(&problem, &settings, &mut keep_going) else { panic!("no plan") };
        assert!(capped.bound >= relaxed.bound * (1.0 - 1e-6) && capped.bound <= solution.cost * (1.0 + 1e-9));
    }
}

/// Loads from a billionth of a device to hundreds, in one problem.
#[test]
fn bounds_and_checks_hold_where_loads_are_far_apart() {
    for seed in 0..8 {
        let settings = InstanceSettings { classes: 200, types: 6, devices: 800.0, decades: 11.0, resources: 4 };
        let problem = settings.problem(seed);
        let loads = problem.types.iter().flat_map(|one| &one.resources).flat_map(|resource| &resource.loads);
        let (least, most) =
            loads.fold((f64::INFINITY, 0.0f64), |(least, most), &load| (least.min(load), most.max(load)));
        assert!(least < 1e-9 && most > 100.0, "{least} to {most}");
        let Ok(Outcome::Planned(solution)) = solve(&problem, &SolverSettings::default(), &mut keep_going) else {
            panic!("no plan")
        };
        let checked = check(&problem, &solution.plan).unwrap();
        assert!(!solution.stopped_early && solution.gap() <= 1e-3 && checked.cost == solution.cost);
        // In units that differ by powers of two nothing is rounded: the same costs and counts.
        let mut other = problem.clone();
        for (at, resource) in other.types.iter_mut().flat_map(|one| &mut one.resources).enumerate() {
            let unit = 2f64.powi(at as i32 % 7 * 9 - 27);
            resource.per_device *= unit;
            resource.loads.iter_mut().for_each(|load| *load *= unit);
        }
        let Ok(Outcome::Planned(same)) = solve(&other, &SolverSettings::default(), &mut keep_going) else {
            panic!("no plan")
        };
        assert_eq!((same.cost, same.bound, same.plan), (solution.cost, solution.bound, solution.plan));
    }
}

/// Whatever the prices are, no plan is below the bound.
#[test]
fn a_bound_holds_for_any_prices() {
    use super::relaxation::relaxation_of_range;
    use esker_assign::{Prices, bound};
    let mut rng = esker_core::Rng::new(5);
    for seed in 0..20 {
        let problem = InstanceSettings { classes: 12, types: 4, ..InstanceSettings::PAPER }.problem(seed);
        let (model, range) = Model::new(&problem);
        let relaxation = relaxation_of_range(&model, &range, true).unwrap();
        let expected = reference(&problem);
        let Ok(Outcome::Planned(solution)) = solve(&problem, &SolverSettings::default(), &mut keep_going) else {
            panic!("no plan")
        };
        for _ in 0..100 {
            let mut prices = |length: usize, size: f64| -> Vec<f64> {
                (0..length).map(|_| if rng.chance(1, 3) { 0.0 } else { size * rng.exponential(1.0) }).collect()
            };
            let rows = prices(relaxation.rhs.len(), relaxation.typical_cost);
            let caps = prices(relaxation.cap.len(), 0.1 * relaxation.typical_cost);
            let at_any = bound(&relaxation, Prices { rows: &rows, caps: &caps, totals: &[] });
            assert!(at_any <= solution.cost, "{at_any} above {}", solution.cost);
            let without_caps = vec![0.0; caps.len()];
            let at_any = bound(&relaxation, Prices { rows: &rows, caps: &without_caps, totals: &[] });
            assert!(at_any <= expected * (1.0 + 1e-9), "{at_any} above {expected}");
        }
    }
}

/// Ranges in which some counts are known, and far too small for the shares that the search begins with.
#[test]
fn narrow_ranges_are_bounded_as_closely_as_wide_ones() {
    let mut narrowed = 0;
    for seed in 0..4 {
        let settings = InstanceSettings { classes: 400, ..InstanceSettings::LARGE };
        let problem = settings.problem(seed);
        let (model, range) = Model::new(&problem);
        let goal = Goal { every_cap: false, cutoff: f64::INFINITY, tolerance: 1e-5 };
        let whole = relax(&model, &range, goal, None);
        let counts = whole.best.unwrap().counts;
        for at in (0..counts.len()).filter(|&at| counts[at] > 1.0) {
            let mut narrow = range.clone();
            for (max, (other, count)) in narrow.max.iter_mut().zip(counts.iter().enumerate()) {
                *max = if other == at { count.floor() as u32 } else { count.ceil() as u32 + 1 };
            }
            narrow.min[at] = narrow.max[at];
            for known in [None, Some(&whole.row_prices)] {
                let part = relax(&model, &narrow, goal, known);
                let best = part.best.unwrap().cost;
                assert!(part.bound >= whole.bound * (1.0 - 1e-5) && best - part.bound <= 2e-5 * best, "seed {seed}");
                narrowed += 1;
            }
        }
    }
    assert!(narrowed > 10, "{narrowed}");
}

/// Relaxations with the cheapest pairs of each class, against those with all of them, and what their prices say of
/// other ranges.
#[test]
fn relaxations_of_near_pairs_are_those_of_all_pairs() {
    use super::near::{can_be_near, relax_near};
    let mut looked_at = 0;
    for seed in 0..4 {
        let problem = InstanceSettings { classes: 300, types: 10, ..InstanceSettings::LARGE }.problem(seed);
        let (model, range) = Model::new(&problem);
        assert!(can_be_near(&model));
        let all = Goal { every_cap: false, cutoff: f64::INFINITY, tolerance: 1e-6 };
        let whole = relax(&model, &range, all, None);
        let (counts, mut cuts) = (whole.best.unwrap().counts, Vec::new());
        for at in (0..counts.len()).filter(|&at| counts[at] > 0.5) {
            for fewer in [true, false] {
                let mut part = range.clone();
                if fewer {
                    part.max[at] = counts[at].floor() as u32
                } else {
                    part.min[at] = counts[at].ceil() as u32
                }
                let expected = relax(&model, &part, all, None);
                let cost = expected.best.unwrap().cost;
                let goal = Goal { cutoff: 1.02 * cost, tolerance: 1e-5, ..all };
                let near = relax_near(&model, &part, goal, &whole.row_prices);
                assert!(near.bound <= cost * (1.0 + 1e-9), "seed {seed}, type {at}: {} above {cost}", near.bound);
                let apart = near.best.unwrap().cost - near.bound;
                assert!(
                    apart <= (1e-5 * cost).max(0.11 * (goal.cutoff - near.bound)),
                    "seed {seed}, type {at}: {apart}"
                );
                cuts.push(near.cut.unwrap());
                for cut in &cuts {
                    assert!(cut.bound(&model, &part) <= cost * (1.0 + 1e-9), "seed {seed}, type {at}");
                }
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}

/// Placements that begin with the cheapest pairs, against those of all pairs.
#[test]
fn placements_of_near_pairs_are_those_of_all_pairs() {
    use super::near::place_near;
    use super::relax::{Effort, Fit, place};
    let mut rng = esker_core::Rng::new(7);
    let (mut fit, mut too_small) = (0, 0);
    for seed in 0..4 {
        let problem = InstanceSettings { classes: 300, types: 10, ..InstanceSettings::LARGE }.problem(seed);
        let (model, range) = Model::new(&problem);
        let goal = Goal { every_cap: false, cutoff: f64::INFINITY, tolerance: 1e-6 };
        let whole = relax(&model, &range, goal, None);
        let counts = whole.best.unwrap().counts;
        for _ in 0..20 {
            let near: Vec<u32> = counts.iter().map(|count| (count + rng.unit()) as u32).collect();
            let expected = place(&model, &near, Effort::AnyThatFits, None);
            match (place_near(&model, &near, &whole.row_prices), expected) {
                (Fit::Fits(shares), Fit::Fits(_)) => {
                    check(&problem, &crate::check::Plan { counts: near, shares }).unwrap();
                    fit += 1;
                }
                (Fit::TooSmall(Some(cut)), Fit::TooSmall(_)) => {
                    assert!(cut.excludes(&near));
                    too_small += 1;
                }
                (Fit::Unclear, _) => {}
                _ => panic!("seed {seed}: {near:?} both fit and do not"),
            }
        }
    }
    assert!(fit > 10 && too_small > 10, "{fit} fit, {too_small} are too small");
}

/// Two devices that are both full, each with a class that can be on no other.
#[test]
fn shares_are_made_exact_beside_what_is_settled() {
    use super::polish::polish;
    use super::relaxation::relaxation_of_counts;
    use crate::problem::{DataClass, DeviceType, Resource};
    let classes = ["first", "second", "shared"].map(|name| DataClass { name: name.into(), bytes: 1.0 }).to_vec();
    let one =
        |name: &str, loads: [f64; 3]| DeviceType::new(name, 1.0, vec![Resource::summed("room", 1.0, loads.into())]);
    let types = vec![one("a", [0.4, 0.4, 1.0]), one("b", [0.5, 0.5, 1.25])];
    let (model, _) = Model::new(&Problem { classes, types, ..Problem::default() });
    let pairs = |at: usize, class: usize| class == 2 || class == at;
    let relaxation = relaxation_of_counts(&model, &[1, 1], &pairs).unwrap();
    assert_eq!(relaxation.settled, [(0, 0), (1, 1)]);
    let shares = polish(&relaxation, &[0.600_004, 0.399_997]).unwrap();
    for (share, exact) in shares.iter().zip([0.6, 0.4]) {
        assert!((share - exact).abs() < 1e-12, "{shares:?}");
    }
}
