//! The drive as a device: its presets, its times under load, and whatever configuration one may think of.

mod common;
mod layers;
mod precondition;
mod presets;
mod queueing;
mod random_configurations;
