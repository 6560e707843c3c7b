//! `esker reproduce`: published against measured.

use std::process::ExitCode;

use esker_repro::{Claim, ClaimVerdict, Context, Item, Outcome, ReproduceError};

use crate::args::{Common, ReproduceArguments};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::Table;
use crate::{cancel, output};

/// Runs the items; exit status 1 where a claim is missed.
pub(crate) fn run(arguments: &ReproduceArguments, common: &Common) -> Result<ExitCode, Failure> {
    let items = esker_repro::select(&arguments.items)?;
    let mut claims = Vec::new();
    let mut text = String::new();
    for item in items {
        let found = run_item(item, arguments, common)?;
        text += &render(item, &found.claims);
        claims.extend(found.claims);
    }
    match &arguments.json.json {
        Some(place) => output::write_json(place, &claims)?,
        None => output::print(&text)?,
    }
    let missed = claims.iter().any(|claim| claim.verdict == ClaimVerdict::Missed);
    Ok(if missed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn run_item(item: &Item, arguments: &ReproduceArguments, common: &Common) -> Result<Outcome, Failure> {
    let bar = Progress::new(common.quiet, "%");
    bar.say(item.name);
    let progress = |share: f64| bar.set((share * 1000.0) as u64, 1000);
    let context = Context {
        seed: common.seed.unwrap_or(1),
        traces: arguments.traces.clone(),
        progress: &progress,
        cancel: cancel::flag(),
    };
    (item.run)(item, &context).map_err(|error| match error {
        ReproduceError::Cancelled => Failure::cancelled(),
        ReproduceError::Experiment { .. } => Failure::work(error),
        ReproduceError::Unknown { .. } => error.into(),
    })
}

fn render(item: &Item, claims: &[Claim]) -> String {
    let mut table = Table::new(&["claim", "published", "measured", "ratio", "tolerance", "verdict"]);
    for claim in claims {
        let number = |value: Option<f64>| value.map_or("-".to_string(), digits);
        table.row([
            claim.claim.clone(),
            number(claim.published),
            number(claim.measured),
            claim.ratio.map_or("-".into(), |ratio| format!("{ratio:.4}")),
            claim.tolerance.map_or("-".into(), |tolerance| format!("{} %", tolerance * 100.0)),
            match claim.verdict {
                ClaimVerdict::Met => "met",
                ClaimVerdict::Missed => "MISSED",
                ClaimVerdict::StandIn => "stand-in",
                ClaimVerdict::Unreachable => "unreachable",
                ClaimVerdict::Beside => "beside",
            }
            .to_string(),
        ]);
    }
    let mut text = format!("{}: {}\n({})\n\n{}\n", item.name, item.title, item.source, table.render());
    for claim in claims {
        text += &format!("- {}: {}\n", claim.claim, claim.reason);
    }
    text + "\n"
}

/// Four significant digits where a value has a fraction: published values are compared to the last of theirs.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_keep_the_digits_that_papers_print() {
        assert_eq!(digits(43.824), "43.82");
        assert_eq!(digits(6.39428), "6.394");
        assert_eq!(digits(61_255.4), "61255");
        assert_eq!(digits(130.6), "130.6");
        assert_eq!(digits(223.0), "223");
        assert_eq!(digits(0.0), "0");
    }
}
