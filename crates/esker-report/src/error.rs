//! Why a report could not be written.

use esker_core::Hint;
use thiserror::Error;

/// Why a report could not be written. Both are bugs: every study has a page.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The data inside the page.
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
