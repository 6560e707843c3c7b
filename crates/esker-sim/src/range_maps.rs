//! Files with maps of ranges.

use std::io;
use std::path::Path;
use std::sync::Arc;

use esker_core::{Hint, Problem};
use esker_tier::{PinnedRange, RangeMap, RangeMapError};

/// Reads the file of a map of ranges at `path`.
///
/// # Errors
/// The file cannot be read, or has a mistake; the message has file and line.
pub fn read_range_map(path: &Path) -> Result<RangeMap, Problem> {
    let shown = path.display();
    let text = esker_files::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Problem::new(format!("the map {shown} is no text")),
        _ => Problem::new(format!("the map {shown} cannot be read: {error}")),
    })?;
    RangeMap::parse(&text).map_err(|error| located(path, error))
}

/// Reads the file of a map of ranges at `path`, for `devices` of these names: ranges have their places.
///
/// # Errors
/// The file cannot be read, or has a mistake; the message has file and line.
pub fn read_ranges<'a>(path: &Path, devices: impl IntoIterator<Item = &'a str>) -> Result<Arc<[PinnedRange]>, Problem> {
    read_range_map(path)?.on(devices).map_err(|error| located(path, error))
}

fn located(path: &Path, error: RangeMapError) -> Problem {
    let message = format!("{}:{}: {}", path.display(), error.line, error.message);
    Problem::Other { message, hint: error.hint() }
}
