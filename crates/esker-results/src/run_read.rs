//! Reads results of runs from the JSON that `esker sim --json` wrote.

use esker_core::Hint;
use serde_json::Value;
use thiserror::Error;

use crate::parse::from_json;
use crate::{RESULTS_SCHEMA, RunResults};

/// Why the results of a run could not be read.
#[derive(Debug, Error)]
pub enum ReadRunError {
    /// A version of esker with another schema wrote the results.
    #[error("the run has schema {found}, and this program reads schema {RESULTS_SCHEMA}")]
    Schema {
        /// The schema of the results.
        found: u64,
    },
    /// A field is missing, unknown or of the wrong type.
    #[error("the run is damaged at {place}: {fault}")]
    Field {
        /// The path of the field within the results: "`devices.volume.kind`".
        place: String,
        /// The error, with line and column.
        fault: serde_json::Error,
    },
}

impl Hint for ReadRunError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Schema { .. } => "run `esker sim` again with this version of esker".into(),
            Self::Field { .. } => {
                "it was written by another version of esker, or changed since; run `esker sim` again".into()
            }
        })
    }
}

impl RunResults {
    /// Whether this is the JSON of a run, by fields that only it has. It may still be damaged.
    pub fn is_run(json: &Value) -> bool {
        ["workload", "throughput", "devices"].iter().all(|field| json.get(field).is_some())
    }

    /// Reads what `esker sim --json` wrote.
    ///
    /// # Errors
    /// If the JSON is no run of the schema [`RESULTS_SCHEMA`].
    pub fn from_json(json: &[u8]) -> Result<Self, ReadRunError> {
        let schema = serde_json::from_slice(json).ok().and_then(|run: Value| run.get("schema")?.as_u64());
        match schema.filter(|&found| found != u64::from(RESULTS_SCHEMA)) {
            Some(found) => Err(ReadRunError::Schema { found }),
            None => from_json(json).map_err(|(place, fault)| ReadRunError::Field { place, fault }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_from_other_json_and_damage_is_named() {
        let json = r#"{ "schema": 1, "workload": {}, "throughput": {}, "devices": {} }"#;
        assert!(RunResults::is_run(&serde_json::from_str(json).unwrap()));
        assert!(!RunResults::is_run(&serde_json::json!({ "workloads": [], "devices": {} })));
        let refused = |json: &str| RunResults::from_json(json.as_bytes()).unwrap_err().to_string();
        assert!(refused(json).starts_with("the run is damaged at `workload`: missing field"), "{}", refused(json));
        assert_eq!(refused(&json.replace('1', "2")), "the run has schema 2, and this program reads schema 1");
        assert!(refused("[]").starts_with("the run is damaged at its top"));
    }
}
