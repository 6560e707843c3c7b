//! Real traces and disk parameters that cannot be shipped with the project.

use std::path::PathBuf;

/// The file or folder `name` (such as "traces/arc-OLTP.lis.zst") of the reference data that lie in a folder called
/// `shared` beside the checkout, or in the folder that `ESKER_REFERENCE_DATA` names. Where it is absent, says so on
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
