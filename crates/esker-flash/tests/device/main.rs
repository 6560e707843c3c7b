//! The drive as a device: presets, times under load, and random configurations.

mod common;
mod ecc;
mod host_managed_cache;
mod layers;
mod power_failure;
mod precondition;
mod presets;
mod priority;
mod published;
mod queueing;
mod random_configurations;
mod shrinking_cache;
mod steady;
mod streams;
mod unwritten;
mod write_buffer;
