//! Reads the runs that a model is trained on or compared with.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use esker_core::jobs;
use esker_model::{NoRun, Run, is_table, read_table};
use esker_results::RunResults;
use esker_sim::{Experiment, RunError};

use crate::args::Common;
use crate::cancel;
use crate::failure::Failure;
use crate::output::remark;
use crate::progress::{Progress, Unit};

/// The files of runs, before the requests of each were characterised.
pub(super) struct RunFiles {
    /// Runs of tables.
    tabled: Vec<Run>,
    /// Results with their experiments.
    results: Vec<(PathBuf, RunResults, Experiment)>,
}

impl RunFiles {
    /// Reads the files, and all results in the folders.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Self { tabled: Vec::new(), results: Vec::new() };
        for path in paths {
            if path.is_dir() {
                let inside = results_in(path)?;
                if inside.is_empty() {
                    let message = format!("{}: there are no results of a sweep in this folder", path.display());
                    return Err(Failure::input(message).with_hint("`esker sweep FILE.toml -o FOLDER` writes them"));
                }
                inside.iter().try_for_each(|path| files.add(path))?;
            } else {
                files.add(path)?;
            }
        }
        Ok(files)
    }

    fn add(&mut self, path: &Path) -> Result<(), Failure> {
        let wrong = |message: String| Failure::input(format!("{}: {message}", path.display()));
        let bytes = esker_files::read(path).map_err(|fault| wrong(format!("cannot be read: {fault}")))?;
        let text = String::from_utf8_lossy(&bytes);
        if is_table(&text) {
            self.tabled.extend(read_table(&text).map_err(|error| wrong(error.to_string()))?);
            return Ok(());
        }
        let results: RunResults = serde_json::from_str(&text).map_err(|error| {
            wrong(format!("this is neither the results of a run nor a table of runs: {error}")).with_hint(
                "`esker sim --json=FILE` and `esker sweep` write results, `esker model train --table` tables",
            )
        })?;
        let experiment = Experiment::from_resolved(&results.config, &path.display().to_string())?;
        self.results.push((path.to_path_buf(), results, experiment));
        Ok(())
    }

    /// Returns the traces of all runs: inputs, too.
    pub(super) fn traces(&self) -> Vec<PathBuf> {
        self.results.iter().flat_map(|(_, _, experiment)| experiment.traces()).collect()
    }

    /// Characterises the requests of each run.
    pub(super) fn characterise(self, common: &Common) -> Result<Vec<Run>, Failure> {
        let bar = Progress::new(common.quiet, Unit::Things("runs"));
        bar.set_message("characterising");
        let (done, failure) = (Mutex::new(BTreeMap::new()), Mutex::new(None));
        jobs::for_each(common.threads(), self.results.len(), |index| {
            let (path, results, experiment) = &self.results[index];
            match run_of(path, results, experiment) {
                Ok(run) => {
                    let mut done = done.lock().expect("no thread panicked");
                    done.insert(index, run);
                    bar.set(done.len() as u64, self.results.len() as u64);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failure.lock().expect("no thread panicked").get_or_insert(error);
                    ControlFlow::Break(())
                }
            }
        });
        drop(bar);
        if let Some(failure) = failure.into_inner().expect("no thread panicked") {
            return Err(failure);
        }
        let all = done.into_inner().expect("no thread panicked");
        let saturated = all.values().filter(|run| run.is_none()).count();
        if saturated > 0 && !common.quiet {
            remark(&format!("{saturated} of {} runs left out, because the drive saturated", all.len()));
        }
        let mut runs = self.tabled;
        runs.extend(all.into_values().flatten());
        Ok(runs)
    }
}

/// The run of a results file; `None` if the drive saturated.
fn run_of(path: &Path, results: &RunResults, experiment: &Experiment) -> Result<Option<Run>, Failure> {
    let wrong = |error: NoRun| Failure::input(format!("{}: {error}", path.display()));
    if results.saturated.is_some() {
        return Ok(None);
    }
    let profile = experiment.profile(cancel::flag()).map_err(|error| match error {
        RunError::Cancelled => Failure::cancelled(),
        error => error.into(),
    })?;
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Run::of(&name, results, &profile).map(Some).map_err(wrong)
}

/// The results of a sweep in `folder`, by name.
fn results_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |fault: std::io::Error| Failure::input(format!("{}: cannot be read: {fault}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(esker_sim::is_name_of_results) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
