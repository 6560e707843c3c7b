//! Plans against HiGHS, by its wheel for Python. Part of `make soak`; skipped, with a message, where the wheel is
//! missing.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

use esker_plan::{InstanceSettings, Problem, SolverSettings};

use crate::small;

/// Without presolve: with it, some certified optima were wrong where coefficients are far apart.
const SCRIPT: &str = "
import sys, highspy
highs = highspy.Highs()
highs.silent()
highs.setOptionValue('presolve', 'off')
highs.setOptionValue('threads', 1)
highs.setOptionValue('mip_rel_gap', 1e-5)
highs.setOptionValue('time_limit', 60.0)
highs.readModel(sys.argv[1])
highs.run()
print(highs.getInfo().objective_function_value)
";

fn python() -> String {
    std::env::var("ESKER_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// The problem in the format MPS, its loads in devices.
fn mps(problem: &Problem) -> String {
    let mut text = String::from("NAME plan\nROWS\n N cost\n");
    for class in 0..problem.classes.len() {
        writeln!(text, " E placed{class}").unwrap();
    }
    for (at, one) in problem.types.iter().enumerate() {
        for row in 0..one.resources.len() {
            writeln!(text, " L row{at}_{row}").unwrap();
        }
    }
    text.push_str("COLUMNS\n");
    for class in 0..problem.classes.len() {
        for (at, one) in problem.types.iter().enumerate() {
            writeln!(text, " share{class}_{at} placed{class} 1").unwrap();
            for (row, resource) in one.resources.iter().enumerate() {
                let load = resource.loads[class] / resource.per_device;
                writeln!(text, " share{class}_{at} row{at}_{row} {load:e}").unwrap();
            }
        }
    }
    text.push_str(" MARKER 'MARKER' 'INTORG'\n");
    for (at, one) in problem.types.iter().enumerate() {
        writeln!(text, " count{at} cost {:e}", one.cost).unwrap();
        for row in 0..one.resources.len() {
            writeln!(text, " count{at} row{at}_{row} -1").unwrap();
        }
    }
    text.push_str(" MARKER 'MARKER' 'INTEND'\nRHS\n");
    for class in 0..problem.classes.len() {
        writeln!(text, " RHS placed{class} 1").unwrap();
    }
    text.push_str("BOUNDS\n");
    for at in 0..problem.types.len() {
        writeln!(text, " UP BOUND count{at} 1000000").unwrap();
    }
    text.push_str("ENDATA\n");
    text
}

#[test]
#[ignore = "needs the wheel highspy; run by scripts/soak.sh"]
#[expect(clippy::print_stderr, reason = "says why it is skipped")]
fn no_plan_is_dearer_than_that_of_highs_by_more_than_its_gap() {
    let there = Command::new(python()).args(["-c", "import highspy"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: {} has no module highspy (ESKER_PYTHON names another Python)", python());
    }
    let middle = InstanceSettings { classes: 200, types: 6, devices: 20.0, ..InstanceSettings::PAPER };
    let paper = (0..40).map(|seed| (InstanceSettings::PAPER, seed));
    for (settings, seed) in paper.chain((0..8).map(|seed| (middle, seed))) {
        let problem = settings.problem(seed);
        let mut file = tempfile::Builder::new().suffix(".mps").tempfile().unwrap();
        file.write_all(mps(&problem).as_bytes()).unwrap();
        let output = Command::new(python()).args(["-c", SCRIPT]).arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Some versions print a banner first.
        let printed = String::from_utf8(output.stdout).unwrap();
        let highs: f64 = printed.lines().last().unwrap().trim().parse().unwrap();
        let solution = small::solution(&problem, &SolverSettings::default()).unwrap();
        let (cost, bound) = (solution.cost, solution.bound);
        // HiGHS lets rows be exceeded by a millionth of a device.
        assert!(bound <= highs * (1.0 + 1e-5), "{settings:?}, seed {seed}: bound {bound}, HiGHS found {highs}");
        assert!(cost <= highs * (1.0 + 1e-5) + solution.gap() * cost, "{settings:?}, seed {seed}: {cost}, not {highs}");
    }
}
