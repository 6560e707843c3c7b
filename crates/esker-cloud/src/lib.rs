//! Cloud block volumes: what a provider lets through by size, by what was ordered and by burst credits, and how long
//! a request takes once it is let through.
//!
//! A [`CloudVolume`] is built from [`CloudVolumeSettings`] (usually a preset of [`PRESETS`]) and driven through
//! [`esker_core::Device`]. [`limits()`] and [`provisionable()`] answer for a planner what a volume may do without
//! simulating it. `docs/cloud-volumes.md` describes what is modelled and what is not.
//!
//! ```
//! use esker_cloud::{CloudVolume, CloudVolumeSettings, PRESETS, limits, provisionable};
//! use esker_core::{Bytes, Device, Lba, Nanos, Request, TagSlab};
//!
//! let gp3 = PRESETS.iter().find(|preset| preset.name == "aws-ebs-gp3").unwrap();
//! let mut settings: CloudVolumeSettings = toml::from_str(gp3.toml).unwrap();
//! settings.size = Some(Bytes::gib(20));
//! assert_eq!(limits(&settings).unwrap().operations.sustained_per_s(), 3000.0);
//! assert_eq!(provisionable(&settings).unwrap().operations.unwrap().1.to_string(), "10000/s");
//!
//! let mut volume = CloudVolume::new("volume", &settings, 1).unwrap();
//! let (mut tags, mut done) = (TagSlab::default(), Vec::new());
//! volume.submit(Nanos::ZERO, tags.insert(()), Request::read(Lba(0), Bytes::kib(16)));
//! while done.is_empty() {
//!     volume.advance(volume.next_event(), &mut done);
//! }
//! assert_eq!(done[0].result, Ok(()));
//! ```

mod bucket;
mod counter;
mod error;
mod latency;
mod limits;
mod presets;
mod settings;
mod units;
mod volume;

pub use bucket::TokenBucket;
pub use counter::{Cost, Counter};
pub use error::CloudError;
pub use latency::LogNormal;
pub use limits::{Burst, Limit, Limits, Provisionable, limits, provisionable};
pub use presets::PRESETS;
pub use settings::{
    BurstSettings, CloudVolumeSettings, DEFAULT_SAVES_UP, DEFAULT_SIZE, HostSettings, LatencyDistribution,
    LatencySettings, OperationBurst, OperationSettings, ProvisionedSettings, SizeBounds, SizeClass, ThroughputBurst,
    ThroughputSettings,
};
pub use units::{Credits, FineByteRate, OperationRate};
pub use volume::CloudVolume;
