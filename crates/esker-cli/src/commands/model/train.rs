//! `esker model train`: finds the coefficients of a model.

use std::process::ExitCode;

use esker_core::words;
use esker_model::{Coefficient, Evaluation, FittedPart, Model};

use super::evaluate::errors_table;
use super::runs::RunFiles;
use crate::args::{Common, TrainArguments};
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs, json};
use crate::table::Table;

/// Reads the runs, trains the model and writes it.
pub(super) fn run(arguments: &TrainArguments, common: &Common) -> Result<ExitCode, Failure> {
    esker_model::form(&arguments.form)?;
    let files = RunFiles::read(&arguments.runs)?;
    let inputs = [arguments.runs.clone(), files.traces()].concat();
    let mut outputs = Outputs::new(arguments.force, &inputs)?;
    let model_output = outputs.claim("-o", &arguments.output, Content::Json(&json::MODEL))?;
    let table = arguments.table.as_ref().map(|path| outputs.claim("--table", path, Content::RunTable)).transpose()?;
    let is_printed = model_output.is_standard_output() || table.as_ref().is_some_and(Output::is_standard_output);
    let runs = files.characterise(common)?;
    let model = Model::train(&arguments.form, &runs)?;
    if let Some(table) = table {
        table.write_text(&esker_model::write_table(&runs))?;
    }
    model_output.write_json(&model)?;
    if !is_printed {
        output::print(&render(&model, &model.evaluate(&runs)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(model: &Model, evaluation: &Evaluation) -> String {
    let mut text = format!("{} model of {} runs", model.form, words::count(model.runs as u64));
    if model.left_out > 0 {
        text += &format!(" ({} more left out: the drive was busy for over nine tenths of the time)", model.left_out);
    }
    text += "\n\n";
    for part in &model.parts {
        text += &render_part(part);
    }
    text + "Errors on these runs:\n\n" + &errors_table(evaluation)
}

fn render_part(FittedPart { name, explains, fit }: &FittedPart) -> String {
    let mut table = Table::new(&["term", "estimate", "standard error", "p", "99 % from", "to"]);
    for Coefficient { term, estimate, standard_error, p, low_99, high_99 } in &fit.coefficients {
        let p = if *p < 1e-4 { "<0.0001".to_string() } else { format!("{p:.4}") };
        let [estimate, error, low, high] = [estimate, standard_error, low_99, high_99].map(|of| significant(*of));
        table.row([term.clone(), estimate, error, p, low, high]);
    }
    let of = format!("{} runs, R2 {:.4}, adjusted {:.4}", fit.values, fit.r_squared, fit.adjusted_r_squared);
    format!("{name}: {explains}\n{of}\n\n{}\n", table.render())
}

/// The number with four significant digits.
fn significant(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (3.0 - magnitude).clamp(0.0, 12.0) as usize)
}
