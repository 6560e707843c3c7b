//! The page of `esker reproduce`: every claim, and every figure with published values.

use askama::Template;
use esker_results::reproduction::{Claim, ClaimVerdict, ReproducedItem, Reproduction, Tally};

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term, term};
use crate::page::Frame;

/// The page of a reproduction.
#[derive(Template)]
#[template(path = "reproduction.html", whitespace = "minimize")]
struct ReproductionPage<'a> {
    frame: Frame<'a>,
    found: &'a Reproduction,
    items: &'a [ItemPage<'a>],
    papers: Vec<Paper>,
    verdicts: Vec<Verdict>,
    tally: Tally,
    terms: Vec<Term>,
}

/// One table or figure, and its charts.
struct ItemPage<'a> {
    /// Id, unique in the page.
    id: String,
    /// Id of the section of its paper.
    paper: String,
    data: &'a ReproducedItem,
    charts: Vec<Chart>,
}

impl ItemPage<'_> {
    fn claims(&self, verdict: &ClaimVerdict) -> usize {
        count(&self.data.claims, *verdict)
    }
}

#[derive(PartialEq, Eq)]
struct Paper {
    id: String,
    name: String,
}

/// How many claims have a verdict.
struct Verdict {
    verdict: ClaimVerdict,
    /// The key in [`TERMS`], and the name in columns.
    key: &'static str,
    word: &'static str,
    claims: usize,
}

/// The verdicts, with their keys in [`TERMS`] and their names in columns.
static VERDICTS: &[(ClaimVerdict, &str, &str)] = &[
    (ClaimVerdict::Met, "met", "Met"),
    (ClaimVerdict::Missed, "missed", "Missed"),
    (ClaimVerdict::Derived, "derived", "Derived"),
    (ClaimVerdict::StandIn, "stand-in", "Stand-in"),
    (ClaimVerdict::Unreachable, "unreachable", "Unreachable"),
    (ClaimVerdict::Beside, "beside", "Beside"),
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
        "Within its tolerance by construction, so it tests nothing: the run was stopped at the published value, or \
         the value follows from another of the measured ones.",
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

/// Renders the page of a reproduction: one HTML file that loads nothing.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_reproduction(found: &Reproduction) -> Result<String, RenderError> {
    let mut columns = Columns::default();
    let items: Vec<ItemPage<'_>> =
        found.items.iter().enumerate().map(|(index, data)| item(index, data, &mut columns)).collect();
    let mut papers: Vec<Paper> = Vec::new();
    for item in &items {
        let paper = Paper { id: item.paper.clone(), name: capitalised(paper_of(&item.data.name)) };
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    let claims = || found.items.iter().flat_map(|item| &item.claims);
    let verdict = |&(verdict, key, word)| Verdict { verdict, key, word, claims: count(claims(), verdict) };
    let charts: Vec<&Chart> = items.iter().flat_map(|item| &item.charts).collect();
    let page = ReproductionPage {
        frame: Frame::new(&found.version, found.seed, found, &charts, columns)?,
        found,
        items: &items,
        papers,
        verdicts: VERDICTS.iter().map(verdict).collect(),
        tally: Tally::of(claims()),
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
}

impl ReproductionPage<'_> {
    /// Number of stand-ins of all kinds.
    fn stand_ins(&self) -> usize {
        self.tally.stand_ins_within + self.tally.stand_ins_outside + self.tally.stand_ins_without_value
    }
}

fn count<'a>(claims: impl IntoIterator<Item = &'a Claim>, verdict: ClaimVerdict) -> usize {
    claims.into_iter().filter(|claim| claim.verdict == verdict).count()
}

fn item<'a>(index: usize, data: &'a ReproducedItem, columns: &mut Columns) -> ItemPage<'a> {
    let id = format!("item-{}-{}", index + 1, identity(&data.name));
    let figures = data.figures.iter().enumerate();
    let charts =
        figures.filter_map(|(at, figure)| chart::figure(figure, &id, &format!("figure-{}", at + 1), columns)).collect();
    ItemPage { id, paper: format!("paper-{}", identity(paper_of(&data.name))), data, charts }
}

/// The paper of an item: "kim" for "kim/figure-3.10".
fn paper_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

/// `name` with only the characters that an id and a link to it may have.
fn identity(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
