//! SCMFS: a file system for storage-class memory (Wu, chapter IV).
//!
//! A pool is memory that stays: a DAX device, or a file. [`mkfs`] makes one, [`FileSystem`] works on it. All stores go
//! through [`Persist`], which is a mapping ([`Mapped`]) or, in tests, a [`Recording`] that knows what a loss of power
//! may leave.

pub mod bench;
mod check;
mod directory;
mod error;
mod layout;
mod log;
mod moment;
mod persist;
mod space;
mod system;

pub use check::{CheckReport, Problem, check, repair};
pub use error::{Damage, FsError, FsResult};
pub use layout::header::Header;
pub use layout::{Geometry, Kind, PAGE, Stretch};
pub use log::Mode;
pub use moment::Moment;
pub use persist::*;
pub use system::*;
