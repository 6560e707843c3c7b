//! Experiment files, device trees, arrays and sweeps: everything between a TOML file and results.

mod config;
mod device;
mod measured;
mod system;

pub use config::{
    BeyondCapacity, CommonSettings, ConfigError, Dimension, Experiment, Position, PreconditionKind, RunSettings,
    WorkloadSettings,
};
pub use device::{
    Array, ArraySettings, Child, ChildName, Constant, ConstantSettings, DEVICE_KINDS, DeviceFault, DeviceKind,
    DeviceSettings, Instance, device_kind,
};
pub use measured::{Measured, Watch, resource_name};
pub use system::{System, build_device};
