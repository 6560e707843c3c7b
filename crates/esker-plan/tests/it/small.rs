//! Small random problems with everything that a problem can have.

use esker_core::Rng;
use esker_plan::{
    DataClass, DeviceType, Outcome, PairLimit, Problem, Resource, Sharing, Solution, SolverSettings, TotalLimit, check,
    keep_going, solve,
};

/// Until only rounding is left.
pub(crate) const EXACT: SolverSettings = SolverSettings { gap: 0.0, nodes_max: 100_000 };

/// At most 5 classes, 3 types and 3 resources of each, some of them with whole numbers so that plans are often exactly
/// full.
pub(crate) fn problem(seed: u64) -> Problem {
    let mut rng = Rng::derive(seed, "small plan");
    let whole = rng.chance(1, 3);
    let classes = 1 + rng.below(5) as usize;
    let types = 1 + rng.below(3) as usize;
    let mut number = |most: u64| {
        if whole { (1 + rng.below(most)) as f64 } else { 0.05 + most as f64 * rng.unit() }
    };
    let names = (0..classes).map(|class| DataClass { name: format!("class {class}"), bytes: number(4) });
    let data: Vec<DataClass> = names.collect();
    let made: Vec<DeviceType> = (0..types)
        .map(|at| {
            let resources = (0..1 + number(2) as usize).map(|resource| Resource {
                name: format!("resource {resource}"),
                per_device: 1.0 + number(4),
                loads: data.iter().map(|class| (class.bytes * number(2)).round_unless(!whole) / 2.0).collect(),
                sharing: Sharing::Summed,
            });
            let resources = resources.collect();
            DeviceType::new(format!("type {at}"), number(9), resources)
        })
        .collect();
    let mut problem = Problem { classes: data, types: made, ..Problem::default() };
    restrict(&mut problem, &mut rng);
    problem
}

/// Rounds or not.
trait RoundUnless {
    fn round_unless(self, not: bool) -> f64;
}

impl RoundUnless for f64 {
    fn round_unless(self, not: bool) -> f64 {
        if not { self } else { self.round() }
    }
}

fn restrict(problem: &mut Problem, rng: &mut Rng) {
    for one in &mut problem.types {
        if rng.chance(1, 4) {
            one.installed = 1 + rng.below(2) as u32;
            one.installed_cost = if rng.chance(1, 2) { 0.0 } else { 0.3 * one.cost };
        }
        if rng.chance(1, 3) {
            one.count_max = Some(one.installed + rng.below(4) as u32);
        }
        for resource in &mut one.resources {
            if rng.chance(1, 5) {
                resource.sharing = Sharing::PerClass;
            }
            if rng.chance(1, 8) {
                resource.loads.fill(0.0);
            }
        }
    }
    if rng.chance(1, 3) {
        problem.totals.push(TotalLimit {
            name: "slots".into(),
            per_device: problem.types.iter().map(|_| (1 + rng.below(2)) as f64).collect(),
            limit: (2 + rng.below(8)) as f64,
        });
    }
    if rng.chance(1, 3) {
        let values = problem.types.iter().map(|_| problem.classes.iter().map(|_| rng.unit()).collect());
        let values = values.collect();
        problem.pair_limits.push(PairLimit {
            name: "response time".into(),
            values,
            limits: problem.classes.iter().map(|_| if rng.chance(1, 2) { 0.7 } else { f64::INFINITY }).collect(),
        });
    }
}

/// The solution of a problem that has one. Every solution is checked, and its gap is held to what was asked for.
pub(crate) fn solution(problem: &Problem, settings: &SolverSettings) -> Option<Solution> {
    match solve(problem, settings, &mut keep_going).unwrap() {
        Outcome::Planned(solution) => {
            let checked = check(problem, &solution.plan).unwrap();
            assert_eq!(checked.cost, solution.cost);
            assert!(!solution.stopped_early);
            assert!(solution.bound <= solution.cost);
            assert!(solution.gap() <= settings.gap.max(1e-8) + 1e-12, "{}", solution.gap());
            Some(*solution)
        }
        Outcome::Infeasible => None,
        Outcome::Unknown => panic!("no plan, and no proof that there is none"),
    }
}
