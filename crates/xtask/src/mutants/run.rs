//! Runs the tests with a fault.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Mutant;
use super::workspace_copy::WorkspaceCopy;

/// Time after which tests count as endless. Without a fault they take a fifth of it.
const LIMIT: Duration = Duration::from_secs(400);

/// The same before anything is built.
const FIRST_LIMIT: Duration = Duration::from_secs(3600);

/// What became of a fault.
pub(super) struct Outcome<'a> {
    mutant: &'a Mutant,
    found: Found,
    took: Duration,
}

enum Found {
    /// This test has failed.
    By(String),
    /// The tests do not end.
    Endless,
    /// All tests pass.
    Survives,
    /// The fault does not fit the code, or does not build.
    Unfit(String),
}

impl Outcome<'_> {
    pub(super) fn is_caught(&self) -> bool {
        matches!(self.found, Found::By(_) | Found::Endless)
    }
}

impl fmt::Display for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, seconds) = (&self.mutant.name, self.took.as_secs());
        match &self.found {
            Found::By(test) => write!(f, "caught    {name}: {test} ({seconds} s)"),
            Found::Endless => write!(f, "caught    {name}: the tests do not end ({seconds} s)"),
            Found::Survives => write!(f, "SURVIVES  {name} ({seconds} s)"),
            Found::Unfit(problem) => write!(f, "UNFIT     {name}: {problem}"),
        }
    }
}

/// Begins the library tests of `package`, and its integration tests if they are wanted, whose names contain one of
/// `tests`.
fn begin(copy: &WorkspaceCopy, package: &str, integration: bool, tests: &[String]) -> Result<Child, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(copy.root()).env("CARGO_TARGET_DIR", std::path::absolute(copy.target()).unwrap_or(copy.target()));
    cargo.env("RUST_BACKTRACE", "0").env("PROPTEST_FAILURE_PERSISTENCE", "off");
    cargo.args(["test", "--quiet", "--locked", "--lib", "-p", package]);
    if integration {
        cargo.args(["--test", "it"]);
    }
    cargo.args(["--", "--format", "pretty"]).args(tests);
    cargo.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null());
    cargo.spawn().map_err(|error| format!("cargo cannot be started: {error}"))
}

/// Returns the first test that fails, if one does, and stops the tests then.
fn first_failure(mut tests: Child, limit: Duration) -> Result<Found, String> {
    let output = tests.stdout.take().ok_or("cargo has no output")?;
    let watched = Arc::new(Mutex::new(tests));
    let (done, ended) = channel::<()>();
    let guard = {
        let watched = watched.clone();
        // Returns true if it had to stop the tests.
        std::thread::spawn(move || {
            let is_late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if is_late {
                stop(&watched);
            }
            is_late
        })
    };
    let (mut failed, mut built, mut ran) = (None, false, false);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(test) = line.strip_suffix(" ... FAILED") {
            failed = Some(test.trim_start_matches("test ").to_string());
            stop(&watched);
            break;
        }
        built |= line.starts_with("test result: ok");
        ran |= line.starts_with("running ") && !line.starts_with("running 0 ");
    }
    drop(done);
    let is_late = guard.join().unwrap_or(false);
    let mut tests = watched.lock().map_err(|error| error.to_string())?;
    tests.wait().map_err(|error| error.to_string())?;
    Ok(match failed {
        Some(test) => Found::By(test),
        None if is_late => Found::Endless,
        None if built && ran => Found::Survives,
        None if built => Found::Unfit("no test has such a name".to_string()),
        None => Found::Unfit("it does not build".to_string()),
    })
}

/// Stops cargo and the tests that it runs, which are a process group of their own.
fn stop(tests: &Mutex<Child>) {
    if let Ok(tests) = tests.lock() {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", tests.id())]).status();
    }
}

/// Checks that the tests pass without a fault.
pub(super) fn check_clean(copy: &WorkspaceCopy, mutants: &[Mutant]) -> Result<(), String> {
    let mut packages: Vec<&str> = mutants.iter().map(Mutant::package).collect();
    packages.sort_unstable();
    packages.dedup();
    for package in packages {
        let integration = mutants.iter().any(|mutant| mutant.package() == package && mutant.integration);
        match first_failure(begin(copy, package, integration, &[])?, FIRST_LIMIT)? {
            Found::Survives => {}
            Found::By(test) => return Err(format!("{package}: {test} fails without a fault")),
            Found::Endless | Found::Unfit(_) => {
                return Err(format!("{package} does not build, or its tests do not end"));
            }
        }
    }
    Ok(())
}

/// Runs the tests with `mutant`.
#[expect(clippy::disallowed_methods, reason = "the time is only told")]
pub(super) fn run<'a>(copy: &WorkspaceCopy, mutant: &'a Mutant) -> Result<Outcome<'a>, String> {
    let begun = Instant::now();
    let tests = || first_failure(begin(copy, mutant.package(), mutant.integration, &mutant.tests)?, LIMIT);
    let found = match copy.with_replaced(&mutant.file, (&mutant.find, &mutant.replace), tests) {
        Ok(found) => found?,
        Err(problem) => Found::Unfit(problem),
    };
    Ok(Outcome { mutant, found, took: begun.elapsed() })
}
