//! `esker devices`: the presets, with their sources.

use std::process::ExitCode;

use esker_core::{Preset, did_you_mean};
use serde_json::json;

use crate::args::DevicesArguments;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Every preset of every kind of device.
fn presets() -> impl Iterator<Item = &'static Preset> {
    esker_sim::DEVICE_KINDS.iter().flat_map(|kind| (kind.presets)())
}

/// Lists the presets, or shows one.
pub(crate) fn run(arguments: &DevicesArguments) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.preset {
        let Some(preset) = presets().find(|preset| preset.name == name) else {
            let near = did_you_mean(name, presets().map(|preset| preset.name));
            let hint = near.map_or("`esker devices` lists them".into(), |near| format!("did you mean `{near}`?"));
            return Err(Failure::input(format!("no preset is called `{name}`")).with_hint(hint));
        };
        output::print(&format!("{}{}", preset.toml, beside_data_sheets(preset.name)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(place) = &arguments.json.json {
        let list: Vec<_> = presets()
            .map(|preset| json!({ "name": preset.name, "kind": preset.kind, "summary": preset.summary }))
            .collect();
        output::write_json(place, &list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["preset", "kind", "what it is"]);
    for preset in presets() {
        table.row([preset.name, preset.kind, preset.summary]);
    }
    let kinds: Vec<String> =
        esker_sim::DEVICE_KINDS.iter().map(|kind| format!("  {}: {}", kind.name, kind.summary)).collect();
    output::print(&format!(
        "{}\nKinds of devices in an experiment file:\n{}\n\nTranslation layers of a drive, `ftl = \"NAME\"` or \
         `ftl = {{ kind = \"NAME\", PARAMETER = VALUE }}`:\n{}\n\n\
         `esker devices PRESET` shows every figure with its source.\n",
        table.render(),
        kinds.join("\n"),
        translation_layers(),
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What data sheets say of such drives beside what the preset does. As comments, so that the whole stays a file that
/// can be used.
fn beside_data_sheets(preset: &str) -> String {
    let Some(published) = esker_flash::Published::of(preset) else { return String::new() };
    let mut table = Table::new(&["beside data sheets", "published", "measured", "ratio", "reason"]);
    for figure in published.figures {
        table.row(figure.cells());
    }
    let comments = |text: &str| text.lines().map(|line| format!("# {line}\n")).collect::<String>();
    let note = "Measured on a part of the drive with all its dies, at so many requests at a time.\n\
                The ratio is to the nearest figure of the published range.";
    format!(
        "\n{}{}{}",
        comments(&table.render()),
        comments(note),
        comments(&format!("Published: {}.", published.sources))
    )
}

/// The translation layers with their parameters.
fn translation_layers() -> String {
    let mut lines = Vec::new();
    for entry in esker_flash::FTLS {
        lines.push(format!("  {}: {}", entry.name, entry.summary));
        for parameter in entry.parameters {
            lines.push(format!("    {} = {}: {}", parameter.name, parameter.default, parameter.meaning));
        }
    }
    lines.join("\n")
}
