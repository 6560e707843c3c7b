//! How long plans take: with as many classes and types as in Kim 2009, and with many more.

use esker_plan::{InstanceSettings, Outcome, SolverSettings, keep_going, solve};
use esker_testkit::Bench;

fn main() {
    for (name, settings, seeds) in [
        ("33 classes, 5 types", InstanceSettings::PAPER, 20),
        ("2,000 classes, 20 types, thousands of devices", InstanceSettings::VAST, 20),
    ] {
        let seeds = if Bench::is_smoke() { 1 } else { seeds };
        let problems: Vec<_> = (0..seeds).map(|seed| settings.problem(seed)).collect();
        Bench::new(name).rate("plans", || {
            for problem in &problems {
                let outcome = solve(problem, &SolverSettings::default(), &mut keep_going).expect("a valid problem");
                assert!(matches!(outcome, Outcome::Planned(solution) if solution.gap() <= 1e-3));
            }
            problems.len() as u64
        });
    }
}
