//! `esker devices`: the presets, with their sources.

use std::process::ExitCode;

use esker_core::{Preset, did_you_mean, words};
use esker_plan::{Catalogue, Product};
use esker_sim::Choices;
use serde_json::json;

use crate::args::DevicesArguments;
use crate::failure::Failure;
use crate::output::{self, Outputs};
use crate::table::Table;

/// All presets of all kinds of device.
fn presets() -> impl Iterator<Item = &'static Preset> {
    esker_sim::DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)())
}

/// Lists the presets, or shows one.
pub(crate) fn run(arguments: &DevicesArguments) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.preset {
        output::print(&describe(name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(json) = Outputs::new(arguments.json.force, &[])?.json(&arguments.json)? {
        let list: Vec<_> = presets()
            .map(|preset| json!({ "name": preset.name, "kind": preset.kind, "summary": preset.summary }))
            .collect();
        json.write_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["preset", "kind", "what it is"]);
    for preset in presets() {
        table.row([preset.name, preset.kind, preset.summary]);
    }
    let kinds: Vec<String> =
        esker_sim::DEVICE_KINDS.iter().map(|kind| format!("  {}: {}", kind.name, kind.summary)).collect();
    let choices: String = esker_sim::choices().iter().map(list).collect();
    let catalogue = current();
    let mut products = Table::new(&["product", "market", "class", "what it is"]);
    for product in &catalogue.products {
        let what = format!("{} ({})", product.title, product.year);
        products.row([product.name.as_str(), product.market.name(), product.class.name(), &what]);
    }
    output::print(&format!(
        "Products that `esker study` chooses from, as of {}:\n{}\nPresets:\n{}\n\
         Kinds of devices in an experiment file:\n{}\n{choices}\n\
         `esker devices NAME` shows a product or a preset, and every figure with its source.\n",
        catalogue.as_of,
        products.render(),
        table.render(),
        kinds.join("\n"),
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The whole preset. `name` may also be a design that reports show and that is made from the preset.
fn describe(name: &str) -> Result<String, Failure> {
    let find = |name: &str| presets().find(|preset| preset.name == name);
    if let Some(preset) = find(name) {
        return Ok(format!("{}{}", preset.toml, beside_data_sheets(preset.name)));
    }
    let catalogue = current();
    if let Some(product) = sold_as(&catalogue, name) {
        return Ok(describe_product(product));
    }
    Err(Failure::input(format!("no preset is called `{name}`")).with_hint(suggestion(name)))
}

/// The catalogue that studies choose from.
fn current() -> Catalogue {
    Catalogue::builtin("current").expect("it is built in")
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

/// A product in words, as comments of TOML, and what it is simulated as.
fn describe_product(product: &Product) -> String {
    let mut text = format!(
        "# {} ({})\n# Market: {}; class: {}; {}\n",
        product.title, product.year, product.market, product.class, product.interface
    );
    let mut line = |what: &str, value: String| text += &format!("# {what}: {value}\n");
    for capacity in &product.capacities {
        let sold = product.drive_writes_per_day_sold(capacity.bytes).map_or(String::new(), |writes| {
            format!(
                ", warranted for {} drive writes a day over {} years",
                words::factor(writes),
                product.warranty_years
            )
        });
        let price = product.purchase(capacity.bytes);
        line(
            "capacity",
            format!("{} GB{sold}; price {price} {}", capacity.bytes.0 / 1_000_000_000, product.price.value.currency),
        );
    }
    line("price as of", format!("{}, {}", product.price.value.as_of, origin(product.price.source.as_deref())));
    if let Some(power) = &product.power {
        let draw = power.value;
        line("power", format!("{} active, {} idle, {}", draw.active, draw.idle, origin(power.source.as_deref())));
    }
    if let Some(rate) = &product.annual_failure_rate {
        line("annual failure rate", format!("{}, {}", rate.value, origin(rate.source.as_deref())));
    }
    line("source", origin(product.source.as_deref()));
    for assumption in product.assumptions() {
        line("assumed", assumption);
    }
    line("simulated as", format!("preset {}, which `esker devices {}` shows", product.preset, product.preset));
    text
}

fn origin(source: Option<&str>) -> String {
    source.map_or("assumed".into(), Into::into)
}

/// A suggestion for somebody who asked for the preset `name`.
fn suggestion(name: &str) -> String {
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
    let containing = list(&|preset| preset.name.contains(&wanted));
    if !containing.is_empty() {
        return format!("these contain it: {containing}");
    }
    let catalogue = current();
    match did_you_mean(&wanted, presets().map(|preset| preset.name).chain(catalogue.names())) {
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
