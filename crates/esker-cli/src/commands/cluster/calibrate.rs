//! `esker cluster calibrate`.

use std::process::ExitCode;

use esker_cluster::{FITTED_GRANULARITY, FITTED_OVERLAP};
use esker_core::words;
use esker_fleet::calibration::{
    CalibrationCase, CalibrationError, CalibrationErrors, CalibrationPart, CalibrationRow, FittedCoefficients,
    calibrate, cases, errors, fit, read_rows, write_rows,
};

use crate::args::{ClusterCalibrateArguments, Common};
use crate::cancel;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};
use crate::progress::{Progress, Unit};
use crate::table::{Table, percent};

/// Simulates the drives, or reads what was counted, and says what was fitted and how far the model is off.
pub(super) fn run(arguments: &ClusterCalibrateArguments, common: &Common) -> Result<ExitCode, Failure> {
    let mut outputs = Outputs::new(arguments.force, &[])?;
    let output = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::CalibrationTable));
    let output = output.transpose()?;
    let is_printed = output.as_ref().is_some_and(output::Output::is_standard_output);
    let rows = match &arguments.table {
        Some(path) => {
            let shown = path.display();
            let text = esker_files::read_to_string(path)
                .map_err(|error| Failure::input(format!("{shown}: cannot be read: {error}")))?;
            read_rows(&text).map_err(|error| {
                Failure::input(format!("{shown}: {error}")).with_hint("`esker cluster calibrate -o FILE` writes one")
            })?
        }
        None => simulate(arguments.every.get(), common)?,
    };
    if let Some(output) = output {
        output.write_text(&write_rows(&rows))?;
    }
    if !is_printed {
        output::print(&render(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn simulate(every: usize, common: &Common) -> Result<Vec<CalibrationRow>, Failure> {
    let cases: Vec<CalibrationCase> = cases().into_iter().step_by(every).collect();
    let bar = Progress::new(common.quiet, Unit::Things("drives"));
    bar.set_message("simulating");
    let goes_on = |done: usize| {
        bar.set(done as u64, cases.len() as u64);
        !cancel::requested()
    };
    let rows = calibrate(&cases, common.threads(), goes_on);
    drop(bar);
    rows.map_err(|error| match error {
        CalibrationError::Stopped => Failure::cancelled(),
        error @ CalibrationError::Drive { .. } => Failure::input(error.to_string()),
    })
}

fn render(rows: &[CalibrationRow]) -> String {
    let fitted = fit(rows);
    let own = FittedCoefficients { granularity: FITTED_GRANULARITY, overlap: FITTED_OVERLAP };
    let mut table = Table::new(&["erases of", "drives", "median error", "nine in ten below", "most", "mean"]);
    let parts: [(&str, CalibrationPart, bool); 3] = [
        ("greedy, fitted to", CalibrationPart::Training, false),
        ("greedy, not seen", CalibrationPart::Unseen, false),
        ("by age, not seen", CalibrationPart::Unseen, true),
    ];
    for (name, part, by_age) in parts {
        let chosen = rows.iter().filter(|row| row.case.part == part && (row.case.victim == "fifo") == by_age);
        if let Some(CalibrationErrors { cases, median, nine_in_ten, most, mean }) = errors(chosen, fitted) {
            let [median, nine, most] = [median, nine_in_ten, most].map(percent);
            let mean = format!("{:+.1} %", mean * 100.0);
            table.row([name.to_string(), words::count(cases as u64), median, nine, most, mean]);
        }
    }
    let mut text = table.render();
    text += &format!("\ngranularity_thousandths {}, overlap_thousandths {}\n", fitted.granularity, fitted.overlap);
    if fitted != own {
        text += &format!("The defaults of `light` are others: {} and {}\n", own.granularity, own.overlap);
    }
    text
}
