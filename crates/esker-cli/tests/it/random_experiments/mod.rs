//! Random experiment files end in 0, 1 or 2, within a bounded time. `ESKER_SOAK_EXPERIMENTS` sets their number,
//! `ESKER_SOAK_SEED` their seed.

mod generator;
#[path = "../../hostile/runner.rs"]
mod runner;

use std::path::Path;

use esker_core::{Rng, mix64};

use generator::experiment;
use runner::{Ended, asked_for, run, seed, try_all};

#[test]
fn random_experiments_are_run_or_refused() {
    let cases = asked_for("ESKER_SOAK_EXPERIMENTS", 300);
    let done = try_all(cases, one);
    assert!(done > cases / 10, "only {done} of {cases} ran: the files are too broken");
}

fn one(folder: &Path, case: u64) -> Result<Ended, String> {
    let text = experiment(&mut Rng::new(mix64(seed()) ^ case));
    std::fs::write(folder.join("random.toml"), &text).expect("the folder can be written");
    let arguments = ["sim", "random.toml", "--json", "--no-cost"].map(String::from);
    run(folder, &arguments).map_err(|fault| format!("{fault}\n{text}"))
}
