//! The page of `esker cluster sim`. The template `fleet.html` reads the types of results field by field.

use askama::Template;
use esker_core::words;
use esker_results::fleet::{FleetResults, FleetRun};

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term, term};
use crate::page::Frame;

/// The page of a fleet under some balancers.
#[derive(Template)]
#[template(path = "fleet.html", whitespace = "minimize")]
struct FleetPage<'a> {
    frame: Frame<'a>,
    results: &'a FleetResults,
    headline: String,
    charts: Vec<Chart>,
    terms: Vec<Term>,
}

static TERMS: &[Term] = &[
    term("balancer", "balancer", "Decides at the end of each epoch which slices should be on other servers."),
    term("first", "first worn out", "When the first server had used up what its data sheet says it can be written."),
    term(
        "bound",
        "bound",
        "All life left divided by all writes: when all servers would be worn out together. No balancer can be better.",
    ),
    term("used", "life used", "What a server was written, as a share of what its data sheet says it can be written."),
    term("sd", "standard deviation", "How far servers are from their mean, over those that serve at the end."),
    term("p99", "p99", "What 99 of 100 servers do not exceed."),
    term(
        "extra",
        "extra writes",
        "What balancing wrote, as a share of what hosts wrote: copies of slices that moved, and the rest of objects \
         that were moved by a write of a part.",
    ),
    term("moves", "moves", "Slices that began to move because the balancer wanted it."),
    term(
        "code",
        "erasure codes",
        "Parity of groups of cold slices, which have no copies, and copies of slices that hosts write again.",
    ),
    term("lost", "lost slices", "Slices of which no server had every object any more after a failure."),
];

/// Renders the page of `esker cluster sim`: one HTML file that loads nothing. The same results always give the same
/// bytes.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_fleet(results: &FleetResults) -> Result<String, RenderError> {
    let mut columns = Columns::default();
    let charts = chart::of_fleet(results, &mut columns);
    let page = FleetPage {
        frame: Frame::new(&results.version, results.seed, results, &charts.iter().collect::<Vec<_>>(), columns)?,
        results,
        headline: headline(results),
        charts,
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
}

fn duration(nanos: u64) -> String {
    words::duration(nanos as f64 / 1e9)
}

/// Which balancer lasts longest, in words.
fn headline(results: &FleetResults) -> String {
    let lasts = |run: &FleetRun| run.first_worn_out_ns.unwrap_or(u64::MAX);
    let Some(longest) = results.runs.iter().map(lasts).max() else { return "No balancer was simulated.".to_string() };
    let best: Vec<&str> =
        results.runs.iter().filter(|run| lasts(run) == longest).map(|run| run.balancer.as_str()).collect();
    let names = best.join(", ");
    let shortest = results.runs.iter().min_by_key(|run| lasts(run)).filter(|run| lasts(run) < longest);
    let against =
        shortest.map_or(String::new(), |run| format!(", with {} after {}", run.balancer, duration(lasts(run))));
    match longest {
        u64::MAX => {
            let end = results.runs.iter().map(|run| run.epochs * results.epoch_ns).max().unwrap_or(0);
            format!("With {names}, no server is worn out within {}{against}.", duration(end))
        }
        longest => format!("With {names}, the first server is worn out after {}{against}.", duration(longest)),
    }
}

impl FleetPage<'_> {
    /// When the first server was worn out, or the time within which none was.
    fn first(&self, run: &FleetRun) -> String {
        let none = || format!("none in {}", duration(run.epochs * self.results.epoch_ns));
        run.first_worn_out_ns.map_or_else(none, duration)
    }

    /// Whether slices ever became ones of an erasure code.
    fn has_code(&self) -> bool {
        self.results.runs.iter().any(|run| run.counts.became_coded > 0)
    }

    fn replacements(&self, run: &FleetRun) -> String {
        let counts = &run.counts;
        format!("{} / {} / {}", counts.worn_out, counts.failed, counts.replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_which_balancer_lasts_longest_and_loads_nothing() {
        let mut results = crate::samples::fleet(3);
        let day = 86_400_000_000_000;
        results.runs.push(FleetRun {
            balancer: "none <b>".into(),
            first_worn_out_ns: Some(3 * day),
            ..results.runs[0].clone()
        });
        results.runs[0].first_worn_out_ns = Some(40 * day);
        assert_eq!(
            headline(&results),
            "With life, the first server is worn out after 40 days, with none <b> after 3 days."
        );
        let page = render_fleet(&results).unwrap();
        assert_eq!(page, render_fleet(&results).unwrap());
        assert!(page.contains("none &lt;b&gt;") || page.contains("none &#60;b&#62;"), "names are escaped");
        assert!(!page.contains("none <b>") && !page.contains("src=\"http"));
        results.runs[0].first_worn_out_ns = None;
        assert!(headline(&results).starts_with("With life, no server is worn out within "), "{}", headline(&results));
    }
}
