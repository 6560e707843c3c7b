//! `esker validate`: how far a simulated device is from a measured one.

use std::path::PathBuf;
use std::process::ExitCode;

use esker_core::words;
use esker_results::validation::{VALIDATION_SCHEMA, ValidationResults};
use esker_sim::{read_measured, system_of, validate};
use esker_trace::TraceReader;

use super::sim::failure;
use super::study::quote;
use super::trace::{print_notes, read_options};
use crate::args::{Common, ValidateArguments};
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs, json};
use crate::table::{Table, percent};

/// Simulates the measured requests and compares.
pub(crate) fn run(arguments: &ValidateArguments, common: &Common) -> Result<ExitCode, Failure> {
    // What the device's file names is read first, and so known as an input.
    let system = system_of(&arguments.device, None)?;
    let inputs = [PathBuf::from(&arguments.device), arguments.measured.clone()];
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let html = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::VALIDATION)?;
    let page_is_printed = html.as_ref().is_some_and(Output::is_standard_output);
    let seed = common.seed.unwrap_or(1);
    let mut assembly = system.assemble(seed)?;
    let mut reader = TraceReader::open_measured(&arguments.measured, &read_options(&arguments.read))?;
    let requests = read_measured(&mut reader).map_err(failure)?;
    print_notes(&reader.notes().lines(), common);
    let classes = validate(&mut *assembly.device, &requests).map_err(failure)?;
    let all = classes.first().expect("there is at least one request");
    let results = ValidationResults {
        schema: VALIDATION_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: command_line(arguments, common),
        seed,
        device: arguments.device.clone(),
        measured: arguments.measured.display().to_string(),
        requests: all.requests,
        measured_mean_ms: all.measured_mean_ms,
        simulated_mean_ms: all.simulated_mean_ms,
        demerit_ms: all.demerit_ms,
        demerit_relative: all.demerit_relative.unwrap_or_default(),
        classes,
    };
    if let Some(html) = html {
        html.write_text(&esker_report::render_validation(&results)?)?;
    }
    match json {
        Some(json) => json.write_json(&results)?,
        None if page_is_printed => {}
        None => output::print(&render(&results))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds to the microsecond, as demerits are published.
fn millis(time: f64) -> String {
    format!("{time:.3} ms")
}

fn render(results: &ValidationResults) -> String {
    let mut table = Table::new(&["response time", "requests", "measured", "simulated", "demerit", "of the mean"]);
    for class in &results.classes {
        table.row([
            class.name.clone(),
            words::count(class.requests),
            millis(class.measured_mean_ms),
            millis(class.simulated_mean_ms),
            millis(class.demerit_ms),
            class.demerit_relative.map_or_else(|| "-".to_string(), percent),
        ]);
    }
    table.render()
}

/// The command that repeats the work, without options that only name outputs.
fn command_line(arguments: &ValidateArguments, common: &Common) -> String {
    let measured = quote(&arguments.measured.display().to_string());
    let mut line = format!("esker validate {} --measured {measured}", quote(&arguments.device));
    let read = &arguments.read;
    let options = [
        ("--format", read.format.clone()),
        ("--lenient", read.lenient.map(|count| count.to_string())),
        ("--reorder", read.reorder.map(|time| time.to_string())),
        ("--reorder-records", read.reorder_records.map(|count| count.to_string())),
        ("--seed", common.seed.map(|seed| seed.to_string())),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            line += &format!(" {name} {}", quote(&value));
        }
    }
    line
}
