//! From a study's JSON to the page.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use serde::Serialize;
use serde_json::Value as Json;

use crate::bars::{self, Bars};
use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::dies::{self, Dies};
use crate::error::RenderError;
use crate::json::{list, text};
use crate::stretch::{self, SlowStretch};
use crate::{config, filters, glossary};

/// The schema of studies that can be drawn (`esker_study::STUDY_SCHEMA`).
const STUDY_SCHEMA: u64 = 1;

/// The templates by the name that they call each other by.
static TEMPLATES: &[(&str, &str)] = &[
    ("frame.html", include_str!("../templates/frame.html")),
    ("reproduction.html", include_str!("../templates/reproduction.html")),
    ("report.html", include_str!("../templates/report.html")),
    ("macros.html", include_str!("../templates/macros.html")),
    ("overview.html", include_str!("../templates/overview.html")),
    ("verdict.html", include_str!("../templates/verdict.html")),
    ("workload.html", include_str!("../templates/workload.html")),
    ("lifetime.html", include_str!("../templates/lifetime.html")),
    ("cache.html", include_str!("../templates/cache.html")),
    ("misalignment.html", include_str!("../templates/misalignment.html")),
    ("sources.html", include_str!("../templates/sources.html")),
    ("recovery.html", include_str!("../templates/recovery.html")),
    ("performance.html", include_str!("../templates/performance.html")),
    ("stretch.html", include_str!("../templates/stretch.html")),
    ("life.html", include_str!("../templates/life.html")),
    ("candidates.html", include_str!("../templates/candidates.html")),
    ("method.html", include_str!("../templates/method.html")),
    ("words.html", include_str!("../templates/words.html")),
];

/// The page's own styles, after those of the chart library.
static STYLES: &[&str] = &[
    include_str!("../assets/vendor/uplot-1.6.32.min.css"),
    include_str!("../assets/page.css"),
    include_str!("../assets/parts.css"),
    include_str!("../assets/print.css"),
];

/// The chart library, and the words that its licence asks to keep with it.
const UPLOT: &str = include_str!("../assets/vendor/uplot-1.6.32.min.js");
const UPLOT_LICENCE: &str = include_str!("../assets/vendor/uplot-LICENSE");

/// The page's own scripts, in order.
static SCRIPTS: &[&str] = &[
    include_str!("../assets/columns.js"),
    include_str!("../assets/units.js"),
    include_str!("../assets/axes.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/controls.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/terms.js"),
    include_str!("../assets/page.js"),
];

/// What templates know of one workload beside its JSON.
#[derive(Serialize)]
struct Workload<'a> {
    /// Prefix of identities in the page: "w1".
    id: String,
    data: &'a Json,
    charts: Vec<Chart>,
    /// Flash lifetimes and write amplification.
    bars: Vec<Bars>,
    /// The slowest request and those around it.
    slowest: Option<SlowStretch>,
    /// How busy each die was.
    dies: Vec<Dies>,
    /// Configurations of the candidates, in their order.
    configs: Vec<String>,
}

/// The report of `study`: one HTML file that loads nothing. The same JSON gives the same bytes.
///
/// # Errors
/// [`RenderError::NotAStudy`] and [`RenderError::Schema`] where the JSON is something else than a study of the schema
/// that this program knows. Within a study every field may be absent: what needs it is left out.
pub fn render(study: &Json) -> Result<String, RenderError> {
    check(study)?;
    let mut columns = Columns::default();
    let workloads: Vec<Workload<'_>> = list(study, "workloads")
        .iter()
        .enumerate()
        .map(|(index, data)| {
            let id = format!("w{}", index + 1);
            let charts = chart::charts(study, data, &id, &mut columns);
            Workload {
                charts,
                bars: bars::lifetime(study, data),
                slowest: stretch::slow_stretch(data),
                dies: dies::dies(data),
                configs: configs(data),
                id,
                data,
            }
        })
        .collect();
    let charts: Vec<&Chart> = workloads.iter().flat_map(|workload| &workload.charts).collect();
    let more = context! { study => Serde(study), workloads => Serde(&workloads), terms => Serde(glossary::TERMS) };
    fill("report.html", study, &charts, columns, more)
}

/// The page that `template` makes of `data` and of `more`, with its charts, styles and scripts.
pub(crate) fn fill(
    template: &str,
    data: &Json,
    charts: &[&Chart],
    columns: Columns,
    more: Value,
) -> Result<String, RenderError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are sound"));
    filters::register(&mut environment);
    for (name, template) in TEMPLATES {
        environment.add_template(name, template)?;
    }
    let page = environment.get_template(template)?.render(context! {
        data => Serde(data),
        nonce => nonce(data),
        style => Value::from_safe_string(STYLES.join("\n")),
        script => Value::from_safe_string(script()),
        charts_json => inline_json(&charts),
        columns_json => inline_json(&columns.into_vec()),
        data_json => inline_json(data),
        ..more
    })?;
    Ok(page)
}

fn check(study: &Json) -> Result<(), RenderError> {
    let found = match study {
        Json::Object(_) if study.get("workloads").is_some_and(Json::is_array) => None,
        Json::Object(_) => Some("an object without it".to_string()),
        Json::Array(_) => Some("an array".to_string()),
        other => Some(format!("`{other}`")),
    };
    match (found, study.get("schema").and_then(Json::as_u64)) {
        (Some(found), _) => Err(RenderError::NotAStudy { found }),
        (None, Some(found)) if found != STUDY_SCHEMA => Err(RenderError::Schema { found, expected: STUDY_SCHEMA }),
        _ => Ok(()),
    }
}

fn configs(workload: &Json) -> Vec<String> {
    list(workload, "candidates")
        .iter()
        .map(|candidate| {
            let name = text(candidate, "name").unwrap_or("device");
            candidate.get("config").map_or_else(String::new, |found| config::as_toml(name, found))
        })
        .collect()
}

fn script() -> String {
    let own = SCRIPTS.join("\n");
    // The library draws at least two dots a pixel, so that paper is sharp; it asks a global variable for the screen's.
    format!(
        "/*\n{UPLOT_LICENCE}*/\nconst uPlot = ((devicePixelRatio) => {{\n{UPLOT}\nreturn uPlot;\n}})(Math.max(2, \
         window.devicePixelRatio));\n\n(() => {{\n\"use strict\";\n\n{own}}})();\n"
    )
}

/// JSON inside an element `script`: without `<`, nothing in it can end the element or begin another.
fn inline_json(value: &impl Serialize) -> Value {
    let json = serde_json::to_string(value).expect("plain data has a JSON form");
    Value::from_safe_string(json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

/// Only elements with this word run. It depends on all the data, so that no name inside a trace can foresee it.
fn nonce(data: &Json) -> String {
    let bytes = serde_json::to_vec(data).expect("plain data has a JSON form");
    blake3::hash(&bytes).to_hex()[..32].to_string()
}
