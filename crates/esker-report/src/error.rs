//! Errors of rendering.

use esker_core::Hint;
use thiserror::Error;

/// Why a report could not be written. Both are bugs: every study can be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The data could not be written into the page.
    #[error("the report's data have no JSON form")]
    Data(#[from] serde_json::Error),
    /// A template failed.
    #[error("the report's template failed")]
    Template(#[from] askama::Error),
}

impl Hint for RenderError {
    fn work_failed(&self) -> bool {
        true
    }
}
