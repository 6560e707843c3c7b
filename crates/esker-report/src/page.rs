//! What every page has: styles, scripts, the data inside.

use esker_core::words::page::{GROUP_SPACE, UNIT_SPACE};
use esker_core::words::units;
use serde::Serialize;
use serde_json::json;

use crate::chart::Chart;
use crate::columns::Columns;
use crate::error::RenderError;

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

/// What `templates/frame.html` puts around a page.
pub(crate) struct Frame<'a> {
    /// Version of esker that made the data.
    pub(crate) version: &'a str,
    pub(crate) seed: u64,
    /// Only elements with this word run. It depends on all the data, so that no name inside a trace can foresee it.
    pub(crate) nonce: String,
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) data_json: String,
    pub(crate) charts_json: String,
    pub(crate) columns_json: String,
}

impl<'a> Frame<'a> {
    /// Around a page of `data`, with its charts and their columns.
    pub(crate) fn new(
        version: &'a str,
        seed: u64,
        data: &impl Serialize,
        charts: &[&Chart],
        columns: Columns,
    ) -> Result<Self, RenderError> {
        let data = serde_json::to_string(data)?;
        Ok(Self {
            version,
            seed,
            nonce: blake3::hash(data.as_bytes()).to_hex()[..32].to_string(),
            style: STYLES.join("\n"),
            script: script(),
            data_json: inline(&data),
            charts_json: inline(&serde_json::to_string(charts)?),
            columns_json: inline(&serde_json::to_string(&columns.into_vec())?),
        })
    }
}

fn script() -> String {
    let own = format!("const WRITTEN = {};\n{}", numbers(), SCRIPTS.join("\n"));
    // The library draws at least two dots a pixel, so that paper is sharp; it asks a global variable for the screen's.
    format!(
        "/*\n{UPLOT_LICENCE}*/\nconst uPlot = ((devicePixelRatio) => {{\n{UPLOT}\nreturn uPlot;\n}})(Math.max(2, \
         window.devicePixelRatio));\n\n(() => {{\n\"use strict\";\n\n{own}}})();\n"
    )
}

/// How `assets/units.js` writes numbers: by the tables that the page's own numbers are written by.
fn numbers() -> String {
    let tables = json!({ "times": units::TIMES, "bytes": units::BYTES, "counts": units::COUNTS });
    let spaces = json!({ "group": GROUP_SPACE, "unit": UNIT_SPACE });
    json!({ "tables": tables, "percent": units::PERCENT, "spaces": spaces }).to_string()
}

/// JSON inside an element `script`: without `<`, nothing in it can end the element or begin another.
fn inline(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
