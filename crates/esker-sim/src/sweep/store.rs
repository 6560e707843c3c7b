//! Results of points as files that appear whole or not at all.

use std::io::Write;
use std::path::Path;

use esker_core::{RESULTS_SCHEMA, RunResults};
use serde_json::Value;

/// The file name of a resolved configuration: 16 hexadecimal digits of its BLAKE3 hash. Keys are sorted first, so the
/// order in which they were written does not matter.
pub(super) fn name_of(config: &Value) -> String {
    let mut sorted = config.clone();
    sorted.sort_all_objects();
    let text = serde_json::to_string(&sorted).expect("JSON values can be written");
    format!("{}.json", &blake3::hash(text.as_bytes()).to_hex()[..16])
}

/// The results at `path`, if they are there, whole, of this schema, and of this configuration.
pub(super) fn read_stored(path: &Path, config: &Value) -> Option<RunResults> {
    let results: RunResults = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (results.schema == RESULTS_SCHEMA && results.config == *config).then_some(results)
}

/// Writes `results` beside `path` first, then moves them there.
pub(super) fn write_stored(path: &Path, results: &RunResults) -> std::io::Result<()> {
    let folder = path.parent().expect("results lie in a folder");
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, results)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}
