//! Reads studies from the JSON that `esker study --json` wrote.

use esker_core::Hint;
use serde_json::Value;
use thiserror::Error;

use super::{STUDY_SCHEMA, StudyReport};
use crate::RunResults;
use crate::parse::from_json;

/// Why a study could not be read.
#[derive(Debug, Error)]
pub enum ReadStudyError {
    /// The text is not JSON, or only the start of it.
    #[error("expected the JSON of a study: {0}")]
    Syntax(serde_json::Error),
    /// The JSON is something else.
    #[error("expected the JSON of a study, found {found}")]
    NotAStudy {
        /// What it seems to be.
        found: &'static str,
    },
    /// A version of esker with another schema wrote the study.
    #[error("the study has schema {found}, and this program reads schema {STUDY_SCHEMA}")]
    Schema {
        /// The schema of the study.
        found: u64,
    },
    /// A field is missing, unknown or of the wrong type.
    #[error("the study is damaged at {place}: {fault}")]
    Field {
        /// The path of the field within the study: "`workloads[0].profile`".
        place: String,
        /// The error, with line and column.
        fault: serde_json::Error,
    },
}

impl Hint for ReadStudyError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Syntax(_) | Self::NotAStudy { .. } => {
                "give what `esker study`, `esker sim` or `esker plan` wrote with --json=FILE".into()
            }
            Self::Schema { .. } => "run `esker study` again with this version of esker".into(),
            Self::Field { .. } => {
                "it was written by another version of esker, or changed since; run `esker study` again".into()
            }
        })
    }
}

impl StudyReport {
    /// Reads what `esker study --json` wrote.
    ///
    /// # Errors
    /// If the JSON is no study of the schema [`STUDY_SCHEMA`].
    pub fn from_json(json: &[u8]) -> Result<Self, ReadStudyError> {
        let value: Value = serde_json::from_slice(json).map_err(ReadStudyError::Syntax)?;
        if !value.get("workloads").is_some_and(Value::is_array) {
            return Err(ReadStudyError::NotAStudy { found: kind(&value) });
        }
        match value.get("schema").and_then(Value::as_u64) {
            Some(found) if found != u64::from(STUDY_SCHEMA) => return Err(ReadStudyError::Schema { found }),
            _ => drop(value),
        }
        // Parse again from the text, which has lines and columns.
        from_json(json).map_err(|(place, fault)| ReadStudyError::Field { place, fault })
    }
}

/// Names other JSON by fields that only it has.
fn kind(value: &Value) -> &'static str {
    let has = |value: &Value, fields: &[&str]| fields.iter().all(|field| value.get(field).is_some());
    match value {
        run if RunResults::is_run(run) => "a run of `esker sim`",
        Value::Array(claims) if claims.first().is_some_and(|claim| has(claim, &["claim", "verdict"])) => {
            "claims of `esker reproduce`"
        }
        Value::Object(_) => "an object without an array `workloads`",
        Value::Array(_) => "an array",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) | Value::Null => "a single value",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Budgets;
    use super::*;

    fn study() -> StudyReport {
        StudyReport {
            schema: STUDY_SCHEMA,
            version: "0.1.0".into(),
            command: "esker study week.spc".into(),
            seed: 1,
            budgets: Budgets::default(),
            workloads: Vec::new(),
            assumptions: Vec::new(),
            cost: None,
        }
    }

    fn refused(json: &str) -> String {
        StudyReport::from_json(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_was_written_is_read() {
        let json = serde_json::to_vec(&study()).unwrap();
        let read = StudyReport::from_json(&json).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), json);
    }

    #[test]
    fn what_is_no_study_is_refused_with_what_was_found() {
        let run = r#"{ "schema": 1, "workload": {}, "throughput": {}, "devices": {} }"#;
        assert_eq!(refused(run), "expected the JSON of a study, found a run of `esker sim`");
        assert_eq!(refused("[1]"), "expected the JSON of a study, found an array");
        assert_eq!(
            refused(r#"{ "schema": 1, "workloads": 3 }"#),
            "expected the JSON of a study, found an object without an array `workloads`"
        );
        let claims = refused(r#"[{ "claim": "a", "verdict": "met" }]"#);
        assert_eq!(claims, "expected the JSON of a study, found claims of `esker reproduce`");
        assert!(refused("{ \"schema\": 1").contains("at line 1 column"), "{}", refused("{ \"schema\": 1"));
        assert!(refused("Dear diary").starts_with("expected the JSON of a study: expected value at line 1"));
    }

    #[test]
    fn another_schema_is_named_with_the_one_that_can_be_read() {
        let found = refused(r#"{ "schema": 2, "workloads": [] }"#);
        assert_eq!(found, "the study has schema 2, and this program reads schema 1");
    }

    #[test]
    fn a_wrong_field_is_named_with_its_place() {
        let mut study = serde_json::to_value(study()).unwrap();
        study["budgets"]["years"] = "five".into();
        let error = refused(&serde_json::to_string_pretty(&study).unwrap());
        assert!(error.starts_with("the study is damaged at `budgets.years`: invalid type: string \"five\""), "{error}");
        assert!(error.contains("at line 7 column"), "{error}");
        study["budgets"]["years"] = 5.0.into();
        study["budget"] = 1.into();
        let error = refused(&study.to_string());
        assert!(error.starts_with("the study is damaged at `budget`: unknown field `budget`"), "{error}");
        study.as_object_mut().unwrap().remove("budget");
        study.as_object_mut().unwrap().remove("seed");
        let error = refused(&study.to_string());
        assert!(error.starts_with("the study is damaged at its top: missing field `seed` at line 1"), "{error}");
    }
}
