//! `esker model evaluate`: compares a model with runs.

use std::path::PathBuf;
use std::process::ExitCode;

use esker_core::words;
use esker_model::{Errors, Evaluation};

use super::read_model;
use super::runs::RunFiles;
use crate::args::{Common, EvaluateArguments};
use crate::failure::Failure;
use crate::output::{self, Outputs, json};
use crate::table::{Table, percent};

/// Reads model and runs, and says how far they are apart.
pub(super) fn run(arguments: &EvaluateArguments, common: &Common) -> Result<ExitCode, Failure> {
    let model = read_model(&arguments.model)?;
    let files = RunFiles::read(&arguments.runs)?;
    let inputs = [vec![PathBuf::from(&arguments.model)], arguments.runs.clone(), files.traces()].concat();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let json = outputs.json(&arguments.json, &json::EVALUATION)?;
    let evaluation = model.evaluate(&files.characterise(common)?);
    match json {
        Some(json) => json.write_json(&evaluation)?,
        None => output::print(&render(&evaluation))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn render(evaluation: &Evaluation) -> String {
    let mut text = errors_table(evaluation);
    let beyond = evaluation.runs.iter().filter(|run| !run.outside.is_empty()).count();
    if beyond > 0 {
        let mut what: Vec<&str> = evaluation.runs.iter().flat_map(|run| &run.outside).map(String::as_str).collect();
        what.sort_unstable();
        what.dedup();
        text += &format!("\nruns outside of what the model was trained on: {beyond} ({})\n", what.join(", "));
    }
    if evaluation.left_out > 0 {
        let left_out = evaluation.left_out;
        text += &format!("\nruns left out, busy for over nine tenths of the time: {left_out}\n");
    }
    text
}

/// The errors of a model, as a table.
pub(super) fn errors_table(evaluation: &Evaluation) -> String {
    let mut table = Table::new(&["error of", "runs", "median", "mean", "nine in ten below", "R2 of logarithms"]);
    for (what, errors) in [("response time", evaluation.response), ("erase rate", evaluation.erases)] {
        let Some(Errors { runs, median, mean, p90, r_squared_of_logarithms }) = errors else {
            table.row([what, "0", "-", "-", "-", "-"]);
            continue;
        };
        let r_squared = r_squared_of_logarithms.map_or_else(|| "-".to_string(), |share| format!("{share:.4}"));
        let [median, mean, p90] = [median, mean, p90].map(percent);
        table.row([what.to_string(), words::count(runs as u64), median, mean, p90, r_squared]);
    }
    table.render()
}
