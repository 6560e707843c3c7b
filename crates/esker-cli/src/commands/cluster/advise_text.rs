//! An advice as a table and sentences.

use std::collections::BTreeMap;

use esker_core::words;
use esker_fleet::advice::day_in_words;
use esker_results::advice::{
    AdviceResults, Advised, ClusterAdvice, DriveAdvice, DriveExchange, FigureRange, MomentRange,
};

use crate::table::Table;

/// Where the scripts are, quoted for a shell.
pub(super) struct WrittenScripts {
    pub(super) apply: String,
    pub(super) undo: String,
}

/// Draws an advice.
pub(super) fn render(results: &AdviceResults, scripts: Option<&WrittenScripts>) -> String {
    let mut text = String::new();
    if !results.drives.is_empty() {
        text += &drives(&results.drives);
        text += &sentences_on_drives(&results.drives, &results.currency);
    }
    text += &format!("\n{}", verdict(results));
    for exchange in &results.exchanges {
        text += &exchange_in_words(exchange, results);
    }
    if let Some(cluster) = &results.cluster {
        text += &cluster_in_words(cluster, results, scripts);
    }
    text
}

fn drives(drives: &[DriveAdvice]) -> String {
    let mut table = Table::new(&["drive", "model", "written", "a day", "may be written", "worn out", "range"]);
    for drive in drives {
        let unknown = || "?".to_string();
        let figure = |range: Option<FigureRange>| range.map_or_else(unknown, |range| terabytes(range.likely));
        let (when, range) = match drive.worn_out {
            Some(moments) => (month(moments.likely_unix_s), between(moments)),
            None => ("not judged".into(), String::new()),
        };
        table.row([
            drive.name.clone(),
            drive.model.clone(),
            drive.written_bytes.map_or_else(unknown, |bytes| terabytes(bytes as f64)),
            figure(drive.written_bytes_per_day),
            figure(drive.endurance_bytes),
            when,
            range,
        ]);
    }
    table.render()
}

fn sentences_on_drives(drives: &[DriveAdvice], currency: &str) -> String {
    let mut text = String::new();
    for drive in drives {
        for warning in &drive.warnings {
            text += &format!("{}: {warning}\n", drive.name);
        }
        if let Some(reason) = &drive.not_judged {
            text += &format!("{}: cannot be judged: {reason}\n", drive.name);
        }
    }
    let mut models: BTreeMap<&str, (Vec<&str>, Option<String>)> = BTreeMap::new();
    for drive in drives {
        let (sources, price) = models.entry(&drive.model).or_default();
        for source in &drive.endurance_source {
            if !sources.contains(&source.as_str()) {
                sources.push(source);
            }
        }
        if let (Some(amount), Some(source)) = (drive.price, &drive.price_source) {
            *price = Some(format!("{} {currency}, {source}", words::money(amount)));
        }
    }
    for (model, (sources, price)) in models {
        if !sources.is_empty() {
            text += &format!("{model}: what it may be written is from\n  {}\n", sources.join(", and "));
        }
        if let Some(price) = price {
            text += &format!("{model}: another one costs {price}\n");
        }
    }
    text
}

fn verdict(results: &AdviceResults) -> String {
    let word = match results.verdict.advised {
        Advised::Balance => "Balancing is worth it",
        Advised::NothingToDo => "Nothing to do",
        Advised::Unclear => "Not clear yet",
        Advised::NotJudged => "Cannot be judged",
    };
    let mut reasons = results.verdict.reasons.iter();
    let mut text = format!("{word}: {}.\n", reasons.next().map_or("", |first| first));
    for reason in reasons {
        let (first, rest) = reason.split_at(reason.chars().next().map_or(0, char::len_utf8));
        // Names of drives stay as they are.
        let first =
            if rest.starts_with("dev/") || rest.starts_with("sd.") { first.into() } else { first.to_uppercase() };
        text += &format!("  {first}{rest}.\n");
    }
    text
}

fn exchange_in_words(exchange: &DriveExchange, results: &AdviceResults) -> String {
    let DriveExchange { worn, fresh, .. } = exchange;
    let first = results.drives.iter().map(|drive| drive.last_sample_unix_s).max().unwrap_or_default();
    let when = match exchange.best_unix_s > first {
        true => format!("about {}", month(Some(exchange.best_unix_s))),
        false => "soon".into(),
    };
    let then = match exchange.worn_out_unix_s {
        Some(moment) => format!("about {}", month(Some(moment))),
        None => "in more than 100 years".into(),
    };
    format!(
        "Exchange what {worn} and {fresh} hold once, {when}: both are then worn out {then}.\n  \
         It saves {} within {}, {} {}, and writes {} at most, life worth {} {}.\n",
        count_of_drives(exchange.drives_saved),
        words::years(results.horizon_years),
        words::money(exchange.money_saved),
        results.currency,
        terabytes(exchange.copied_bytes as f64),
        words::money(exchange.money_spent),
        results.currency,
    )
}

fn cluster_in_words(cluster: &ClusterAdvice, results: &AdviceResults, scripts: Option<&WrittenScripts>) -> String {
    let mut text = String::new();
    for reason in &cluster.left_out {
        text += &format!("Left out: {reason}.\n");
    }
    let (Some(saved), Some(money), Some(spent)) = (cluster.drives_saved, cluster.money_saved, cluster.money_spent)
    else {
        return text;
    };
    text += &format!(
        "Move {} placement groups, {} of the {} that may be copied: the first drive is worn out {} instead of {}.\n  \
         It saves {} within {}, {} {}; the copies use up life worth {} {}.\n",
        cluster.moves.len(),
        words::bytes(cluster.copied_bytes as f64),
        words::bytes(cluster.budget_bytes as f64),
        month(cluster.first_worn_out_after_unix_s),
        month(cluster.first_worn_out_unix_s),
        count_of_drives(saved),
        words::years(results.horizon_years),
        words::money(money),
        results.currency,
        words::money(spent),
        results.currency,
    );
    text += &match scripts {
        Some(WrittenScripts { apply, undo }) => {
            format!("Read and run {apply}; {undo} takes it back. Nothing was changed.\n")
        }
        None => "With --script FILE the moves are written as a script. Nothing was changed.\n".to_string(),
    };
    text
}

fn count_of_drives(saved: FigureRange) -> String {
    let drives = if saved.likely == 1.0 { "drive" } else { "drives" };
    match saved.low == saved.high {
        true => format!("{:.0} {drives}", saved.likely),
        false => format!("{:.0} {drives} ({:.0} to {:.0})", saved.likely, saved.low, saved.high),
    }
}

/// By thousands, as drives are rated: "196 TB".
fn terabytes(bytes: f64) -> String {
    let (unit, name) = match bytes {
        bytes if bytes >= 1e15 => (1e15, "PB"),
        bytes if bytes >= 1e12 => (1e12, "TB"),
        bytes if bytes >= 1e9 => (1e9, "GB"),
        _ => (1e6, "MB"),
    };
    format!("{} {name}", words::digits(bytes / unit))
}

fn month(unix_s: Option<i64>) -> String {
    unix_s.map_or("later than 100 years".into(), |unix_s| day_in_words(unix_s)[..7].to_string())
}

fn between(moments: MomentRange) -> String {
    let (from, to) = (moments.earliest_unix_s, moments.latest_unix_s);
    match (from, to) {
        (None, _) => String::new(),
        (Some(_), None) => format!("{} or later", month(from)),
        (Some(_), Some(_)) => format!("{} to {}", month(from), month(to)),
    }
}
