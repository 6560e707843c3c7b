//! Disks with moving arms: zones, seek curve, rotation, schedulers.
//!
//! A [`Disk`] is built from [`DiskSettings`] (usually a preset of [`PRESETS`]) and driven through
//! [`esker_core::Device`]. The text `docs/disk-model.md` says what is modelled and how well it matches real drives.

mod cache;
mod disk;
mod error;
mod geometry;
mod mechanics;
mod presets;
mod rotation;
mod scheduler;
mod seek;
mod settings;
mod units;

pub use cache::CacheSettings;
pub use disk::Disk;
pub use error::DiskError;
pub use geometry::{Geometry, Place};
pub use mechanics::{Access, Mechanics};
pub use presets::PRESETS;
pub use rotation::Rotation;
pub use scheduler::{SCHEDULERS, Scheduler, SchedulerEntry, Waiting};
pub use seek::SeekCurve;
pub use settings::{DiskSettings, LayoutSettings, SeekFormula, SeekSettings, ZoneSettings};
pub use units::{Picoseconds, RotationSpeed};
