//! Faults that the tests have to find: each changes one place of an engine, and survives if all tests still pass.

mod run;
mod workspace_copy;

use std::io::Write;
use std::path::Path;

use crate::faults::{LIST, Mutant, parse};
use crate::tidy::Report;

/// Reads the faults whose names contain `only`.
fn read(only: &str) -> Result<Vec<Mutant>, String> {
    let text = std::fs::read_to_string(LIST).map_err(|error| format!("{LIST}: {error}"))?;
    let all = parse(&text).map_err(|error| format!("{LIST}: {error}"))?;
    let chosen: Vec<Mutant> = all.into_iter().filter(|mutant| mutant.name.contains(only)).collect();
    if chosen.is_empty() { Err(format!("{LIST} has no fault with `{only}` in its name")) } else { Ok(chosen) }
}

/// Lists the faults.
pub(crate) fn list() -> Result<Report, String> {
    let line = |mutant: Mutant| format!("{}: {}\n", mutant.name, mutant.file);
    Ok(Report { text: read("")?.into_iter().map(line).collect(), findings: 0 })
}

/// Runs the tests with each fault whose name contains `only`. Survivors are findings, and so are faults that no longer
/// fit the code.
pub(crate) fn run(only: &str) -> Result<Report, String> {
    let mutants = read(only)?;
    let copy = workspace_copy::WorkspaceCopy::create(Path::new("target/mutants"))?;
    run::check_clean(&copy, &mutants)?;
    let mut findings = 0;
    for mutant in &mutants {
        let outcome = run::run(&copy, mutant)?;
        findings += usize::from(!outcome.is_caught());
        // A whole run takes an hour or two: each outcome is told at once.
        let _ = writeln!(std::io::stderr(), "{outcome}");
    }
    Ok(Report { text: format!("mutants: {} faults, findings: {findings}\n", mutants.len()), findings })
}
