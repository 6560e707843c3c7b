//! How long plans take: with as many classes and types as in Kim 2009, and with many more. With `ESKER_BENCH_LONG`,
//! also those that take longest, one by one.

use esker_plan::{InstanceSettings, Outcome, Problem, SolverSettings, keep_going, solve};
use esker_testkit::Bench;

fn measure(name: String, problems: &[Problem], gap: f64) {
    Bench::new(name).rate("thousandths of plans", || {
        for problem in problems {
            let settings = SolverSettings { gap, ..SolverSettings::default() };
            let outcome = solve(problem, &settings, &mut keep_going).expect("a valid problem");
            assert!(matches!(outcome, Outcome::Planned(solution) if solution.gap() <= gap));
        }
        1_000 * problems.len() as u64
    });
}

fn main() {
    let large = "2,000 classes, 20 types";
    for (name, settings, gap, seeds) in [
        ("33 classes, 5 types, 0.1 %".to_string(), InstanceSettings::PAPER, 1e-3, 20),
        (format!("{large}, thousands of devices, 0.1 %"), InstanceSettings::VAST, 1e-3, 20),
        (format!("{large}, tens of devices, 1 %"), InstanceSettings::LARGE, 1e-2, 5),
    ] {
        let seeds = if Bench::is_smoke() { 1 } else { seeds };
        let problems: Vec<_> = (0..seeds).map(|seed| settings.problem(seed)).collect();
        measure(name, &problems, gap);
    }
    if std::env::var_os("ESKER_BENCH_LONG").is_some() {
        for seed in 0..20 {
            let problem = InstanceSettings::LARGE.problem(seed);
            measure(format!("{large}, tens of devices, 0.1 %, seed {seed}"), &[problem], 1e-3);
        }
    }
}
