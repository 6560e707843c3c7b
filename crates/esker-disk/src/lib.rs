//! Disks with moving arms: zones, seek curve, rotation, schedulers.
//!
//! A [`Disk`] is built from [`DiskSettings`] (usually a preset of [`PRESETS`]) and driven through
//! [`esker_core::Device`]. [`build`] also builds disks with several arms and shingled disks. `docs/disk-model.md`
//! describes what is modelled and how well it matches real drives.
//!
//! ```
//! use esker_core::{Bytes, Device, Lba, Nanos, Request, TagSlab};
//! use esker_disk::{Disk, DiskSettings, PRESETS};
//!
//! let settings: DiskSettings = toml::from_str(PRESETS[0].toml).unwrap();
//! let mut disk = Disk::new("disk", &settings).unwrap();
//! let (mut tags, mut done) = (TagSlab::default(), Vec::new());
//! disk.submit(Nanos::ZERO, tags.insert(()), Request::read(Lba(1_000_000), Bytes::kib(4)));
//! while done.is_empty() {
//!     disk.advance(disk.next_event(), &mut done);
//! }
//! assert!(done[0].at < Nanos::from_millis(10));
//! ```

mod actuators;
mod build;
mod cache;
mod disk;
mod error;
mod firmware;
mod geometry;
pub mod import;
pub mod measure;
mod mechanics;
mod power;
mod preset_text;
mod presets;
mod rotation;
mod scheduler;
mod seek;
mod settings;
mod shingled;
mod shingled_settings;
mod split;
mod units;
mod wait_limit;

pub use actuators::MultiActuatorDisk;
pub use build::build;
pub use cache::CacheSettings;
pub use disk::Disk;
pub use error::DiskError;
pub use firmware::{CommandOverhead, ExtraDisconnect, FirmwareSettings, ReadAheadEnd};
pub use geometry::{Geometry, SectorPlace};
pub use mechanics::{Access, Mechanics};
pub use power::PowerSettings;
pub use preset_text::is_made as is_made_preset;
pub use presets::PRESETS;
pub use rotation::Rotation;
pub use scheduler::{SCHEDULERS, Scheduler, SchedulerEntry, Waiting};
pub use seek::SeekCurve;
pub use settings::{DiskSettings, LayoutSettings, SeekFormula, SeekSettings, SpareUnit, ZoneSettings};
pub use shingled::ShingledDisk;
pub use shingled_settings::ShingledSettings;
pub use units::{Picoseconds, RotationSpeed};
pub use wait_limit::WaitLimit;
