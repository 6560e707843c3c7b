//! What can be said about experiment files and results from the code itself: JSON Schemas and the page of all keys.

mod keys;
mod page;

use esker_core::RunResults;
use schemars::SchemaGenerator;

pub use page::experiments_page;

/// The JSON Schema of results, as published in `docs/schema/results-1.json`.
pub fn results_schema() -> serde_json::Value {
    SchemaGenerator::default().into_root_schema_for::<RunResults>().to_value()
}
