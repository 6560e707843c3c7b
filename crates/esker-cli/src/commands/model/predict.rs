//! `esker model predict`: what a drive will do with a trace.

use std::path::PathBuf;
use std::process::ExitCode;

use esker_core::words;
use esker_model::{Characteristics, Model, Prediction};
use esker_trace::{Characteriser, CharacteriserSettings, TraceReader};
use serde::Serialize;

use super::read_model;
use crate::args::{Common, PredictArguments};
use crate::cancel;
use crate::commands::trace::{ReadProgress, no_requests, print_notes, read_options};
use crate::failure::Failure;
use crate::output::{self, Outputs, json};
use crate::table::Table;

/// What is printed as JSON.
#[derive(Serialize)]
struct Predicted {
    model: String,
    characteristics: Characteristics,
    predicted: Prediction,
    outside: Vec<String>,
}

/// Characterises the trace and asks the model.
pub(super) fn run(arguments: &PredictArguments, common: &Common) -> Result<ExitCode, Failure> {
    let model = read_model(&arguments.model)?;
    let inputs = [vec![PathBuf::from(&arguments.model)], arguments.traces.clone()].concat();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let json = outputs.json(&arguments.json, &json::PREDICTION)?;
    let characteristics = characterise(&model, arguments, common)?;
    let outside = model.outside(&characteristics).into_iter().map(|range| range.characteristic.clone());
    let predicted = Predicted {
        model: arguments.model.clone(),
        characteristics,
        predicted: model.predict(&characteristics),
        outside: outside.collect(),
    };
    match json {
        Some(json) => json.write_json(&predicted)?,
        None => output::print(&render(&predicted))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn characterise(model: &Model, arguments: &PredictArguments, common: &Common) -> Result<Characteristics, Failure> {
    let mut reader = TraceReader::open(&arguments.traces, &read_options(&arguments.read))?;
    let name = arguments.traces[0].display().to_string();
    let bar = ReadProgress::new(common, &name);
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        characteriser.push_all(&batch);
        bar.moved(&reader);
    }
    drop(bar);
    if reader.notes().records == 0 {
        return Err(no_requests(&arguments.traces[0], reader.notes()));
    }
    print_notes(&reader.notes().lines_without_responses(), common);
    let profile = characteriser.finish(reader.volumes());
    model
        .characteristics(&profile, arguments.fullness.as_f64())
        .map_err(|error| Failure::input(format!("{name}: {error}")))
}

fn render(predicted: &Predicted) -> String {
    let mut table = Table::new(&["predicted", ""]);
    let Prediction { response_us, erases_per_s } = predicted.predicted;
    table.row(["mean response time", &words::time(response_us)]);
    table.row(["erased blocks per second", &words::digits(erases_per_s)]);
    let mut text = table.render();
    if !predicted.outside.is_empty() {
        text += &format!(
            "\nA guess: the trace is outside of what the model was trained on ({})\n",
            predicted.outside.join(", ")
        );
    }
    text
}
