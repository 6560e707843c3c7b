//! `esker reproduce`: published values beside measured ones.

use std::process::ExitCode;

use esker_core::words;
use esker_repro::{Claim, ClaimVerdict, Context, Item, ItemOutcome, ReproduceError, Tally};
use esker_results::reproduction::{ReproducedItem, Reproduction};

use crate::args::{Common, ReproduceArguments};
use crate::failure::Failure;
use crate::output::{Content, Output, Outputs, json};
use crate::progress::Progress;
use crate::table::Table;
use crate::{cancel, output};

/// Runs the items. The exit status is 1 if a claim is missed.
pub(crate) fn run(arguments: &ReproduceArguments, common: &Common) -> Result<ExitCode, Failure> {
    let items = esker_repro::select(&arguments.items)?;
    let inputs = arguments.traces.as_deref().map(esker_repro::trace_files).unwrap_or_default();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let html = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::CLAIMS)?;
    let page_is_printed = html.as_ref().is_some_and(Output::is_standard_output);
    let mut found = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("{} ({} of {})", item.name, index + 1, items.len());
        found.push((*item, run_item(item, &place, arguments, common)?));
    }
    if let Some(html) = html {
        write_page(html, &found, arguments, common)?;
    }
    let claims: Vec<&Claim> = found.iter().flat_map(|(_, outcome)| &outcome.claims).collect();
    match json {
        Some(json) => json.write_json(&claims)?,
        None if page_is_printed => {}
        None => {
            let items: String = found.iter().map(|(item, outcome)| render(item, &outcome.claims)).collect();
            output::print(&(items + &summary(&found)))?;
        }
    }
    let missed = claims.iter().any(|claim| claim.verdict == ClaimVerdict::Missed);
    Ok(if missed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn run_item(item: &Item, place: &str, arguments: &ReproduceArguments, common: &Common) -> Result<ItemOutcome, Failure> {
    let bar = Progress::new(common.quiet, "%");
    bar.set_message(place);
    let progress = |share: f64| bar.set((share * 1000.0) as u64, 1000);
    let context = Context {
        seed: common.seed.unwrap_or(1),
        traces: arguments.traces.clone(),
        progress: &progress,
        cancel: cancel::flag(),
    };
    (item.run)(item, &context).map_err(|error| match error {
        ReproduceError::Cancelled => Failure::cancelled(),
        error => error.into(),
    })
}

fn write_page(
    html: Output,
    found: &[(&Item, ItemOutcome)],
    arguments: &ReproduceArguments,
    common: &Common,
) -> Result<(), Failure> {
    let items = found.iter().map(|(item, outcome)| ReproducedItem {
        name: item.name.to_string(),
        title: item.title.to_string(),
        source: item.source.to_string(),
        claims: outcome.claims.clone(),
        figures: outcome.figures.clone(),
    });
    let found = Reproduction {
        version: env!("CARGO_PKG_VERSION").to_string(),
        seed: common.seed.unwrap_or(1),
        command: command_line(arguments, common),
        items: items.collect(),
    };
    let page = esker_report::render_reproduction(&found)?;
    if cancel::requested() {
        return Err(Failure::cancelled());
    }
    html.write_text(&page)
}

/// The command that repeats the run, without options that only name outputs.
fn command_line(arguments: &ReproduceArguments, common: &Common) -> String {
    let mut line = "esker reproduce".to_string();
    if arguments.items.is_empty() {
        line += " --all";
    }
    for item in &arguments.items {
        line += &format!(" {item}");
    }
    if arguments.traces.is_some() {
        line += " --traces FOLDER";
    }
    if let Some(seed) = common.seed {
        line += &format!(" --seed {seed}");
    }
    line
}

/// Number of claims by verdict, for each paper. What is missed and what is outside is listed first.
fn summary(found: &[(&Item, ItemOutcome)]) -> String {
    let mut papers: Vec<(&str, Vec<&Claim>)> = Vec::new();
    for (item, outcome) in found {
        let paper = item.name.split('/').next().unwrap_or_default();
        if papers.last().is_none_or(|(last, _)| *last != paper) {
            papers.push((paper, Vec::new()));
        }
        papers.last_mut().expect("it was just pushed").1.extend(&outcome.claims);
    }
    let wrong = found.iter().flat_map(|(_, outcome)| &outcome.claims).filter(|claim| claim.is_wrong());
    let wrong: String =
        wrong.map(|claim| format!("- {}: {}: {}\n", claim.verdict_in_words(), claim.item, claim.claim)).collect();
    let tallies: String =
        papers.iter().map(|(paper, claims)| format!("{paper}: {}\n", Tally::of(claims.iter().copied()))).collect();
    if wrong.is_empty() { tallies } else { format!("{wrong}\n{tallies}") }
}

fn render(item: &Item, claims: &[Claim]) -> String {
    let mut table = Table::new(&["claim", "published", "measured", "ratio", "tolerance", "verdict"]);
    for claim in claims {
        let number = |value: Option<f64>| value.map_or("-".to_string(), words::published);
        table.row([
            claim.claim.clone(),
            number(claim.published),
            number(claim.measured),
            claim.ratio.map_or("-".into(), |ratio| format!("{ratio:.4}")),
            claim.stated_tolerance().unwrap_or_else(|| "-".into()),
            claim.verdict_in_words().to_string(),
        ]);
    }
    let mut text = format!("{}: {}\n({})\n\n{}\n", item.name, item.title, item.source, table.render());
    for claim in claims {
        text += &format!("- {}: {}\n", claim.claim, claim.reason);
    }
    text + "\n"
}
