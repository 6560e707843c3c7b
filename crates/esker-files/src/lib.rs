//! Writes files for a user. A regular file appears as a whole or not at all; until then the old file stays as it was.
//! Devices, FIFOs and sockets are written to, never replaced. Links are followed. What was opened for reading here
//! ([`open`], [`read()`], [`stdin`]) is never replaced.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("result.json");
//! use std::io::Write;
//!
//! let mut destination = esker_files::FileTarget::find(&path)?.prepare()?;
//! destination.open()?.write_all(b"{}\n")?;
//! assert!(!path.exists());
//! destination.commit()?;
//! assert_eq!(std::fs::read(&path)?, b"{}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod destination;
mod error;
mod identity;
mod inputs;
mod target;
mod unfinished;

use std::io::Write;
use std::path::Path;

pub use destination::Destination;
pub use error::FileError;
pub use identity::{Identity, identities};
pub use inputs::{WHOLE_MAX, open, open_with, protect, read, read_to_string, stdin};
pub use target::{FileTarget, TargetKind, follow};
pub use unfinished::{abandon, abandon_if_idle};

/// Writes `bytes` to `path`, as a whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut destination = FileTarget::find(path)?.prepare()?;
    let written = destination.open()?.write_all(bytes);
    written.map_err(|source| FileError::Write { path: path.to_path_buf(), source })?;
    destination.commit()
}
