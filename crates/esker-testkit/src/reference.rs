//! Real traces and disk parameters that cannot be shipped with the project.

use std::path::PathBuf;

/// The path of `name` (such as "traces/arc-OLTP.lis.zst") in the reference data. These are in the folder `shared`
/// beside the checkout, or in the folder that `ESKER_REFERENCE_DATA` names. If the file is missing, prints a note on
/// standard error and returns `None`: the test then has nothing to check and passes.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn reference_data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ESKER_REFERENCE_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: reference data {} is not here (set ESKER_REFERENCE_DATA)", path.display());
    None
}
