//! The page of `esker reproduce`: every claim, and every figure with published values.

use askama::Template;
use esker_results::reproduction::{Claim, ClaimVerdict, ReproducedItem, Reproduction};

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
    fn claims(&self, verdict: &Verdict) -> usize {
        self.data.claims.iter().filter(|claim| verdict.counts(claim)).count()
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
    /// Of stand-ins, whether they are within their tolerance; without one, all that have none.
    holds: Option<bool>,
    /// The key in [`TERMS`], and the name in columns.
    key: &'static str,
    word: &'static str,
    claims: usize,
}

impl Verdict {
    fn counts(&self, claim: &Claim) -> bool {
        claim.verdict == self.verdict && claim.stand_in_holds == self.holds
    }
}

/// The verdicts, with their keys in [`TERMS`] and their names in columns. What is wrong comes first.
static VERDICTS: &[(ClaimVerdict, Option<bool>, &str, &str)] = &[
    (ClaimVerdict::Missed, None, "missed", "Missed"),
    (ClaimVerdict::StandIn, Some(false), "stand-in-outside", "Stand-in, outside"),
    (ClaimVerdict::Met, None, "met", "Met"),
    (ClaimVerdict::StandIn, Some(true), "stand-in-within", "Stand-in, within"),
    (ClaimVerdict::Derived, None, "derived", "Derived"),
    (ClaimVerdict::StandIn, None, "stand-in", "Stand-in, no value"),
    (ClaimVerdict::Unreachable, None, "unreachable", "Unreachable"),
    (ClaimVerdict::Beside, None, "beside", "Beside"),
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
         value (±), or a limit of the authors' or of ours, where there is no published value. The item states it \
         with its reason; a stand-in without one gets a factor of 2.",
    ),
    term("verdict", "Verdict", "How the claim came out."),
    term("reason", "Reason", "Why the tolerance is what it is, or why the claim cannot be met."),
    term("met", "Met", "Within its tolerance."),
    term("missed", "Missed", "Outside its tolerance."),
    term(
        "derived",
        "Derived",
        "Within its tolerance by construction, so it tests nothing: the run was stopped at the published value, an \
         input was fitted to it, or the value follows from another of the measured ones.",
    ),
    term(
        "stand-in",
        "Stand-in",
        "Measured on something that stands in for what the paper used, where the paper has no value or order to \
         compare with.",
    ),
    term(
        "stand-in-outside",
        "Stand-in, outside",
        "Measured on something that stands in for what the paper used, and outside its tolerance there. It never \
         makes the command fail.",
    ),
    term(
        "stand-in-within",
        "Stand-in, within",
        "Measured on something that stands in for what the paper used, and within its tolerance there. It is not \
         counted as met.",
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
    let verdict = |&(verdict, holds, key, word)| {
        let mut counted = Verdict { verdict, holds, key, word, claims: 0 };
        counted.claims = claims().filter(|claim| counted.counts(claim)).count();
        counted
    };
    let charts: Vec<&Chart> = items.iter().flat_map(|item| &item.charts).collect();
    let page = ReproductionPage {
        frame: Frame::new(&found.version, found.seed, found, &charts, columns)?,
        found,
        items: &items,
        papers,
        verdicts: VERDICTS.iter().map(verdict).collect(),
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
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
