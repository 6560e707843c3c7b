//! Why a report could not be written.

use esker_core::Hint;
use thiserror::Error;

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The JSON is something else than a study.
    #[error("expected the JSON of a study with an array `workloads`, found {found}")]
    NotAStudy {
        /// What was found instead.
        found: String,
    },
    /// The JSON is something else than what `esker reproduce` found.
    #[error("expected what `esker reproduce` found, with an array `items`")]
    NotAReproduction,
    /// The JSON is of a version that this program does not know.
    #[error("the study has schema {found}, and this program reads schema {expected}")]
    Schema {
        /// The study's version.
        found: u64,
        /// The version that can be read.
        expected: u64,
    },
    /// A template failed; this is a bug.
    #[error("the report's template failed")]
    Template(#[from] minijinja::Error),
}

impl Hint for RenderError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NotAStudy { .. } => Some("give the file that `esker study --json` wrote".to_string()),
            Self::Schema { .. } => Some("run `esker study` again with this version of esker".to_string()),
            Self::NotAReproduction | Self::Template(_) => None,
        }
    }
}
