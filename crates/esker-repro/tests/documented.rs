//! The tables in docs/reproduction.md and docs/tournament.md between `<!-- measured: ITEM -->` and `<!-- end -->` are
//! those of the runs, and so are those of figures, between `<!-- figure: TITLE -->` and `<!-- end -->`. Items that take
//! minutes are compared with `ESKER_SOAK=2` alone, and those that need traces where `../shared/traces` has them. Those
//! of items that measure this machine, between `<!-- claims: ITEM -->` and `<!-- end -->`, have what is claimed and no
//! figures; nothing is run for them. `ESKER_UPDATE_DOCS=1` writes the tables instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use esker_core::words::published;
use esker_repro::{Claim, Context, Figure, ITEMS, ItemOutcome, Scale, StatedClaim, select};

/// Items that take minutes of processor time.
const SLOW: [&str; 10] = [
    "kim/table-5.6",
    "kim/figure-5.5",
    "kim/figure-5.8",
    "kim/figure-5.9",
    "kim/figure-5.10",
    "xia/figure-23",
    "xia/figure-24",
    "xia/figure-25",
    "xia/figure-26",
    "xia/little-cleaning",
];

/// All of Salman's but the tables share runs that take minutes together.
fn is_slow(item: &str) -> bool {
    SLOW.contains(&item) || (item.starts_with("salman/") && !item.starts_with("salman/table"))
}

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `item` finds.
fn outcome(item: &str, traces: Option<PathBuf>) -> ItemOutcome {
    let cancel = AtomicBool::new(false);
    let context = Context { seed: 1, traces, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    let [found] = select(&[item.to_string()]).unwrap()[..] else { panic!("`{item}` is one item") };
    (found.run)(found, &context).unwrap()
}

/// Claims as a table: what is missed or outside its tolerance comes first.
fn table(mut claims: Vec<Claim>) -> String {
    claims.sort_by_key(|claim| !claim.is_wrong());
    let number = |value: Option<f64>| value.map_or("-".to_string(), published);
    let row = |claim: &Claim| {
        let tolerance = claim.stated_tolerance().unwrap_or_else(|| "-".to_string());
        let (measured, order) = (number(claim.measured), claim.reason.rsplit_once("measured: "));
        let measured = order.filter(|_| claim.measured.is_none()).map_or(measured, |(_, order)| order.to_string());
        let verdict = claim.verdict_in_words();
        format!("| {} | {} | {measured} | {tolerance} | {verdict} |\n", claim.claim, number(claim.published))
    };
    let rows: String = claims.iter().map(row).collect();
    format!("| claim | published | measured | tolerance | verdict |\n|---|---|---|---|---|\n{rows}")
}

/// A figure over categories as a table: a row for each curve.
fn table_of_figure(figure: &Figure) -> String {
    let Scale::Categories { names } = &figure.x.scale else { panic!("{} has categories", figure.title) };
    let row = |name: &str, cells: Vec<String>| format!("| {name} | {} |\n", cells.join(" | "));
    let rows = figure.curves.iter().map(|curve| {
        let at = |index: usize| curve.points.iter().find(|(x, _)| *x == index as f64).map(|(_, y)| published(*y));
        row(&curve.name, (0..names.len()).map(|index| at(index).unwrap_or("-".to_string())).collect())
    });
    format!("{}|---{}|\n{}", row(&figure.y.label, names.clone()), "|---".repeat(names.len()), rows.collect::<String>())
}

/// What `item` claims before it runs.
fn stated(item: &str) -> String {
    let [found] = select(&[item.to_string()]).unwrap()[..] else { panic!("`{item}` is one item") };
    let claims = found.stated_claims().unwrap_or_else(|| panic!("`{item}` is simulated"));
    let row = |claim: &StatedClaim| {
        let published = claim.published.map_or("-".to_string(), published);
        let limit = claim.limit.as_deref().unwrap_or("-");
        format!("| {} | {published} | {limit} | {} |\n", claim.claim, claim.reason)
    };
    // What is only shown, and has no published value, needs no row.
    let judged = claims.iter().filter(|claim| claim.limit.is_some() || claim.published.is_some());
    let rows: String = judged.map(row).collect();
    format!("| claim | published | limit | why |\n|---|---|---|---|\n{rows}")
}

/// `text` with the tables of `kind` made again by `table`, which may leave one as it is.
fn renewed(text: &str, kind: &str, table: impl Fn(&str, &str) -> String) -> (String, usize) {
    let update = std::env::var_os("ESKER_UPDATE_DOCS").is_some();
    let (mut rest, mut written, mut compared) = (text, String::new(), 0);
    let mark = format!("<!-- {kind}: ");
    while let Some((before, after)) = rest.split_once(&mark) {
        let (item, after) = after.split_once(" -->\n").expect("the item is named");
        let (had, after) = after.split_once("<!-- end -->").expect("the table ends");
        let table = table(item, had);
        written += &format!("{before}{mark}{item} -->\n{table}<!-- end -->");
        assert!(update || had == table, "the page has another table of {item}:\n{table}");
        compared += 1;
        rest = after;
    }
    (written + rest, compared)
}

/// Whether tests may take minutes.
fn soaks() -> bool {
    std::env::var("ESKER_SOAK").is_ok_and(|soak| soak != "1")
}

/// Whether `item` is run: all that are quick, and where tests may take minutes, the slow ones, too; or those that
/// `ESKER_ITEMS` names.
fn is_run(item: &str) -> bool {
    match std::env::var("ESKER_ITEMS") {
        Ok(items) => items.split(' ').any(|named| named == item),
        Err(_) => soaks() || !is_slow(item),
    }
}

/// The quick form takes minutes and needs traces that are not distributed.
#[test]
fn the_tables_of_the_tournament_are_those_of_its_runs() {
    let (path, traces) = (repository().join("docs/tournament.md"), repository().join("../shared/traces"));
    let text = std::fs::read_to_string(&path).unwrap();
    // The sample is found from the repository's folder.
    let found = (soaks() && traces.is_dir()).then(|| {
        std::env::set_current_dir(repository()).unwrap();
        outcome("tournament/quick", Some(traces))
    });
    let claims = |_: &str, had: &str| found.as_ref().map_or(had.to_string(), |found| table(found.claims.clone()));
    let (written, tables) = renewed(&text, "measured", claims);
    let figures = |title: &str, had: &str| {
        let Some(found) = &found else { return had.to_string() };
        let figure = found.figures.iter().find(|figure| figure.title == title);
        table_of_figure(figure.unwrap_or_else(|| panic!("there is no figure `{title}`")))
    };
    let (written, drawn) = renewed(&written, "figure", figures);
    assert!((tables, drawn) == (1, 10), "there are tables: {tables} of claims, {drawn} of figures");
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::write(path, written).unwrap();
    }
}

#[test]
fn the_documented_tables_are_those_of_the_runs() {
    let path = repository().join("docs/reproduction.md");
    let text = std::fs::read_to_string(&path).unwrap();
    for named in std::env::var("ESKER_ITEMS").iter().flat_map(|items| items.split(' ')) {
        assert!(
            text.contains(&format!("<!-- measured: {named} -->")),
            "ESKER_ITEMS: the page has no table of `{named}`"
        );
    }
    let run = |item: &str, had: &str| {
        if is_run(item) { table(outcome(item, None).claims) } else { had.to_string() }
    };
    let (written, of_runs) = renewed(&text, "measured", run);
    let (written, of_claims) = renewed(&written, "claims", |item, _| stated(item));
    let measured_here = ITEMS.iter().filter(|item| item.is_measured_here()).count();
    assert!(of_runs >= 4 && of_claims == measured_here, "there are tables");
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::write(path, written).unwrap();
    }
}
