//! The page of `esker cache`. The template `caches.html` reads the types of results field by field.

use askama::Template;
use esker_core::words::{self, page};
use esker_results::cache::{ADMISSION_NONE, CachePair, CacheResult, CacheResults, CacheVolume};

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term, term};
use crate::page::Frame;

/// The page of caches.
#[derive(Template)]
#[template(path = "caches.html", whitespace = "minimize")]
struct CachesPage<'a> {
    frame: Frame<'a>,
    found: &'a CacheResults,
    headline: String,
    sizes: Vec<u64>,
    charts: Vec<Chart>,
    terms: Vec<Term>,
}

static TERMS: &[Term] = &[
    term("policy", "policy", "The rule by which a full cache chooses the object that leaves."),
    term(
        "bound",
        "bound",
        "A policy that knows which accesses will follow. No device can do that; no policy that takes in every miss \
         misses less.",
    ),
    term(
        "admission",
        "admission policy",
        "The rule by which a cache refuses objects that miss, so that less is written to it. Without one every object \
         that misses enters.",
    ),
    term(
        "refused",
        "refused",
        "Accesses that missed, and whose objects were not taken in, as a share of all accesses.",
    ),
    term("object", "object", "What the cache holds or does not hold as a whole."),
    term("accesses", "accesses", "A request is one access to each object that it touches."),
    term("size", "size", "How much the cache holds. Every cache is empty at the beginning of the trace."),
    term("of_all", "of all", "The size as a share of all objects that the trace accesses."),
    term("best", "best", "The policy with the lowest miss ratio of this size, bounds left out."),
    term("misses", "misses", "Accesses to objects that the cache did not hold."),
    term("miss_ratio", "miss ratio", "Misses over accesses. The first access to an object always misses."),
    term("byte_miss_ratio", "byte miss ratio", "Bytes of the accesses that missed, over the bytes of all accesses."),
    term(
        "written",
        "written",
        "Bytes written to the cache: of the accesses that missed and were taken in, and of writes to objects that it \
         held.",
    ),
    term("volume", "volume", "A disk of the traced system, with addresses of its own. All volumes share the cache."),
    term("written_a_day", "written a day", "What is written to the cache as bytes a day, at the rate of the trace."),
    term(
        "knee",
        "knee",
        "The smallest size here with 90 % of the hits that are possible. The first access to an object cannot hit.",
    ),
    term("mean_access", "mean access", "Mean time of an access, by the given times of hits and misses."),
    term(
        "saved",
        "price of a saved ms",
        "Price of the cache over the milliseconds that it takes off the mean access, compared with no cache.",
    ),
    term(
        "spread",
        "lowest and highest",
        "The miss ratio of the sample with the fewest and of that with the most misses; objects are sampled with a \
         seed of its own each time.",
    ),
];

/// Renders the page of `esker cache`: one HTML file that loads nothing.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_cache(found: &CacheResults) -> Result<String, RenderError> {
    let mut columns = Columns::default();
    let charts = chart::of_caches(found, &mut columns);
    let page = CachesPage {
        frame: Frame::new(&found.version, found.seed, found, &charts.iter().collect::<Vec<_>>(), columns)?,
        found,
        headline: headline(found),
        sizes: found.sizes(),
        charts,
        terms: glossary::sorted(TERMS),
    };
    Ok(page.render()?)
}

/// The answer in a sentence: it is about the size in the middle, and says why that one.
fn headline(found: &CacheResults) -> String {
    let sizes = found.sizes();
    let Some(&size) = sizes.get(sizes.len() / 2) else { return String::new() };
    let best = found.best(size, None);
    let Some(first) = best.first() else { return String::new() };
    let names: Vec<String> = best.iter().map(|result| result.pair_name()).collect();
    let mut text = format!(
        "In a cache of {}{}, {} {} {:.1} % of the accesses",
        described(found, size),
        of_all(found, &sizes, size),
        names.join(", "),
        if names.len() == 1 { "misses" } else { "miss" },
        first.miss_ratio * 100.0
    );
    let pairs = found.pairs();
    let usable = pairs.iter().filter(|pair| !pair.policy.is_bound).count();
    if usable > names.len() {
        let what = if has_admissions(found) { "pairs of policies" } else { "policies" };
        text += &format!(", the fewest of {usable} {what}");
    }
    let bound = pairs.iter().find(|pair| pair.policy.is_bound);
    if let Some(bound) = bound.and_then(|pair| found.result(*pair, size)) {
        text += &format!("; none could miss less than {:.1} %", bound.miss_ratio * 100.0);
    }
    text + "."
}

/// What part of all objects a size holds, and which of several sizes it is.
fn of_all(found: &CacheResults, sizes: &[u64], size: u64) -> String {
    let share = words::percent(found.share_of_all(size).min(1.0));
    match sizes.len() {
        1 => format!(" ({share} of what the trace accesses)"),
        2 => format!(" ({share} of what the trace accesses; the larger of two sizes)"),
        number => format!(" ({share} of what the trace accesses; the middle one of {number} sizes)"),
    }
}

fn described(found: &CacheResults, size: u64) -> String {
    match found.in_bytes(size) {
        Some(bytes) => page::bytes(bytes as f64).text(),
        None => format!("{} {}", words::count(size), found.objects_are),
    }
}

/// Whether any admission policy refuses something.
fn has_admissions(found: &CacheResults) -> bool {
    found.admissions.iter().any(|admission| admission.admission != ADMISSION_NONE)
}

impl CachesPage<'_> {
    fn result(&self, pair: &CachePair<'_>, size: &u64) -> Option<&CacheResult> {
        self.found.result(*pair, *size)
    }

    fn miss_ratio(&self, pair: &CachePair<'_>, size: &u64) -> Option<f64> {
        Some(self.result(pair, size)?.miss_ratio)
    }

    fn refused(&self, result: &CacheResult) -> f64 {
        result.refused as f64 / result.requests.max(1) as f64
    }

    fn refused_of(&self, volume: &CacheVolume) -> f64 {
        volume.refused as f64 / volume.requests.max(1) as f64
    }

    fn has_admissions(&self) -> bool {
        has_admissions(self.found)
    }

    fn lowest(&self, result: &CacheResult) -> Option<f64> {
        Some(result.spread?.miss_ratio_lowest)
    }

    fn highest(&self, result: &CacheResult) -> Option<f64> {
        Some(result.spread?.miss_ratio_highest)
    }

    fn share_of_all(&self, size: &u64) -> f64 {
        self.found.share_of_all(*size)
    }

    fn size(&self, size: &u64) -> String {
        described(self.found, *size)
    }

    /// Whether a pair of policies is the best of a size.
    fn is_best(&self, pair: &CachePair<'_>, size: &u64) -> bool {
        let is_this = |result: &&CacheResult| result.pair_name() == pair.name();
        self.found.pairs().len() > 1 && self.found.best(*size, None).iter().any(is_this)
    }

    fn has_volumes(&self) -> bool {
        self.found.results.iter().any(|result| !result.volumes.is_empty())
    }

    fn has_spread(&self) -> bool {
        self.found.results.iter().any(|result| result.spread.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_headline_names_the_best_and_the_bound() {
        let mut found = samples::caches();
        let plain = |found: &CacheResults| headline(found).replace('\u{a0}', " ");
        let expected = "In a cache of 40 KiB (50 % of what the trace accesses; the larger of two sizes), lru misses \
                        30.0 % of the accesses, the fewest of 2 policies; none could miss less than 10.0 %.";
        assert_eq!(plain(&found), expected);
        found.policies.retain(|policy| policy.policy == "lru");
        found.object_bytes = None;
        let expected = "In a cache of 10 start blocks (50 % of what the trace accesses; the larger of two sizes), lru \
                        misses 30.0 % of the accesses.";
        assert_eq!(plain(&found), expected);
        found.results.clear();
        assert_eq!(headline(&found), "");
    }

    #[test]
    fn the_page_has_what_admission_policies_refuse() {
        let found = samples::caches_with_admission();
        assert!(
            headline(&found).contains("lru + larc misses 20.0 % of the accesses, the fewest of 4 pairs of policies")
        );
        let page = render_cache(&found).unwrap();
        assert!(page.contains("lru + larc") && page.contains("Refused") && page.contains("refuses much"));
        assert!(!page.contains("belady + larc"));
        assert!(!render_cache(&samples::caches()).unwrap().contains("Refused"));
    }

    #[test]
    fn the_page_has_what_each_volume_gets() {
        let page = render_cache(&samples::caches_by_volume()).unwrap();
        let (_, section) = page.split_once("id=\"volumes\"").unwrap();
        let (section, _) = section.split_once("</section>").unwrap();
        assert_eq!(section.matches("<tr>").count(), 1 + 2 * samples::caches_with_admission().results.len());
        assert!(section.contains("database") && section.contains("log &#60;2&#62;"), "{section}");
        for page in [samples::caches(), samples::caches_with_admission()].map(|found| render_cache(&found).unwrap()) {
            assert!(!page.contains("id=\"volumes\"") && !page.contains("href=\"#volumes\""));
        }
    }

    #[test]
    fn names_in_results_are_no_markup() {
        let mut found = samples::caches();
        found.command = "esker cache '<script>alert(1)</script>'".into();
        let page = render_cache(&found).unwrap();
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("best") && page.contains("belady"));
    }
}
