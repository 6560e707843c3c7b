//! What `esker reproduce` found, as a page: every claim, and every figure beside the published one.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::Value as Json;

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::error::RenderError;
use crate::glossary::Term;
use crate::json::{list, text};
use crate::page::fill;

/// What templates know of one table or figure beside its JSON.
#[derive(Serialize)]
struct Item<'a> {
    /// Unique in the page.
    id: String,
    /// Identity of its paper's section.
    paper: String,
    data: &'a Json,
    charts: Vec<Chart>,
    /// Claims by verdict, in the order of [`VERDICTS`].
    counts: Vec<usize>,
}

#[derive(PartialEq, Eq, Serialize)]
struct Paper {
    id: String,
    name: String,
}

/// How often a verdict was reached.
#[derive(Serialize)]
struct Count {
    key: &'static str,
    word: &'static str,
    claims: usize,
}

/// How claims come out (`esker_repro::ClaimVerdict`), as keys of [`TERMS`] and as columns name them.
static VERDICTS: &[(&str, &str)] = &[
    ("met", "Met"),
    ("missed", "Missed"),
    ("derived", "Derived"),
    ("stand-in", "Stand-in"),
    ("unreachable", "Unreachable"),
    ("beside", "Beside"),
];

static TERMS: &[Term] = &[
    term("item", "Item", "A table or a figure of a paper, as `esker reproduce` calls it."),
    term("claim", "Claim", "One value or order that the paper gives, with its unit."),
    term("published", "Published", "The paper's value. In charts it is dashed and hollow."),
    term("measured", "Measured", "What the run gave. In charts it is solid."),
    term("ratio", "Ratio", "Measured over published."),
    term(
        "tolerance",
        "Tolerance",
        "How far the ratio may be from 1 (a share, or for stand-ins a factor), or the measured from the published \
         value (±). The item states it with its reason; a stand-in without one gets a factor of 2.",
    ),
    term("verdict", "Verdict", "How the claim came out."),
    term("reason", "Reason", "Why the tolerance is what it is, or why the claim cannot be met."),
    term("met", "Met", "Within its tolerance."),
    term("missed", "Missed", "Outside its tolerance."),
    term(
        "derived",
        "Derived",
        "Within its tolerance by construction, so it tests nothing: the run was stopped at the published value, or the \
         value follows from another of the measured ones.",
    ),
    term(
        "stand-in",
        "Stand-in",
        "Measured on something that stands in for what the paper used: neither met nor missed, but within its \
         tolerance or outside it.",
    ),
    term("unreachable", "Unreachable", "Cannot be measured, for the reason given."),
    term("beside", "Beside", "Shown for comparison, without a tolerance."),
];

const fn term(key: &'static str, word: &'static str, meaning: &'static str) -> Term {
    Term { key, word, meaning }
}

/// The page of a reproduction: one HTML file that loads nothing. `found` is `{ version, seed, command, items: [{ name,
/// title, source, claims, figures }] }` with the claims and figures of `esker_repro`.
///
/// # Errors
/// [`RenderError::NotAReproduction`] where the JSON has no array `items`. Within an item every field may be absent.
pub fn render_reproduction(found: &Json) -> Result<String, RenderError> {
    if !found.get("items").is_some_and(Json::is_array) {
        return Err(RenderError::NotAReproduction);
    }
    let mut columns = Columns::default();
    let items: Vec<Item<'_>> =
        list(found, "items").iter().enumerate().map(|(index, data)| item(index, data, &mut columns)).collect();
    let mut papers: Vec<Paper> = Vec::new();
    for item in &items {
        let name = text(item.data, "name").unwrap_or_default().split('/').next().unwrap_or_default();
        let paper = Paper { id: item.paper.clone(), name: capitalised(name) };
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    let verdicts: Vec<Count> = VERDICTS
        .iter()
        .enumerate()
        .map(|(at, (key, word))| Count { key, word, claims: items.iter().map(|item| item.counts[at]).sum() })
        .collect();
    let stand_ins = stand_ins(found);
    let charts: Vec<&Chart> = items.iter().flat_map(|item| &item.charts).collect();
    let more = context! {
        items => Serde(&items), papers => Serde(&papers), verdicts => Serde(&verdicts), terms => Serde(TERMS),
        stand_ins => Serde(&stand_ins),
    };
    fill("reproduction.html", found, &charts, columns, more)
}

/// How many stand-ins there are, and how many lie within and outside their tolerance.
#[derive(Serialize)]
struct StandIns {
    all: usize,
    within: usize,
    outside: usize,
}

fn stand_ins(found: &Json) -> StandIns {
    let claims = list(found, "items").iter().flat_map(|item| list(item, "claims"));
    let of_stand_ins: Vec<Option<bool>> = claims
        .filter(|claim| text(claim, "verdict") == Some("stand-in"))
        .map(|claim| claim.get("stand_in_holds").and_then(Json::as_bool))
        .collect();
    let count = |holds: bool| of_stand_ins.iter().filter(|found| **found == Some(holds)).count();
    StandIns { all: of_stand_ins.len(), within: count(true), outside: count(false) }
}

fn item<'a>(index: usize, data: &'a Json, columns: &mut Columns) -> Item<'a> {
    let name = text(data, "name").unwrap_or_default();
    let id = format!("item-{}-{}", index + 1, identity(name));
    let figures = list(data, "figures").iter().enumerate();
    let charts =
        figures.filter_map(|(at, figure)| chart::figure(figure, &id, &format!("figure-{}", at + 1), columns)).collect();
    let count = |verdict| list(data, "claims").iter().filter(|claim| text(claim, "verdict") == Some(verdict)).count();
    let paper = format!("paper-{}", identity(name.split('/').next().unwrap_or_default()));
    Item { id, paper, data, charts, counts: VERDICTS.iter().map(|(key, _)| count(key)).collect() }
}

/// What may stand in an identity and in a link to it.
fn identity(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
