//! One self-contained HTML file from a study, or from what `esker reproduce` found.
//!
//! The file loads nothing: styles, scripts, charts and data are inside, so that it opens from a disk, a mail or a share
//! without a network. The report is drawn from the types of `esker-results` and nothing else; what a study leaves out,
//! the page leaves out.
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
//! How it is made: [`render`] hands the study to the templates in `templates/`, which are compiled and read its fields
//! as Rust does; they write numbers through the filters of `filters.rs`. The charts of `chart/` pick their numbers from
//! the study and bring them onto common places, and the scripts in `assets/` draw them.

mod bars;
mod chart;
mod columns;
mod config;
mod dies;
mod error;
mod filters;
mod glossary;
mod markup;
mod page;
mod reproduction;
#[cfg(test)]
mod samples;
mod stretch;
mod study;

pub use error::RenderError;
pub use reproduction::render_reproduction;
pub use study::render;
