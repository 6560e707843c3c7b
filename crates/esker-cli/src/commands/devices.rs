//! `esker devices`: the products of a catalogue and the presets, with their sources; presets of drives that were
//! extracted or measured.

mod block_device;
mod import;
mod measure;
mod product;

use std::process::ExitCode;

use esker_catalogue::{Catalogue, Product};
use esker_core::{Preset, did_you_mean};
use esker_sim::Choices;
use serde_json::json;

use crate::args::{CatalogueArguments, Common, DevicesArguments, DevicesCommand, read_catalogue};
use crate::failure::Failure;
use crate::output::{self, Outputs, json};
use crate::table::Table;

/// All presets of all kinds of device.
fn presets() -> impl Iterator<Item = &'static Preset> {
    esker_sim::DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)())
}

/// Lists products and presets, shows one, checks a catalogue, or makes a preset of a drive.
pub(crate) fn run(arguments: &DevicesArguments, common: &Common) -> Result<ExitCode, Failure> {
    if let Some(DevicesCommand::Import(arguments)) = &arguments.command {
        import::run(arguments, common.quiet)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(DevicesCommand::Measure(arguments)) = &arguments.command {
        measure::run(arguments, common)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(DevicesCommand::Check { file }) = &arguments.command {
        let catalogue = read_catalogue(file)?;
        let (count, products) = match catalogue.products.len() {
            1 => ("1".to_string(), "product, valid"),
            count => (count.to_string(), "products, all valid"),
        };
        output::print(&format!("{}: {count} {products}\n", file.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let catalogue = arguments.catalogue.catalogue()?;
    let inputs: Vec<_> = arguments.catalogue.files().cloned().collect();
    let json = Outputs::new(arguments.json.force, &inputs)?.json(&arguments.json, &json::DEVICES)?;
    if let Some(name) = &arguments.name {
        let name = as_listed(name, &catalogue);
        check_is_not_hidden(&name, &catalogue, &arguments.catalogue)?;
        match (sold_as(&catalogue, name.as_str()), json) {
            (Some(product), Some(json)) => json.write_json(product)?,
            (Some(product), None) => output::print(&product::describe(product))?,
            (None, Some(json)) => json.write_json(&json!({ "name": name, "toml": describe(&name, &catalogue)? }))?,
            (None, None) => output::print(&describe(&name, &catalogue)?)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    match json {
        Some(json) => json.write_json(&as_json(&catalogue))?,
        None => output::print(&lists(&catalogue))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Products, then presets. Both have a name, a kind and a summary; only products have more.
fn as_json(catalogue: &Catalogue) -> Vec<serde_json::Value> {
    let of_product = |product: &Product| {
        let mut item = json!({ "name": product.name, "kind": product.kind, "summary": product.title });
        item["product"] = json!(product);
        item
    };
    let of_preset = |preset: &Preset| json!({ "name": preset.name, "kind": preset.kind, "summary": preset.summary });
    catalogue.products.iter().map(of_product).chain(presets().map(of_preset)).collect()
}

fn lists(catalogue: &Catalogue) -> String {
    let mut table = Table::new(&["preset", "kind", "what it is"]);
    for preset in presets() {
        table.row([preset.name, preset.kind, preset.summary]);
    }
    let kinds: Vec<String> =
        esker_sim::DEVICE_KINDS.iter().map(|kind| format!("  {}: {}", kind.name, kind.summary)).collect();
    let choices: String = esker_sim::choices().iter().map(list).collect();
    format!(
        "{}\nPresets, which model devices:\n\n{}\nKinds of devices in an experiment file:\n{}\n{choices}\n\
         `esker devices NAME` shows a product or a preset with the source of every figure.\n",
        product::list(catalogue),
        table.render(),
        kinds.join("\n"),
    )
}

/// `name` in small letters, if only so it is the name of a product or a preset.
fn as_listed(name: &str, catalogue: &Catalogue) -> String {
    let lowercase = name.to_lowercase();
    let known = |name: &str| sold_as(catalogue, name).is_some() || presets().any(|preset| preset.name == name);
    if !known(name) && known(&lowercase) { lowercase } else { name.to_string() }
}

/// The product called `name`, or that of a design of a study: "4x-micron-7450-pro-3.84TB".
fn sold_as<'a>(catalogue: &'a Catalogue, name: &str) -> Option<&'a Product> {
    let of_one = match name.split_once("x-") {
        Some((count, rest)) if count.parse::<u32>().is_ok() => rest,
        _ => name,
    };
    let found = catalogue.products.iter().filter(|product| {
        of_one.strip_prefix(product.name.as_str()).is_some_and(|rest| {
            // What follows the name is a capacity.
            rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    found.max_by_key(|product| product.name.len())
}

/// Refuses a product that --only or --without hides, unless a preset has its name.
fn check_is_not_hidden(name: &str, catalogue: &Catalogue, arguments: &CatalogueArguments) -> Result<(), Failure> {
    if sold_as(catalogue, name).is_some() || presets().any(|preset| preset.name == name) {
        return Ok(());
    }
    let all = arguments.with_all_products().catalogue()?;
    let Some(product) = sold_as(&all, name) else { return Ok(()) };
    let (option, hint) = match arguments.without.contains(&product.name) {
        true => ("--without", "take it out of --without"),
        false => ("--only", "leave --only out, or add it there"),
    };
    Err(Failure::input(format!("{option} leaves out the product {}", product.name)).with_hint(hint))
}

/// The whole preset.
fn describe(name: &str, catalogue: &Catalogue) -> Result<String, Failure> {
    let find = |name: &str| presets().find(|preset| preset.name == name);
    if let Some(preset) = find(name) {
        return Ok(format!("{}{}", preset.toml, beside_data_sheets(preset.name)));
    }
    let message = format!("no preset is called `{name}`, and no product of the catalogue {}", catalogue.name);
    Err(Failure::input(message).with_hint(suggestion(name, catalogue)))
}

/// A suggestion for somebody who asked for `name`.
fn suggestion(name: &str, catalogue: &Catalogue) -> String {
    let list = |chosen: &dyn Fn(&&Preset) -> bool| {
        presets().filter(chosen).map(|preset| preset.name).collect::<Vec<_>>().join(", ")
    };
    let wanted = name.to_lowercase();
    if esker_sim::device_kind(&wanted).is_ok() {
        return match list(&|preset| preset.kind == wanted) {
            none if none.is_empty() => format!("`{wanted}` is a kind of device, and has no presets"),
            found => format!("`{wanted}` is a kind of device; its presets are: {found}"),
        };
    }
    let all = || catalogue.names().chain(presets().map(|preset| preset.name));
    let containing: Vec<&str> = all().filter(|name| name.contains(&wanted)).collect();
    if !containing.is_empty() {
        return format!("these contain it: {}", containing.join(", "));
    }
    match did_you_mean(&wanted, all()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`esker devices` lists them".into(),
    }
}

/// Published figures of such drives beside those of the preset, as comments, so that the whole is still a valid file.
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

/// What one key of an experiment file can name, with the parameters.
fn list(Choices { title, key, by_name, entries, .. }: &Choices) -> String {
    let mut forms = Vec::new();
    if *by_name {
        forms.push(format!("`{key} = \"NAME\"`"));
    }
    if entries.iter().any(|entry| !entry.parameters.is_empty()) {
        forms.push(format!("`{key} = {{ kind = \"NAME\", PARAMETER = VALUE }}`"));
    }
    let mut text = format!("\n{title}, {}:\n", forms.join(" or "));
    for entry in entries {
        text += &format!("  {}: {}\n", entry.name, entry.summary);
        for parameter in &entry.parameters {
            text += &format!("    {} = {}: {}\n", parameter.name, parameter.default, parameter.meaning);
        }
    }
    text
}
