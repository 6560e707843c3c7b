//! Result files of points, which exist as a whole or not at all.

use std::path::Path;

use esker_files::FileError;
use esker_results::{RESULTS_SCHEMA, RunResults};
use serde_json::Value;

/// Digits of the hash that names a file.
const DIGITS: usize = 16;

/// Returns the file name for a resolved configuration: 16 hexadecimal digits of its BLAKE3 hash. Keys are sorted first,
/// so that their order does not matter.
pub(super) fn name_of(config: &Value) -> String {
    let mut sorted = config.clone();
    sorted.sort_all_objects();
    let text = serde_json::to_string(&sorted).expect("JSON values can be written");
    format!("{}.json", &blake3::hash(text.as_bytes()).to_hex()[..DIGITS])
}

/// Returns the results at `path` if they are complete, of this schema and of this configuration.
pub(super) fn read_stored(path: &Path, config: &Value) -> Option<RunResults> {
    let results: RunResults = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (results.schema == RESULTS_SCHEMA && results.config == *config).then_some(results)
}

/// Returns true if a file with this name could be the results of a point.
pub fn is_name_of_results(name: &str) -> bool {
    let digits = name.strip_suffix(".json").unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes `results` to `path`, as a whole or not at all.
pub(super) fn write_stored(path: &Path, results: &RunResults) -> Result<(), FileError> {
    let mut text = serde_json::to_vec_pretty(results).expect("results can be written as JSON");
    text.push(b'\n');
    esker_files::write(path, &text)
}
