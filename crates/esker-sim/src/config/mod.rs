//! Experiment files: from text to settings.

mod device;
mod events;
mod experiment;
mod named_system;
mod preset;
mod run;
mod sweep;
mod system;
mod workload;

pub use device::CommonSettings;
pub use events::RunEvent;
pub(crate) use events::Schedule;
pub use experiment::Experiment;
pub use named_system::system_of;
pub use preset::NamedPreset;
pub(crate) use run::RunTarget;
pub use run::{RunSettings, SettleSettings};
pub use sweep::Dimension;
pub(crate) use sweep::POINTS_MAX;
pub use system::{DEVICES_MAX, DeviceDescription, PreconditionKind, System};
pub use workload::{
    BeyondCapacity, OneOrMore, RequestPriority, StreamBy, StreamChoice, VolumeSettings, WorkloadSettings,
};
