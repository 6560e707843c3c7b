//! Why a disk cannot be measured.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use crate::DiskError;

/// Why a measurement found no disk, or not enough of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MeasureError {
    /// The disk is too small for the distances between reads.
    #[error("the disk has {capacity}, and measuring takes at least {least}")]
    TooSmall {
        /// The size of the disk.
        capacity: Bytes,
        /// The least size that can be measured.
        least: Bytes,
    },
    /// Reads that are far apart are too fast for an arm and platters.
    #[error("reads all over the disk take {micros} us: nothing turns there, or something answers from memory")]
    NoArm {
        /// The median response time, in microseconds.
        micros: u64,
    },
    /// The response times of a sector do not show a common turn.
    #[error("no rotation can be seen: one sector does not come again after whole turns")]
    NoTurn,
    /// The buffer still had a sector after a great many other reads.
    #[error("the drive's buffer still had a sector after {reads} reads elsewhere")]
    NeverForgets {
        /// The number of other reads.
        reads: usize,
    },
    /// The same read takes very different times.
    #[error("response times are too unsteady to find the {what}")]
    Unsteady {
        /// The quantity that was looked for.
        what: &'static str,
    },
    /// Tracks could be told apart at too few places.
    #[error("the ends of tracks can be seen at {found} places only, and measuring takes at least 8")]
    NoTracks {
        /// Number of places where a track was found.
        found: usize,
    },
    /// The measured values do not describe a possible disk.
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
