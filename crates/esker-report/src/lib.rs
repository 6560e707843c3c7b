//! One self-contained HTML file from a study's JSON, or from what `esker reproduce` found.
//!
//! The file loads nothing: styles, scripts, charts and data are inside, so that it opens from a disk, a mail or a share
//! without a network. The report is drawn from the JSON and nothing else; what the JSON
//! leaves out, the page leaves out.
//!
//! ```
//! let study = serde_json::json!({
//!     "schema": 1, "version": "0.1.0", "seed": 1, "command": "esker study week.spc",
//!     "workloads": [{ "name": "week.spc", "verdict": { "headline": "One SSD is enough.", "findings": [] } }],
//! });
//! let page = esker_report::render(&study).unwrap();
//! assert!(page.contains("One SSD is enough."));
//! ```
//!
//! How it is made: [`render`] hands the JSON to the templates in `templates/`, which read its fields by name and write
//! numbers through the filters of `filters.rs`; the charts of `chart/` pick their numbers from the same JSON and bring
//! them onto common places, and the scripts in `assets/` draw them.

mod bars;
mod chart;
mod columns;
mod config;
mod dies;
mod error;
mod filters;
mod glossary;
mod human;
mod json;
mod page;
mod reproduction;
mod stretch;

pub use error::RenderError;
pub use page::render;
pub use reproduction::render_reproduction;
