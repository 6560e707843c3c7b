//! Errors in the settings of a disk.

use esker_core::registry::NotFound;
use esker_core::{Bytes, Hint, Nanos};
use thiserror::Error;

/// Why a disk cannot be built as configured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiskError {
    /// A number is outside what the model can represent.
    #[error("`{key}` is {found}, expected {expected}")]
    OutOfRange {
        /// The key in the settings.
        key: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// The value as configured.
        found: String,
    },
    /// A setting of one zone is out of its range.
    #[error("`{key}` of zone {zone} is {found}, expected {expected}")]
    Zone {
        /// Index of the zone, from zero at the outer edge.
        zone: usize,
        /// The key in the zone's settings.
        key: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// The value as configured.
        found: u64,
    },
    /// More capacity than the zones hold.
    #[error("`capacity` is {capacity}, but the zones hold {holds}")]
    Capacity {
        /// The configured capacity.
        capacity: Bytes,
        /// The capacity of the surfaces and zones.
        holds: Bytes,
    },
    /// The table of seek times is empty, begins at zero or is not in order.
    #[error("`seek` needs at least one [cylinders, time] point, in rising order of cylinders and from 1 on")]
    SeekPoints,
    /// A seek would take longer than any arm does.
    #[error("`seek` gives {time} over {distance} cylinders, expected at most {limit}")]
    SeekTime {
        /// Distance in cylinders.
        distance: u32,
        /// Time that the curve gives.
        time: Nanos,
        /// The largest accepted time.
        limit: Nanos,
    },
    /// No scheduler has this name.
    #[error("`scheduler` is `{}`, expected one of {}", .0.found, .0.list())]
    Scheduler(NotFound),
}

impl DiskError {
    /// Returns the dotted key of the setting that the error is about.
    pub fn key(&self) -> String {
        match self {
            Self::OutOfRange { key, .. } => (*key).to_string(),
            Self::Zone { zone, key, .. } => format!("zones[{zone}].{key}"),
            Self::Capacity { .. } => "capacity".to_string(),
            Self::SeekPoints | Self::SeekTime { .. } => "seek".to_string(),
            Self::Scheduler(_) => "scheduler".to_string(),
        }
    }
}

impl Hint for DiskError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Scheduler(name) => name.question(),
            Self::Capacity { .. } => Some("leave `capacity` out to use all sectors of the zones".to_string()),
            _ => None,
        }
    }
}
