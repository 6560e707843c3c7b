//! What constraints cost, runners-up, prices at which types enter, clashes and what helps against them.

use std::ops::ControlFlow;

use esker_plan::{
    BreakEven, Clash, Constraint, DataClass, DeviceType, InstanceSettings, Outcome, PairLimit, Problem, Resource,
    SolverSettings, TotalLimit, break_even, check, clash, constraint_costs, keep_going, remedies, runners_up, solve,
};

use crate::small::{self, EXACT};

fn problems() -> impl Iterator<Item = Problem> {
    let seeds = 20_000..20_000 + 200 * u64::from(esker_testkit::soak());
    seeds.map(small::problem).filter(|problem| problem.validate().is_ok())
}

/// 10 TB, of which 1 TB is hot. Disks: 4 TB and 100 operations per second; drives: 1 TB, any number of operations.
fn disks_and_drives() -> Problem {
    let class = |name: &str, bytes: f64| DataClass { name: name.into(), bytes };
    let classes = vec![class("hot", 1e12), class("cold", 9e12)];
    let operations = |per_device: f64| Resource::summed("operations", per_device, vec![1000.0, 20.0]);
    let disk = vec![Resource::capacity(&classes, 4e12, 1.0), operations(100.0)];
    let drive = vec![Resource::capacity(&classes, 1e12, 1.0)];
    let types = vec![DeviceType::new("disk", 100.0, disk), DeviceType::new("drive", 300.0, drive)];
    let totals = vec![TotalLimit { name: "slots".into(), per_device: vec![1.0, 1.0], limit: 20.0 }];
    Problem { classes, types, totals, ..Problem::default() }
}

#[test]
fn constraints_of_a_plan_that_can_be_found_by_hand() {
    let problem = disks_and_drives();
    let solution = small::solution(&problem, &EXACT).unwrap();
    assert_eq!((solution.plan.counts.as_slice(), solution.cost), ([3, 1].as_slice(), 600.0));
    let costs = constraint_costs(&problem, &solution, &EXACT, &mut keep_going).unwrap();
    let by_name = |name: &str| {
        let one = costs.iter().find(|one| one.name == name).unwrap();
        (one.cost_if_looser_10_percent, one.cost_without)
    };
    assert_eq!(by_name("disk: capacity"), (Some(600.0), Some(400.0)));
    // The three disks hold the cold data only; the drive is there for the operations of the hot.
    assert_eq!(by_name("disk: operations"), (Some(600.0), Some(300.0)));
    assert_eq!(by_name("drive: capacity"), (Some(600.0), Some(300.0)));
    assert_eq!(by_name("slots"), (Some(600.0), Some(600.0)));
    let slots = costs.iter().find(|one| one.name == "slots").unwrap();
    assert_eq!(slots.slack, 16.0);
}

#[test]
fn a_looser_constraint_is_never_dearer_and_none_cheaper_still() {
    for problem in problems() {
        let Some(solution) = small::solution(&problem, &EXACT) else { continue };
        for one in constraint_costs(&problem, &solution, &EXACT, &mut keep_going).unwrap() {
            if matches!(one.constraint, Constraint::Installed(_)) {
                assert_eq!(one.cost_if_looser_10_percent, None);
                continue;
            }
            let (looser, without) = (one.cost_if_looser_10_percent.unwrap(), one.cost_without.unwrap());
            let rounding = 1e-8 * solution.cost;
            assert!(looser <= solution.cost && without <= looser + rounding, "{one:?} of {}", solution.cost);
            assert!(one.slack >= -1e-7 * problem.limit(one.constraint).max(1.0) * 10.0, "{one:?}");
        }
    }
}

/// Four disks are there, and one holds all data. The others could go: that saves their electricity, and the one that
/// stays is not bought again.
#[test]
fn devices_that_need_not_stay_cost_what_they_run_for() {
    let mut problem = disks_and_drives();
    problem.classes = vec![DataClass { name: "cold".into(), bytes: 1e12 }];
    problem.types[0].resources = vec![Resource::capacity(&problem.classes, 4e12, 1.0)];
    problem.types[1].resources = vec![Resource::capacity(&problem.classes, 1e12, 1.0)];
    (problem.types[0].installed, problem.types[0].installed_cost) = (4, 10.0);
    let without = |problem: &Problem| {
        let solution = small::solution(problem, &EXACT).unwrap();
        let costs = constraint_costs(problem, &solution, &EXACT, &mut keep_going).unwrap();
        let installed = costs.into_iter().find(|one| one.constraint == Constraint::Installed(0)).unwrap();
        (solution.cost, installed.cost_without)
    };
    assert_eq!(without(&problem), (40.0, Some(10.0)));
    // Where no more are on sale, those that are there may still stay.
    problem.types[0].count_max = Some(4);
    assert_eq!(without(&problem), (40.0, Some(10.0)));
    problem.types[0].installed_cost = 0.0;
    assert_eq!(without(&problem), (0.0, Some(0.0)));
}

/// The cheapest plan of those with each number of devices that may stay.
#[test]
fn a_plan_whose_installed_devices_need_not_stay_is_the_best_with_any_number_of_them() {
    let mut seen = 0;
    for problem in problems() {
        let Some(solution) = small::solution(&problem, &EXACT) else { continue };
        for one in constraint_costs(&problem, &solution, &EXACT, &mut keep_going).unwrap() {
            let Constraint::Installed(at) = one.constraint else { continue };
            let staying = |count: u32| {
                let mut fewer = problem.clone();
                let owner = &mut fewer.types[at];
                owner.count_max = owner.count_max.map(|most| most - (owner.installed - count));
                owner.installed = count;
                small::solution(&fewer, &EXACT).map(|found| found.cost)
            };
            let best = (0..=problem.types[at].installed).filter_map(staying).fold(f64::INFINITY, f64::min);
            let without = one.cost_without.unwrap();
            assert!((without - best).abs() <= 1e-7 * best.max(1.0), "{without} {best}: {one:?}");
            assert!(without <= solution.cost * (1.0 + 1e-9), "{without} {}", solution.cost);
            seen += u32::from(without < solution.cost * 0.999);
        }
    }
    assert!(seen > 0);
}

/// The first runner-up is the cheapest plan without one of the types of the best, and each buys no set of types that
/// contains that of a better plan.
#[test]
fn runners_up_are_the_best_with_other_types() {
    let mut seen = 0;
    for problem in problems() {
        let Some(solution) = small::solution(&problem, &EXACT) else { continue };
        let runners = runners_up(&problem, &solution, 3, &EXACT, &mut keep_going).unwrap();
        let bought = |counts: &[u32]| -> Vec<usize> {
            (0..counts.len()).filter(|&at| counts[at] > problem.types[at].installed).collect()
        };
        let without = bought(&solution.plan.counts).into_iter().filter_map(|at| {
            let mut problem = problem.clone();
            problem.types[at].count_max = Some(problem.types[at].installed);
            small::solution(&problem, &EXACT).map(|solution| solution.cost)
        });
        let cheapest = without.fold(f64::INFINITY, f64::min);
        let first = runners.first().map_or(f64::INFINITY, |runner| runner.cost);
        assert!(first == cheapest || (first - cheapest).abs() <= 1e-8 * cheapest, "{first}, not {cheapest}");
        let all: Vec<_> = std::iter::once(&solution).chain(&runners).collect();
        for (at, runner) in all.iter().enumerate() {
            check(&problem, &runner.plan).unwrap();
            let types = bought(&runner.plan.counts);
            for better in &all[..at] {
                assert!(runner.cost >= better.cost * (1.0 - 1e-8));
                assert!(!bought(&better.plan.counts).iter().all(|one| types.contains(one)));
            }
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn a_type_is_bought_below_its_break_even_price_and_not_above() {
    let mut prices = 0;
    for problem in problems().take(100) {
        if small::solution(&problem, &EXACT).is_none() {
            continue;
        }
        for at in 0..problem.types.len() {
            let bought = |price: f64| {
                let mut problem = problem.clone();
                problem.types[at].cost = price;
                small::solution(&problem, &EXACT).unwrap().plan.counts[at] > problem.types[at].installed
            };
            match break_even(&problem, at, &EXACT, &mut keep_going).unwrap() {
                BreakEven::Price(price) => {
                    assert!(!bought(price * 1.0001 + 1e-6), "{price}");
                    if price > 1e-3 {
                        assert!(bought(price * 0.9999), "{price}");
                        prices += 1;
                    }
                }
                BreakEven::Always => assert!(bought(1e6)),
                BreakEven::Never => assert!(!bought(1e-3)),
                BreakEven::Unknown => panic!("the search was not ended"),
            }
        }
    }
    assert!(prices > 40, "{prices}");
}

fn has_plan(problem: &Problem) -> bool {
    small::solution(problem, &EXACT).is_some()
}

#[test]
fn a_clash_has_no_plan_and_one_constraint_less_has() {
    let (mut clashes, mut remedied) = (0, 0);
    for problem in problems() {
        let found = clash(&problem, &EXACT, &mut keep_going).unwrap();
        let Some(Clash { constraints, irreducible }) = found.clone() else {
            assert!(has_plan(&problem));
            continue;
        };
        clashes += 1;
        assert!(irreducible);
        let others = problem.constraints().into_iter().filter(|one| !constraints.contains(one));
        let alone = others.fold(problem.clone(), |alone, one| alone.without(one));
        assert!(!has_plan(&alone));
        assert!(constraints.iter().all(|&one| has_plan(&alone.without(one))));
        for remedy in remedies(&problem, &found.unwrap(), &EXACT, &mut keep_going).unwrap() {
            let solution = small::solution(&remedy.apply(&problem), &EXACT).unwrap();
            assert!((solution.cost - remedy.cost).abs() <= 1e-8 * solution.cost);
            if let [change] = remedy.changes.as_slice() {
                let less = change.from + (change.to - change.from) * 0.999;
                let less = match change.constraint {
                    Constraint::CountMax(_) => change.to - 1.0,
                    Constraint::Installed(_) => change.to + 1.0,
                    _ => less,
                };
                assert!(!has_plan(&problem.with_limit(change.constraint, less)), "{change:?}");
            }
            remedied += 1;
        }
    }
    assert!(clashes > 10 && remedied > clashes, "{clashes}, {remedied}");
}

/// Ten devices are needed, for room and for operations, where there are two slots and two devices: to raise one limit
/// alone does not help.
#[test]
fn limits_that_help_only_together_are_raised_together() {
    let classes = vec![DataClass { name: "all".into(), bytes: 10.0 }];
    let operations = Resource::summed("operations", 1.0, vec![10.0]);
    let mut disk = DeviceType::new("disk", 7.0, vec![Resource::capacity(&classes, 1.0, 1.0), operations]);
    disk.count_max = Some(2);
    let totals = vec![TotalLimit { name: "slots".into(), per_device: vec![1.0], limit: 2.0 }];
    let problem = Problem { classes, types: vec![disk], totals, ..Problem::default() };
    let clash = clash(&problem, &EXACT, &mut keep_going).unwrap().unwrap();
    assert_eq!(clash.constraints, [Constraint::Resource { device_type: 0, resource: 1 }, Constraint::Total(0)]);
    let found = remedies(&problem, &clash, &EXACT, &mut keep_going).unwrap();
    let [remedy] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(remedy.cost, 70.0);
    let to: Vec<f64> = remedy.changes.iter().map(|change| change.to).collect();
    assert!(to[0] == 10.0 && (10.0..10.0001).contains(&to[1]), "{to:?}");
    assert!(has_plan(&remedy.apply(&problem)));
}

/// Nothing is as fast as asked for: the limit clashes by itself, and helps as soon as the fastest type keeps it, or the
/// next one where that has no room.
#[test]
fn a_limit_that_no_type_keeps_is_a_clash_with_a_remedy() {
    let classes = vec![DataClass { name: "hot".into(), bytes: 4.0 }];
    let disk = |name: &str, bytes: f64| DeviceType::new(name, 7.0, vec![Resource::capacity(&classes, bytes, 1.0)]);
    let mut types = vec![disk("slow", 4.0), disk("fast", 4.0)];
    let values = vec![vec![8.0], vec![3.0]];
    let pair_limits = vec![PairLimit { name: "response time".into(), values, limits: vec![1.0] }];
    for (largest, reached) in [(1, 3.0), (0, 8.0)] {
        types[1].count_max = Some(largest);
        let (types, pair_limits) = (types.clone(), pair_limits.clone());
        let problem = Problem { classes: classes.clone(), types, pair_limits, ..Problem::default() };
        let found = clash(&problem, &EXACT, &mut keep_going).unwrap().unwrap();
        assert_eq!((&found.constraints[..], found.irreducible), (&[Constraint::PairLimit(0)][..], true));
        let found = remedies(&problem, &found, &EXACT, &mut keep_going).unwrap();
        let [remedy] = found.as_slice() else { panic!("{found:?}") };
        let to = remedy.changes[0].to;
        assert!((reached..reached * 1.00001).contains(&to) && remedy.cost == 7.0, "{remedy:?}");
    }
}

#[test]
fn a_search_that_is_ended_says_so_and_gives_what_it_has() {
    let problem = InstanceSettings::PAPER.problem(4);
    let mut calls = 0;
    let mut stop = |_: &_| {
        calls += 1;
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let Outcome::Planned(stopped) = solve(&problem, &EXACT, &mut stop).unwrap() else { panic!("no plan") };
    assert_eq!(calls, 3);
    assert!(stopped.stopped_early && stopped.gap() > 0.0);
    let limited = SolverSettings { nodes_max: 5, ..EXACT };
    let Outcome::Planned(limited) = solve(&problem, &limited, &mut keep_going).unwrap() else { panic!("no plan") };
    assert!(limited.stopped_early && limited.nodes <= 7, "{}", limited.nodes);
    let best = small::solution(&problem, &EXACT).unwrap();
    for bound in [stopped.bound, limited.bound] {
        assert!(bound <= best.cost);
    }
    assert_eq!(small::solution(&problem, &EXACT), Some(best));
}
