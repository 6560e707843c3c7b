//! Experiment files: from text to settings.

mod device;
mod error;
mod experiment;
mod node;
mod read;
mod run;
mod sweep;
mod workload;

pub use device::{CommonSettings, PreconditionKind};
pub(crate) use device::{DeviceTable, read_device};
pub use error::{ConfigError, Position};
pub use experiment::Experiment;
pub(crate) use read::Document;
pub use run::{RunSettings, SettleSettings};
pub use sweep::Dimension;
pub use workload::{
    BeyondCapacity, OneOrMore, RequestPriority, StreamBy, StreamChoice, VolumeSettings, WorkloadSettings,
};
