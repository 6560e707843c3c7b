//! Renders one self-contained HTML file from a study, from a run, or from the results of `esker cache`, `esker cluster
//! sim` or `esker reproduce`.
//!
//! The file loads nothing: styles, scripts, charts and data are inside, so that it opens without a network from a disk,
//! a mail or a share. The report is drawn from the types of `esker-results` and nothing else. Values that a study lacks
//! are left out of the page.
//!
//! ```
//! use esker_results::study::{Budgets, STUDY_SCHEMA, StudyReport};
//!
//! let study = StudyReport {
//!     schema: STUDY_SCHEMA,
//!     version: "0.1.0".into(),
//!     command: "esker study week.spc".into(),
//!     seed: 1,
//!     budgets: Budgets::default(),
//!     workloads: Vec::new(),
//!     assumptions: Vec::new(),
//!     cost: None,
//! };
//! let page = esker_report::render(&study).unwrap();
//! assert!(page.contains("esker study week.spc"));
//! ```
//!
//! How it works: [`render`] passes the study to the templates in `templates/`. They are compiled, and read its fields
//! like Rust code; they write numbers through the filters of `filters.rs`. The charts of `chart/` take their numbers
//! from the study and bring them onto common x values, and the scripts in `assets/` draw them.

mod answer;
mod bars;
mod caches;
mod chart;
mod columns;
mod config;
mod dies;
mod error;
mod explain;
mod families;
mod filters;
mod fleet;
mod frontier;
mod glossary;
mod labels;
mod markup;
mod misalignment;
mod page;
mod plan;
mod prices;
mod purchase;
mod reproduction;
mod ruled_out;
mod run;
mod run_event;
#[cfg(test)]
mod samples;
mod standing;
mod stretch;
mod study;
mod tables;
mod validation;

pub use caches::render_cache;
pub use error::RenderError;
pub use explain::{design_names, explain};
pub use families::{FamilyRow, families};
pub use fleet::render_fleet;
pub use plan::render_plan;
pub use reproduction::render_reproduction;
pub use run::render_run;
pub use study::render;
pub use tables::{TABLE_HEADS, Table, markdown, table_names, tables};
pub use validation::render_validation;
