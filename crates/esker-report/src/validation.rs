//! The page of `esker validate`. The template `validation.html` reads the types of results field by field.

use askama::Template;
use esker_core::words;
use esker_results::validation::{ValidationClass, ValidationResults};

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term, term};
use crate::page::Frame;

/// The page of a comparison with measured response times.
#[derive(Template)]
#[template(path = "validation.html", whitespace = "minimize")]
struct ValidationPage<'a> {
    frame: Frame<'a>,
    found: &'a ValidationResults,
    headline: String,
    charts: Vec<Chart>,
    terms: Vec<Term>,
}

static TERMS: &[Term] = &[
    term("class", "class", "Requests that lie alike to the one before them, or that the model serves alike."),
    term("near", "near", "Within 2,000 sectors of the end of the request before, but not right behind it."),
    term("far", "far", "More than 2,000 sectors from the end of the request before."),
    term("measured", "measured", "Mean response time of the real device."),
    term(
        "simulated",
        "simulated",
        "Mean response time of the model, which got the same requests with the same pauses.",
    ),
    term(
        "demerit",
        "demerit",
        "Both lists of response times are sorted and compared item by item: the root of the mean squared difference. \
         It is the distance between the two distributions.",
    ),
    term("relative", "of the mean", "The demerit over the measured mean."),
];

/// Renders the page of `esker validate`: one HTML file that loads nothing.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_validation(found: &ValidationResults) -> Result<String, RenderError> {
    let mut columns = Columns::default();
    let charts = chart::of_validation(found, &mut columns);
    let page = ValidationPage {
        frame: Frame::new(&found.version, found.seed, found, &charts.iter().collect::<Vec<_>>(), columns)?,
        found,
        headline: format!(
            "The model is {} off, {:.1} % of the mean: it takes {} where the device took {}.",
            words::time(found.demerit_ms * 1e3),
            found.demerit_relative * 100.0,
            words::time(found.simulated_mean_ms * 1e3),
            words::time(found.measured_mean_ms * 1e3),
        ),
        charts,
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
}

impl ValidationPage<'_> {
    fn measured_us(&self, class: &ValidationClass) -> f64 {
        class.measured_mean_ms * 1e3
    }

    fn simulated_us(&self, class: &ValidationClass) -> f64 {
        class.simulated_mean_ms * 1e3
    }

    fn demerit_us(&self, class: &ValidationClass) -> f64 {
        class.demerit_ms * 1e3
    }
}
