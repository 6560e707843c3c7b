//! Experiment files, device trees, arrays and sweeps: everything between a TOML file and results.

mod config;
mod device;

pub use config::{ConfigError, Position};
pub use device::{
    Array, ArraySettings, Child, ChildName, Constant, ConstantSettings, DEVICE_KINDS, DeviceFault, DeviceKind,
    DeviceSettings, Instance, device_kind,
};
