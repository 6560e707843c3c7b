//! Reads the results of runs and of plans from the JSON that esker wrote.

use esker_core::Hint;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::parse::from_json;
use crate::study::plan::{PLAN_SCHEMA, PlanReport};
use crate::{RESULTS_SCHEMA, RunResults};

/// Why results could not be read. `what` they are, and the `command` that writes them.
#[derive(Debug, Error)]
pub enum ReadResultsError {
    /// A version of esker with another schema wrote the results.
    #[error("the {what} has schema {found}, and this program reads schema {reads}")]
    Schema {
        /// What was read.
        what: &'static str,
        /// The command.
        command: &'static str,
        /// The schema of the results.
        found: u64,
        /// The schema that this program reads.
        reads: u32,
    },
    /// A field is missing, unknown or of the wrong type.
    #[error("the {what} is damaged at {place}: {fault}")]
    Field {
        /// What was read.
        what: &'static str,
        /// The command.
        command: &'static str,
        /// The path of the field within the results: "`devices.volume.kind`".
        place: String,
        /// The error, with line and column.
        fault: serde_json::Error,
    },
}

impl Hint for ReadResultsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Schema { command, .. } => format!("run `{command}` again with this version of esker"),
            Self::Field { command, .. } => {
                format!("it was written by another version of esker, or changed since; run `{command}` again")
            }
        })
    }
}

fn read<T: DeserializeOwned>(
    json: &[u8],
    (what, command): (&'static str, &'static str),
    reads: u32,
) -> Result<T, ReadResultsError> {
    let schema = serde_json::from_slice(json).ok().and_then(|value: Value| value.get("schema")?.as_u64());
    match schema.filter(|&found| found != u64::from(reads)) {
        Some(found) => Err(ReadResultsError::Schema { what, command, found, reads }),
        None => from_json(json).map_err(|(place, fault)| ReadResultsError::Field { what, command, place, fault }),
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
    pub fn from_json(json: &[u8]) -> Result<Self, ReadResultsError> {
        read(json, ("run", "esker sim"), RESULTS_SCHEMA)
    }
}

impl PlanReport {
    /// Whether this is the JSON of a plan, by fields that only it has. It may still be damaged.
    pub fn is_plan(json: &Value) -> bool {
        ["plans", "currency", "command"].iter().all(|field| json.get(field).is_some())
    }

    /// Reads what `esker plan --json` wrote.
    ///
    /// # Errors
    /// If the JSON is no plan of the schema [`PLAN_SCHEMA`].
    pub fn from_json(json: &[u8]) -> Result<Self, ReadResultsError> {
        read(json, ("plan", "esker plan"), PLAN_SCHEMA)
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

    #[test]
    fn plans_are_told_from_other_json_and_damage_is_named() {
        let json = r#"{ "schema": 1, "command": "esker plan", "currency": "USD", "plans": 1 }"#;
        assert!(PlanReport::is_plan(&serde_json::from_str(json).unwrap()));
        assert!(!PlanReport::is_plan(&serde_json::json!({ "workloads": [], "command": "esker study" })));
        let error = PlanReport::from_json(json.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("the plan is damaged at `plans`: invalid type"), "{error}");
        assert!(error.hint().unwrap().ends_with("run `esker plan` again"));
        let later = PlanReport::from_json(json.replace('1', "2").as_bytes()).unwrap_err().to_string();
        assert_eq!(later, "the plan has schema 2, and this program reads schema 1");
    }
}
