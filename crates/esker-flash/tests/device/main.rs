//! The drive as a device: its presets, its times under load, and whatever configuration one may think of.

mod common;
mod ecc;
mod layers;
mod power_failure;
mod precondition;
mod presets;
mod priority;
mod published;
mod queueing;
mod random_configurations;
mod steady;
mod streams;
mod unwritten;
mod write_buffer;
