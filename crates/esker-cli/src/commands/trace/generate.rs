//! `esker trace generate`: synthetic traces, free or fitted to a real one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_core::{Bytes, ReadError};
use esker_trace::{Record, Synthesiser, SyntheticSettings, TraceModel, TraceModelFitter, TraceReader};

use super::{ReadProgress, TraceOutput, no_requests, print_notes, read_options};
use crate::args::{Common, GenerateArguments};
use crate::cancel;
use crate::commands::assignments::assignments;
use crate::commands::workload_preset::over_preset;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress::{Progress, Unit};
use crate::trace_ending::{check_terminal, format_of};

/// The default `footprint`, since there is no device to take it from.
const FOOTPRINT: Bytes = Bytes::gib(1);

/// Generates the trace.
pub(super) fn run(arguments: &GenerateArguments, common: &Common) -> Result<ExitCode, Failure> {
    let seed = common.seed.unwrap_or(1);
    let format = format_of(&arguments.write)?;
    check_terminal(&arguments.write, format)?;
    let inputs: Vec<PathBuf> = arguments.like.iter().chain(&arguments.spec).cloned().collect();
    let output = Outputs::of_traces(arguments.write.force, &inputs)?.trace(&arguments.write)?;
    let begin = |volumes: &[String]| TraceOutput::begin(output, format, volumes);
    match &arguments.like {
        Some(model) => {
            let model = fit(model, arguments, common)?;
            let requests = arguments.requests.unwrap_or_else(|| model.requests());
            write(begin(model.volumes())?, common, requests, model.generate(requests, seed))
        }
        None => {
            let settings = settings(arguments)?;
            let records = Synthesiser::new(&settings, settings.footprint_on(FOOTPRINT), seed)?;
            write(begin(&[Synthesiser::VOLUME.to_string()])?, common, settings.requests, records)
        }
    }
}

fn fit(path: &Path, arguments: &GenerateArguments, common: &Common) -> Result<TraceModel, Failure> {
    let mut reader = TraceReader::open(&[PathBuf::from(path)], &read_options(&arguments.read))?;
    let bar = ReadProgress::new(common, "fitting");
    let mut fitter = TraceModelFitter::default();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        fitter.push_all(&batch);
        bar.moved(&reader);
    }
    drop(bar);
    if reader.notes().records == 0 {
        return Err(no_requests(path, reader.notes()));
    }
    print_notes(&reader.notes().lines_without_responses(), common);
    let model = fitter.finish(reader.volumes());
    if model.requests() == 0 {
        return Err(Failure::input(format!("{} has no requests to be like", path.display())));
    }
    Ok(model)
}

/// The settings of the `--spec` file, overridden by every `--set`.
fn settings(arguments: &GenerateArguments) -> Result<SyntheticSettings, Failure> {
    let mut table = match &arguments.spec {
        None => toml::Table::new(),
        Some(path) => {
            let text = esker_files::read_to_string(path)
                .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
            text.parse().map_err(|error: toml::de::Error| {
                let why = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
                Failure::input(format!("{}: this is not TOML: {why}", path.display())).with_hint(
                    "--spec names a file with keys of `synthetic`, such as `read_fraction = 0.7`; --like fits a trace",
                )
            })?
        }
    };
    table.extend(assignments(&arguments.set, "read_fraction=0.7")?);
    if let Some(requests) = arguments.requests {
        table.insert("requests".into(), i64::try_from(requests).unwrap_or(i64::MAX).into());
    }
    let table = over_preset(table)?;
    if let Some(key) = not_finite(&table) {
        return Err(Failure::input(format!("{key}: expected a number, found one without end or that is none")));
    }
    for key in ["workload", "device", "run"] {
        if let (true, Some(path)) = (table.contains_key(key), &arguments.spec) {
            let message = format!("{} is a whole experiment: it has a table `{key}`", path.display());
            return Err(Failure::input(message).with_hint("--spec reads only the keys of its `workload.synthetic`"));
        }
    }
    if !table.contains_key("requests") {
        return Err(
            Failure::input("how many requests?").with_hint("say --requests N, or --like TRACE for as many as it has")
        );
    }
    let table = serde_json::to_value(table).expect("a table of settings is JSON, too");
    esker_core::read(&table).map_err(|error: ReadError| error.into())
}

/// The key of a number that is infinite or none: JSON, through which settings are read, has no such numbers.
fn not_finite(table: &toml::Table) -> Option<String> {
    table.iter().find_map(|(key, value)| match value {
        toml::Value::Float(number) if !number.is_finite() => Some(format!("{key} = {number}")),
        toml::Value::Table(below) => not_finite(below).map(|found| format!("{key}.{found}")),
        _ => None,
    })
}

fn write(
    mut output: TraceOutput,
    common: &Common,
    requests: u64,
    records: impl Iterator<Item = Record>,
) -> Result<ExitCode, Failure> {
    let bar = Progress::new(common.quiet, Unit::Things("requests"));
    bar.set_message("generating");
    for (index, record) in records.enumerate() {
        output.push(&record)?;
        if index % 65_536 == 0 {
            if cancel::requested() {
                return Err(Failure::cancelled());
            }
            bar.set(index as u64, requests);
        }
    }
    drop(bar);
    output.finish(common)?;
    Ok(ExitCode::SUCCESS)
}
