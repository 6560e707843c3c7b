//! `esker report`: renders the report of a study again, from its JSON.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use esker_core::Hint;
use esker_results::study::StudyReport;

use super::study_tables::{TableOutputs, explain};
use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};

/// Reads the study and writes its page.
pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let mut outputs = Outputs::new(arguments.force, std::slice::from_ref(&arguments.study))?;
    let page = outputs.claim("-o", &arguments.output, Content::Page)?;
    let study = read(&arguments.study)?;
    let tables = TableOutputs::claim(&arguments.tables, study.workloads.len(), &mut outputs)?;
    let is_printed = page.is_standard_output() || tables.take_standard_output();
    page.write_text(&esker_report::render(&study)?)?;
    tables.write(&study)?;
    if !is_printed {
        output::print(&format!("Report: {}\n", arguments.output.display()))?;
        explain(&arguments.tables, &study)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<StudyReport, Failure> {
    let mut json = Vec::new();
    let (name, found) = if path == Path::new("-") {
        ("standard input".to_string(), std::io::stdin().read_to_end(&mut json).map(drop))
    } else {
        (path.display().to_string(), std::fs::read(path).map(|bytes| json = bytes))
    };
    found.map_err(|fault| Failure::input(format!("{name}: cannot be read: {fault}")))?;
    StudyReport::from_json(&json).map_err(|error| {
        let failure = Failure::input(format!("{name}: {error}"));
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })
}
