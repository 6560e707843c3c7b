//! The rules of this repository as a program. `cargo xtask tidy` checks them all, and `cargo xtask mutants` whether the
//! tests of the engines find faults. The exit status is 1 if a rule is broken or a fault survives.

mod allow;
mod faults;
mod finding;
mod manifest;
mod modules;
mod mutants;
mod rules;
mod syntax;
mod tidy;
mod workspace;

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy [--rule NAME] [--list]\n       cargo xtask mutants [--only NAME] [--list]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["tidy"] => tidy::run(None),
        ["tidy", "--rule", name] => tidy::run(Some(name)),
        ["tidy", "--list"] => Ok(tidy::list()),
        ["mutants"] => mutants::run(""),
        ["mutants", "--only", name] => mutants::run(name),
        ["mutants", "--list"] => mutants::list(),
        _ => Err(USAGE.to_owned()),
    };
    // Errors are ignored: the reader may have gone away.
    let _ = match &outcome {
        Ok(report) => std::io::stdout().write_all(report.text.as_bytes()),
        Err(problem) => writeln!(std::io::stderr(), "{problem}"),
    };
    match outcome {
        Ok(report) if report.findings == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(_) => ExitCode::from(2),
    }
}
