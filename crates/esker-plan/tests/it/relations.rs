//! What has to be true of all plans, whatever the problem.

use esker_plan::{DataClass, DeviceType, Plan, Problem, Resource, Sharing, TotalLimit, Violation, check};

use crate::small::{self, EXACT};

fn problems() -> impl Iterator<Item = Problem> {
    let seeds = 10_000..10_000 + 200 * u64::from(esker_testkit::soak());
    seeds.map(small::problem).filter(|problem| problem.validate().is_ok())
}

fn cost(problem: &Problem) -> f64 {
    small::solution(problem, &EXACT).map_or(f64::INFINITY, |solution| solution.cost)
}

/// That `dear` costs at least as much as `cheap`, but for rounding.
fn assert_not_below(dear: f64, cheap: f64) {
    assert!(dear >= cheap * (1.0 - 1e-8), "{dear} is below {cheap}");
}

#[test]
fn one_class_on_one_type_needs_its_load_rounded_up() {
    for (load, per_device, count) in [(10.0, 3.0, 4), (9.0, 3.0, 3), (0.1, 3.0, 1), (1e-9, 1.0, 1), (391.0, 1.0, 391)] {
        let classes = vec![DataClass { name: "all".into(), bytes: load }];
        let capacity = Resource::capacity(&classes, 2.0 * per_device, 0.5);
        let types = vec![DeviceType::new("disk", 7.0, vec![capacity])];
        let problem = Problem { classes, types, ..Problem::default() };
        let solution = small::solution(&problem, &EXACT).unwrap();
        assert_eq!(solution.plan.counts, [count]);
        assert_eq!(solution.cost, 7.0 * f64::from(count));
    }
}

#[test]
fn twice_the_prices_cost_twice() {
    for problem in problems() {
        let mut dearer = problem.clone();
        for one in &mut dearer.types {
            one.cost *= 2.0;
            one.installed_cost *= 2.0;
        }
        let (single, double) = (cost(&problem), cost(&dearer));
        assert!(single.is_infinite() && double.is_infinite() || (double - 2.0 * single).abs() <= 1e-8 * double);
    }
}

#[test]
fn twice_the_demands_cost_at_most_twice() {
    for mut problem in problems() {
        // Twice the counts have to be allowed, and to cost twice.
        problem.totals.clear();
        for one in &mut problem.types {
            (one.count_max, one.installed) = (None, 0);
        }
        let mut larger = problem.clone();
        for resource in larger.types.iter_mut().flat_map(|one| &mut one.resources) {
            resource.loads.iter_mut().for_each(|load| *load *= 2.0);
        }
        assert_not_below(2.0 * cost(&problem), cost(&larger));
    }
}

#[test]
fn another_type_or_a_looser_constraint_is_never_dearer() {
    for (seed, problem) in problems().enumerate() {
        let base = cost(&problem);
        let mut wider = problem.clone();
        let other = small::problem(seed as u64 + 77);
        let mut added = other.types[0].clone();
        (added.installed, added.name) = (0, "another".into());
        for resource in &mut added.resources {
            resource.loads.resize(problem.classes.len(), 0.5);
        }
        wider.types.push(added);
        wider.totals.iter_mut().for_each(|total| total.per_device.push(1.0));
        wider.pair_limits.iter_mut().for_each(|limit| limit.values.push(vec![0.0; problem.classes.len()]));
        assert_not_below(base, cost(&wider));
        for constraint in problem.constraints() {
            if let Some(looser) = problem.loosened(constraint, 1.1) {
                let looser = cost(&looser);
                assert_not_below(base, looser);
                assert_not_below(looser, cost(&problem.without(constraint)));
            }
        }
    }
}

/// Two classes as one can only be placed together: a finer grouping is never dearer where loads add up.
#[test]
fn more_classes_never_cost_more() {
    for mut problem in problems().filter(|problem| problem.classes.len() > 1 && problem.pair_limits.is_empty()) {
        for resource in problem.types.iter_mut().flat_map(|one| &mut one.resources) {
            resource.sharing = Sharing::Summed;
        }
        let mut coarse = problem.clone();
        coarse.classes.pop();
        for resource in coarse.types.iter_mut().flat_map(|one| &mut one.resources) {
            let last = resource.loads.pop().unwrap();
            *resource.loads.last_mut().unwrap() += last;
        }
        assert_not_below(cost(&coarse), cost(&problem));
    }
}

/// A solver that is told of one resource less finds plans that break it.
#[test]
fn a_plan_of_a_problem_with_one_row_left_out_is_found_out() {
    let mut found_out = 0;
    for problem in problems() {
        for constraint in problem.constraints() {
            let wrong = problem.without(constraint);
            let Some(solution) = small::solution(&wrong, &EXACT) else { continue };
            match check(&problem, &solution.plan) {
                Ok(checked) => assert_not_below(checked.cost, cost(&problem)),
                Err(violations) => {
                    let names = |one: &Violation| match one {
                        Violation::Exceeded { constraint: exceeded, .. } => *exceeded == constraint,
                        _ => false,
                    };
                    assert!(violations.iter().all(names), "{violations:?}");
                    found_out += 1;
                }
            }
        }
    }
    assert!(found_out > 100, "{found_out}");
}

#[test]
fn each_kind_of_violation_is_found() {
    let classes = vec![DataClass { name: "hot".into(), bytes: 4.0 }];
    let types = vec![DeviceType::new("disk", 7.0, vec![Resource::capacity(&classes, 2.0, 1.0)])];
    let totals = vec![TotalLimit { name: "slots".into(), per_device: vec![1.0], limit: 3.0 }];
    let problem = Problem { classes, types, totals, ..Problem::default() };
    let violations = |count: u32, share: f64| {
        let plan = Plan { counts: vec![count], shares: vec![vec![share]] };
        check(&problem, &plan).map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    assert_eq!(violations(2, 1.0).unwrap().cost, 14.0);
    assert_eq!(violations(1, 1.0).unwrap_err(), "disk: capacity: 4 is used, and the limit is 2");
    assert_eq!(violations(4, 1.0).unwrap_err(), "slots: 4 is used, and the limit is 3");
    assert_eq!(violations(2, 0.5).unwrap_err(), "0.5 of class hot is placed, not all of it");
    assert!(violations(2, 1.5).unwrap_err().contains("1.5 of class hot is on type disk"));
    assert!(violations(0, 1.0).unwrap_err().contains("class hot is on type disk, of which there is no device"));
    assert!(violations(2, f64::NAN).is_err());
    assert_eq!(check(&problem, &Plan { counts: vec![], shares: vec![] }).unwrap_err(), [Violation::Shape]);
}
