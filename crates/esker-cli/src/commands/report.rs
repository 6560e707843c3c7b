//! `esker report`: renders the page of a study, a run or a plan again, from its JSON.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use esker_core::Hint;
use esker_results::RunResults;
use esker_results::study::StudyReport;
use esker_results::study::plan::PlanReport;
use serde_json::Value;

use super::plan::FIGURES;

use super::study_tables::{TableOutputs, explain};
use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs};

/// What was read.
enum Results {
    Study(Box<StudyReport>),
    Run(Box<RunResults>),
    Plan(Box<PlanReport>),
}

/// Reads the results and writes their page.
pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let results = match arguments.results.is_dir() {
        true => arguments.results.join(FIGURES),
        false => arguments.results.clone(),
    };
    let mut outputs = Outputs::new(arguments.force, std::slice::from_ref(&results))?;
    let page = outputs.claim("-o", &arguments.output, Content::Page)?;
    let done = format!("Report: {}\n", arguments.output.display());
    match read(&results)? {
        Results::Study(study) => {
            let tables = TableOutputs::claim(&arguments.tables, study.workloads.len(), &mut outputs)?;
            let is_printed = page.is_standard_output() || tables.take_standard_output();
            page.write_text(&esker_report::render(&study)?)?;
            tables.write(&study)?;
            if !is_printed {
                output::print(&done)?;
                explain(&arguments.tables, &study)?;
            }
        }
        Results::Run(run) => {
            refuse_tables(arguments, "a run of `esker sim`")?;
            write_page(page, &esker_report::render_run(&run)?, &done)?;
        }
        Results::Plan(plan) => {
            refuse_tables(arguments, "a plan of `esker plan`")?;
            write_page(page, &esker_report::render_plan(&plan)?, &done)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses options for tables, which only studies have.
fn refuse_tables(arguments: &ReportArguments, what: &str) -> Result<(), Failure> {
    let Some(option) = arguments.tables.first_given() else { return Ok(()) };
    let message = format!("{} is {what}", arguments.results.display());
    Err(Failure::input(message).with_hint(format!("leave out {option}, which is for studies")))
}

fn write_page(page: Output, text: &str, done: &str) -> Result<(), Failure> {
    let is_printed = page.is_standard_output();
    page.write_text(text)?;
    if is_printed { Ok(()) } else { output::print(done) }
}

fn read(path: &Path) -> Result<Results, Failure> {
    let mut json = Vec::new();
    let (name, found) = if path == Path::new("-") {
        ("standard input".to_string(), esker_files::stdin().read_to_end(&mut json).map(drop))
    } else {
        (path.display().to_string(), esker_files::read(path).map(|bytes| json = bytes))
    };
    found.map_err(|fault| Failure::input(format!("{name}: cannot be read: {fault}")))?;
    let value: Value = serde_json::from_slice(&json).unwrap_or_default();
    if RunResults::is_run(&value) {
        let run = RunResults::from_json(&json).map_err(|error| refused(&name, &error.to_string(), error.hint()))?;
        return Ok(Results::Run(Box::new(run)));
    }
    if PlanReport::is_plan(&value) {
        let plan = PlanReport::from_json(&json).map_err(|error| refused(&name, &error.to_string(), error.hint()))?;
        return Ok(Results::Plan(Box::new(plan)));
    }
    let study = StudyReport::from_json(&json).map_err(|error| refused(&name, &error.to_string(), error.hint()))?;
    Ok(Results::Study(Box::new(study)))
}

fn refused(name: &str, message: &str, hint: Option<String>) -> Failure {
    let failure = Failure::input(format!("{name}: {message}"));
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
