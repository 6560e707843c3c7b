//! The common parts of every page: styles, scripts, the data.

use esker_core::words::page::{GROUP_SPACE, UNIT_SPACE};
use esker_core::words::units;
use serde::Serialize;
use serde_json::json;

use crate::chart::Chart;
use crate::columns::Columns;
use crate::error::RenderError;

/// The styles of the page, after those of the chart library.
static STYLES: &[&str] = &[
    include_str!("../assets/vendor/uplot-1.6.32.min.css"),
    include_str!("../assets/page.css"),
    include_str!("../assets/parts.css"),
    include_str!("../assets/print.css"),
    include_str!("../assets/map.css"),
];

/// The chart library, and the licence text that has to stay with it.
const UPLOT: &str = include_str!("../assets/vendor/uplot-1.6.32.min.js");
const UPLOT_LICENCE: &str = include_str!("../assets/vendor/uplot-LICENSE");

/// The scripts of the page, in order.
static SCRIPTS: &[&str] = &[
    include_str!("../assets/columns.js"),
    include_str!("../assets/units.js"),
    include_str!("../assets/axes.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/controls.js"),
    include_str!("../assets/map.js"),
    include_str!("../assets/map_drawing.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/terms.js"),
    include_str!("../assets/page.js"),
];

/// The parts that `templates/frame.html` puts around a page.
pub(crate) struct Frame<'a> {
    /// Version of esker that wrote the data.
    pub(crate) version: &'a str,
    pub(crate) seed: u64,
    /// Only script elements with this nonce run. It depends on all the data, so that no name in a trace can predict it.
    pub(crate) nonce: String,
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) data_json: String,
    pub(crate) charts_json: String,
    pub(crate) columns_json: String,
}

impl<'a> Frame<'a> {
    /// The frame around a page of `data`, with its charts and their columns.
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
    // The library takes the screen's resolution from a global variable. Draw at least two dots per pixel, so that paper
    // is sharp.
    format!(
        "/*\n{UPLOT_LICENCE}*/\nconst uPlot = ((devicePixelRatio) => {{\n{UPLOT}\nreturn uPlot;\n}})(Math.max(2, \
         window.devicePixelRatio));\n\n(() => {{\n\"use strict\";\n\n{own}}})();\n"
    )
}

/// The tables by which `assets/units.js` writes numbers: the same ones as in Rust.
fn numbers() -> String {
    let tables = json!({ "times": units::TIMES, "bytes": units::BYTES, "counts": units::COUNTS });
    let spaces = json!({ "group": GROUP_SPACE, "unit": UNIT_SPACE });
    json!({ "tables": tables, "percent": units::PERCENT, "spaces": spaces }).to_string()
}

/// JSON for a `script` element. Without `<`, nothing in it can end the element or begin another.
fn inline(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
