//! References made from the code itself: JSON Schemas, and the page of all keys of experiment files.

mod choices;
mod page;

use esker_results::RunResults;
use schemars::{Schema, schema_for};

pub use choices::{ChoiceCapability, ChoiceEntry, Choices, choices};
pub use page::experiments_page;

/// Returns the JSON Schema of results, as published in `docs/schema/results-1.json`.
pub fn results_schema() -> Schema {
    schema_for!(RunResults)
}
