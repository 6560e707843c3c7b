//! `esker sweep`: a grid of experiments.

use std::path::Path;
use std::process::ExitCode;

use esker_sim::{Experiment, SweepError, SweepOptions, SweepTable};

use crate::args::{Common, SweepArguments};
use crate::failure::Failure;
use crate::output::{Content, NewFolders, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::Table;
use crate::{cancel, output};

/// Endings of files that other commands write.
const FILES: [&str; 4] = ["html", "json", "csv", "md"];

/// Checks that `output` can be meant as a folder.
fn check_folder(output: &Path) -> Result<(), Failure> {
    if output.as_os_str() == "-" {
        return Err(Failure::input("the results of a sweep are several files: they do not go to standard output")
            .with_hint("name a folder for them (-o results), and have the table as JSON with --json"));
    }
    let sounds_like_file = output.extension().is_some_and(|ending| FILES.iter().any(|file| ending == *file));
    if sounds_like_file && !output.is_dir() {
        let name = output.display();
        return Err(Failure::input(format!(
            "-o names a folder for the results of all points; {name} sounds like a file"
        ))
        .with_hint("name a folder (-o results); it gets the table as sweep.csv, and --json writes it as JSON"));
    }
    Ok(())
}

/// Runs every point that has not been run yet.
pub(crate) fn run(arguments: &SweepArguments, common: &Common) -> Result<ExitCode, Failure> {
    let mut experiment = Experiment::load(&arguments.file)?;
    if experiment.dimensions().is_empty() {
        let message =
            format!("{} has no [sweep] table, or an empty one: it describes one run", arguments.file.display());
        return Err(Failure::input(message).with_hint(
            "run it with `esker sim`, or give it a [sweep] table such as:\n\n  \
                                                      [sweep]\n  \"workload.queue_depth\" = [1, 4, 16]",
        ));
    }
    check_folder(&arguments.output)?;
    if let Some(seed) = common.seed {
        experiment.run.seed = seed;
    }
    let inputs = [vec![arguments.file.clone()], experiment.traces()].concat();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    outputs.claim_folder(&arguments.output, esker_sim::is_name_of_results, Content::Json(&json::RUN))?;
    let there = arguments.output.is_dir();
    let shard = arguments.shard.as_deref().map(shard).transpose()?;
    let file = arguments.output.join(name_of_table(shard));
    let table = there.then(|| claim_table(&mut outputs, &file)).transpose()?;
    let json = outputs.json(&arguments.json, &json::SWEEP)?;
    let _folders = NewFolders::of(&arguments.output);
    let bar = Progress::new(common.quiet, Unit::Things("points"));
    bar.set_message("sweeping");
    let progress = |done: usize, total: usize| bar.set(done as u64, total as u64);
    let options = SweepOptions {
        threads: common.threads,
        shard,
        progress: Some(&progress),
        cancel: Some(cancel::flag()),
        ..SweepOptions::new(&arguments.output)
    };
    let sweep = esker_sim::sweep(&experiment, &options).map_err(|error| match error {
        SweepError::Cancelled => Failure::cancelled().with_hint("run it again to go on where it stopped"),
        error => error.into(),
    })?;
    drop(bar);
    // The folder exists now, even if it did not before.
    let table = table.map_or_else(|| claim_table(&mut outputs, &file), Ok)?;
    table.write_text(&sweep.table.to_csv())?;
    match json {
        Some(json) => json.write_json(&sweep.table.to_json())?,
        None => output::print(&render(&sweep.table))?,
    }
    if !common.quiet {
        output::remark(&format!(
            "{} points run, {} were there already, {} failed; results and {} are in {}",
            sweep.run,
            sweep.reused,
            sweep.failed,
            name_of_table(shard),
            arguments.output.display()
        ));
    }
    Ok(if sweep.failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn claim_table(outputs: &mut Outputs, file: &Path) -> Result<Output, Failure> {
    outputs.claim("", file, Content::SweepTable)
}

/// The table of a shard has the rows of its own points. It must not replace that of another shard in the same folder.
fn name_of_table(shard: Option<(usize, usize)>) -> String {
    match shard {
        Some((index, count)) => format!("sweep-{}-of-{count}.csv", index + 1),
        None => "sweep.csv".to_string(),
    }
}

/// Reads `2/8`: the second of eight shares.
fn shard(text: &str) -> Result<(usize, usize), Failure> {
    let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    match parts {
        Some((index, count)) if (1..=count).contains(&index) => Ok((index - 1, count)),
        _ => Err(Failure::input(format!("--shard {text}: expected I/N with I from 1 to N"))
            .with_hint("the second of eight machines says --shard 2/8")),
    }
}

/// The columns that differ between rows; of a single row, what it has, one below the other.
fn render(sweep: &SweepTable) -> String {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".into(),
        serde_json::Value::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() => esker_core::words::digits(value),
            _ => number.to_string(),
        },
        other => other.to_string(),
    };
    if let [only] = sweep.rows.as_slice() {
        let mut table = Table::new(&["figure", "value"]);
        let figures = sweep.columns.iter().zip(only).filter(|(_, value)| !value.is_null());
        figures.for_each(|(column, value)| table.row([column.clone(), text(value)]));
        return table.render();
    }
    let shown: Vec<usize> = (0..sweep.columns.len())
        .filter(|&column| sweep.rows.iter().any(|row| row.get(column) != sweep.rows[0].get(column)))
        .collect();
    let heads: Vec<&str> = shown.iter().map(|&column| sweep.columns[column].as_str()).collect();
    let mut table = Table::new(&heads);
    for row in &sweep.rows {
        table.row(shown.iter().map(|&column| row.get(column).map_or("-".into(), text)));
    }
    table.render()
}
