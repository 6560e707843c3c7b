//! Files that are written for a user. A regular file appears whole or not at all, and what stood there before stays as
//! it was until then; a device, a FIFO or a socket is written to and never replaced; links are followed.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("result.json");
//! use std::io::Write;
//!
//! let mut destination = esker_files::Place::find(&path)?.prepare()?;
//! destination.open()?.write_all(b"{}\n")?;
//! assert!(!path.exists());
//! destination.commit()?;
//! assert_eq!(std::fs::read(&path)?, b"{}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod destination;
mod error;
mod identity;
mod place;

use std::io::Write;
use std::path::Path;

pub use destination::Destination;
pub use error::FileError;
pub use identity::{Identity, identities, identities_of_input};
pub use place::{Place, PlaceKind};

/// Writes `bytes` to `path`, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut destination = Place::find(path)?.prepare()?;
    let written = destination.open()?.write_all(bytes);
    written.map_err(|source| FileError::Write { path: path.to_path_buf(), source })?;
    destination.commit()
}
