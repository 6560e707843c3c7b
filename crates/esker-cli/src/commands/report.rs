//! `esker report`: renders the page of a study or of a run again, from its JSON.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use esker_core::Hint;
use esker_results::RunResults;
use esker_results::study::StudyReport;

use super::study_tables::{TableOutputs, explain};
use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};

/// What was read.
enum Results {
    Study(Box<StudyReport>),
    Run(Box<RunResults>),
}

/// Reads the study or the run and writes its page.
pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let mut outputs = Outputs::new(arguments.force, std::slice::from_ref(&arguments.results))?;
    let page = outputs.claim("-o", &arguments.output, Content::Page)?;
    let done = format!("Report: {}\n", arguments.output.display());
    match read(&arguments.results)? {
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
            if let Some(option) = arguments.tables.first_given() {
                let message = format!("{} is a run of `esker sim`", arguments.results.display());
                return Err(Failure::input(message).with_hint(format!("leave out {option}, which is for studies")));
            }
            let is_printed = page.is_standard_output();
            page.write_text(&esker_report::render_run(&run)?)?;
            if !is_printed {
                output::print(&done)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Results, Failure> {
    let mut json = Vec::new();
    let (name, found) = if path == Path::new("-") {
        ("standard input".to_string(), esker_files::stdin().read_to_end(&mut json).map(drop))
    } else {
        (path.display().to_string(), esker_files::read(path).map(|bytes| json = bytes))
    };
    found.map_err(|fault| Failure::input(format!("{name}: cannot be read: {fault}")))?;
    if serde_json::from_slice(&json).is_ok_and(|json| RunResults::is_run(&json)) {
        let run = RunResults::from_json(&json).map_err(|error| refused(&name, &error.to_string(), error.hint()))?;
        return Ok(Results::Run(Box::new(run)));
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
