//! Files with maps of ranges.

use std::io;
use std::path::Path;
use std::sync::Arc;

use esker_core::{Hint, Problem};
use esker_tier::{PinnedRange, RangeMap};

/// Reads the file of a [`RangeMap`] at `path`, for `devices` of these names, which ranges name by their places.
///
/// # Errors
/// The file cannot be read, or has a mistake; the message has file and line.
pub fn read_range_map<'a>(
    path: &Path,
    devices: impl IntoIterator<Item = &'a str>,
) -> Result<Arc<[PinnedRange]>, Problem> {
    let shown = path.display();
    let text = esker_files::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Problem::new(format!("the map {shown} is no text")),
        _ => Problem::new(format!("the map {shown} cannot be read: {error}")),
    })?;
    RangeMap::parse(&text).and_then(|map| map.on(devices)).map_err(|error| {
        let message = format!("{shown}:{}: {}", error.line, error.message);
        Problem::Other { message, hint: error.hint() }
    })
}
