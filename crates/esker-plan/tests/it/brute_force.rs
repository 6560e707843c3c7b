//! The cheapest plan against all counts, one after the other: whether classes fit into them is asked of another linear
//! programme solver.

use esker_plan::{Problem, ProblemError, Sharing, keep_going, solve};
use microlp::{ComparisonOp, OptimizationDirection};

use crate::small::{self, EXACT};

/// Whether all classes fit into devices of these counts.
fn fits(problem: &Problem, counts: &[u32]) -> bool {
    let mut programme = microlp::Problem::new(OptimizationDirection::Minimize);
    let mut shares = Vec::new();
    for class in 0..problem.classes.len() {
        let share = |at: usize| {
            let most = if problem.allows(at, class) && counts[at] > 0 { 1.0 } else { 0.0 };
            (0.0, (0.0, most))
        };
        let of_class: Vec<_> = (0..counts.len()).map(share).collect();
        let of_class: Vec<_> = of_class.into_iter().map(|(cost, bounds)| programme.add_var(cost, bounds)).collect();
        let all: Vec<_> = of_class.iter().map(|&share| (share, 1.0)).collect();
        programme.add_constraint(&all, ComparisonOp::Eq, 1.0);
        shares.push(of_class);
    }
    for (at, one) in problem.types.iter().enumerate() {
        for resource in &one.resources {
            let limit = resource.per_device * f64::from(counts[at]);
            let terms: Vec<_> = shares.iter().zip(&resource.loads).map(|(shares, &load)| (shares[at], load)).collect();
            match resource.sharing {
                Sharing::Summed => {
                    programme.add_constraint(&terms, ComparisonOp::Le, limit);
                }
                Sharing::PerClass => {
                    for term in terms {
                        programme.add_constraint([term], ComparisonOp::Le, limit);
                    }
                }
            }
        }
    }
    match programme.solve() {
        Ok(_) => true,
        Err(microlp::Error::Infeasible) => false,
        Err(other) => panic!("{other}"),
    }
}

/// The least cost of all counts up to those that hold everything.
fn cheapest(problem: &Problem) -> Option<f64> {
    let ranges: Vec<Vec<u32>> = problem
        .types
        .iter()
        .map(|one| {
            let needs = one.resources.iter().map(|resource| resource.loads.iter().sum::<f64>() / resource.per_device);
            let most = needs.fold(1.0, f64::max).ceil() as u32 + 1;
            let most = one.count_max.map_or(most, |count_max| count_max.min(most)).max(one.installed);
            (one.installed..=most).collect()
        })
        .collect();
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for range in &ranges {
        let longer = |counts: &Vec<u32>| {
            let counts = counts.clone();
            range.iter().map(move |&count| [counts.clone(), vec![count]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    let cost = |counts: &[u32]| problem.types.iter().zip(counts).map(|(one, &count)| one.cost_of(count)).sum::<f64>();
    let within_totals = |counts: &Vec<u32>| {
        problem.totals.iter().all(|total| {
            let used: f64 = total.per_device.iter().zip(counts).map(|(each, &count)| each * f64::from(count)).sum();
            used <= total.limit
        })
    };
    all.retain(within_totals);
    all.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    all.iter().find(|counts| fits(problem, counts)).map(|counts| cost(counts))
}

#[test]
fn no_counts_are_cheaper_than_the_plan() {
    let (mut planned, mut infeasible) = (0, 0);
    // The last one is of a bug: a proof that some counts are too small, which left out caps, was used against others.
    for seed in (0..1_000 * u64::from(esker_testkit::soak())).chain([16_924]) {
        let problem = small::problem(seed);
        if matches!(problem.validate(), Err(ProblemError::NoTypeAllowed { .. })) {
            assert!(solve(&problem, &EXACT, &mut keep_going).is_err());
            continue;
        }
        let found = small::solution(&problem, &EXACT).map(|solution| solution.cost);
        match (found, cheapest(&problem)) {
            (Some(found), Some(cheapest)) => {
                assert!((found - cheapest).abs() <= 1e-9 * cheapest.max(1.0), "seed {seed}: {found}, not {cheapest}");
                planned += 1;
            }
            (None, None) => infeasible += 1,
            (found, cheapest) => panic!("seed {seed}: {found:?}, not {cheapest:?}"),
        }
    }
    assert!(planned > 600 && infeasible > 50, "{planned} planned, {infeasible} infeasible");
}
