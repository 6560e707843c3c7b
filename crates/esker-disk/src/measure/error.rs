//! Why a disk cannot be measured.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use crate::DiskError;

/// Why a measurement found no disk, or not enough of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MeasureError {
    /// Too small for the distances between reads.
    #[error("the disk has {capacity}, and measuring takes at least {least}")]
    TooSmall {
        /// Size of the disk.
        capacity: Bytes,
        /// The least size.
        least: Bytes,
    },
    /// Reads far apart are too fast for an arm and platters.
    #[error("reads all over the disk take {micros} us: nothing turns there, or something answers from memory")]
    NoArm {
        /// The median response time, in microseconds.
        micros: u64,
    },
    /// The times of one sector have no turn in common.
    #[error("no rotation can be seen: one sector does not come again after whole turns")]
    NoTurn,
    /// The buffer still had a sector after very many other reads.
    #[error("the drive's buffer still had a sector after {reads} reads elsewhere")]
    NeverForgets {
        /// How many reads there were.
        reads: usize,
    },
    /// One and the same read takes very different times.
    #[error("response times are too unsteady to find the {what}")]
    Unsteady {
        /// What was looked for.
        what: &'static str,
    },
    /// Too few places where tracks could be told apart.
    #[error("the ends of tracks can be seen at {found} places only, and measuring takes at least 8")]
    NoTracks {
        /// Places where a track was found.
        found: usize,
    },
    /// What was found makes no disk.
    #[error("what was measured makes no disk: {0}")]
    NoDisk(#[from] DiskError),
}

impl Hint for MeasureError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoArm { .. } | Self::NeverForgets { .. } => {
                "measure a disk with turning platters itself, not a file, a cache or an array above it"
            }
            Self::NoTurn | Self::Unsteady { .. } | Self::NoTracks { .. } => {
                "measure while nothing else uses the disk or the computer; virtual disks and arrays cannot be measured"
            }
            Self::TooSmall { .. } | Self::NoDisk(_) => return None,
        };
        Some(hint.to_string())
    }

    fn work_failed(&self) -> bool {
        true
    }
}
