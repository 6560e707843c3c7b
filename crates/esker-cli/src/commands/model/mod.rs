//! `esker model`: regression models of a drive, trained, judged and used.

mod evaluate;
mod list;
mod predict;
mod runs;
mod train;

use std::path::Path;
use std::process::ExitCode;

use esker_core::{Hint, did_you_mean};
use esker_model::{Model, SHIPPED};

use crate::args::{Common, ModelCommand};
use crate::failure::Failure;

/// Runs a command of `esker model`.
pub(crate) fn run(command: ModelCommand, common: &Common) -> Result<ExitCode, Failure> {
    match command {
        ModelCommand::Train(arguments) => train::run(&arguments, common),
        ModelCommand::Evaluate(arguments) => evaluate::run(&arguments, common),
        ModelCommand::Predict(arguments) => predict::run(&arguments, common),
        ModelCommand::List => list::run(),
    }
}

/// Returns the model in the file `name`, or the shipped one of this name.
fn read_model(name: &str) -> Result<Model, Failure> {
    if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == name) {
        return Ok(shipped.model());
    }
    let path = Path::new(name);
    let bytes = esker_files::read(path).map_err(|fault| {
        let failure = Failure::input(format!("{name}: cannot be read: {fault}"));
        match did_you_mean(name, SHIPPED.iter().map(|shipped| shipped.name)).filter(|_| !path.exists()) {
            Some(near) => failure.with_hint(format!("did you mean the model `{near}`?")),
            None => failure.with_hint("`esker model list` has those that come with esker; others are files"),
        }
    })?;
    Model::from_json(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        let failure = Failure::input(format!("{name}: {error}"));
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure.with_hint("`esker model train` makes one from the results of runs"),
        }
    })
}
