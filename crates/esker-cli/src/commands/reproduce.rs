//! `esker reproduce`: published values beside measured ones.

use std::process::ExitCode;
use std::sync::Arc;

use esker_core::words;
use esker_repro::{Claim, ClaimVerdict, Context, Curve, Figure, Item, ItemOutcome, ReproduceError, Scale, Tally};
use esker_results::reproduction::{ReproducedItem, Reproduction};

use crate::args::{Common, ReproduceArguments};
use crate::failure::Failure;
use crate::output::{Content, Output, Outputs, json};
use crate::progress::{Progress, Unit};
use crate::table::Table;
use crate::{cancel, output};

/// Runs the items. The exit status is 1 if a claim is missed.
pub(crate) fn run(arguments: &ReproduceArguments, common: &Common) -> Result<ExitCode, Failure> {
    let items = esker_repro::select(&arguments.items)?;
    if let Some(folder) = arguments.traces.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::input(format!("--traces {}: there is no such folder", folder.display()))
            .with_hint("name the folder that has the traces, or leave --traces out"));
    }
    let inputs = arguments.traces.as_deref().map(esker_repro::trace_files).unwrap_or_default();
    let mut outputs = Outputs::new(arguments.json.force, &inputs)?;
    let html = arguments.output.as_ref().map(|path| outputs.claim("-o", path, Content::Page)).transpose()?;
    let json = outputs.json(&arguments.json, &json::CLAIMS)?;
    let page_is_printed = html.as_ref().is_some_and(Output::is_standard_output);
    if items.iter().any(|item| item.is_measured_here()) {
        // File systems are taken away again first.
        cancel::ends_by_itself(|| ());
    }
    let mut found = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("{} ({} of {})", item.name, index + 1, items.len());
        found.push((*item, run_item(item, &place, arguments, common)?));
    }
    if cancel::ends_as_usual() {
        return Err(Failure::cancelled());
    }
    if let Some(html) = html {
        write_page(html, &found, arguments, common)?;
    }
    let claims: Vec<&Claim> = found.iter().flat_map(|(_, outcome)| &outcome.claims).collect();
    match json {
        Some(json) => json.write_json(&claims)?,
        None if page_is_printed => {}
        None => {
            let items: String = found.iter().map(|(item, outcome)| render(item, outcome)).collect();
            output::print(&(items + &summary(&found)))?;
        }
    }
    let missed = claims.iter().any(|claim| claim.verdict == ClaimVerdict::Missed);
    Ok(if missed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn run_item(item: &Item, place: &str, arguments: &ReproduceArguments, common: &Common) -> Result<ItemOutcome, Failure> {
    let bar = Progress::new(common.quiet, Unit::Share);
    bar.set_message(place);
    let progress = |share: f64| bar.set((share * 1000.0) as u64, 1000);
    let context = Context {
        seed: common.seed.unwrap_or(1),
        traces: arguments.traces.clone(),
        progress: &progress,
        cancel: cancel::flag(),
        drives: Arc::default(),
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

fn render(item: &Item, ItemOutcome { claims, figures }: &ItemOutcome) -> String {
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
    if item.is_measured_here() || item.is_ours() {
        // No paper and no document has these figures.
        figures.iter().for_each(|figure| text += &values(figure));
    }
    for claim in claims {
        text += &format!("- {}: {}\n", claim.claim, claim.reason);
    }
    text + "\n"
}

/// The curves of a figure as a table, a row for each x.
fn values(figure: &Figure) -> String {
    let mut rows: Vec<f64> = figure.curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| *x).collect();
    rows.sort_by(f64::total_cmp);
    rows.dedup();
    let headers = std::iter::once(figure.x.label.as_str()).chain(figure.curves.iter().map(|curve| curve.name.as_str()));
    let mut table = Table::new(&headers.collect::<Vec<_>>());
    for x in rows {
        let name = match &figure.x.scale {
            Scale::Categories { names } => names.get(x as usize).cloned().unwrap_or_default(),
            Scale::Linear | Scale::Logarithmic => words::published(x),
        };
        let at = |curve: &Curve| curve.points.iter().find(|(other, _)| *other == x).map(|(_, y)| words::published(*y));
        table.row(std::iter::once(name).chain(figure.curves.iter().map(|curve| at(curve).unwrap_or("-".into()))));
    }
    format!("{}, {}\n\n{}\n", figure.title, figure.y.label, table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_repro::Axis;

    #[test]
    fn a_figure_has_a_row_for_each_x_and_a_dash_where_a_curve_has_none() {
        let figure = Figure {
            title: "Rates".into(),
            note: String::new(),
            x: Axis::linear("threads"),
            y: Axis::linear("GB/s"),
            curves: vec![Curve::measured("SCMFS", [(1.0, 2.5), (2.0, 4.0)]), Curve::measured("ext2", [(2.0, 3.0)])],
        };
        let text = values(&figure);
        let cells: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(cells[0], ["Rates,", "GB/s"]);
        assert!(cells.contains(&vec!["1", "2.5", "-"]) && cells.contains(&vec!["2", "4", "3"]), "{text}");
    }
}
