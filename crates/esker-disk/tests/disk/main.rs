//! The disk as a device, seen from outside: Is each part on time? Do the means match theory? Is the order of service
//! right? Does every configuration run, or get refused?

mod actuators;
mod buffer;
mod common;
mod fidelity;
mod firmware;
mod import;
mod measure;
mod power;
mod presets;
mod priority;
mod properties;
mod scheduling;
mod shingled;
mod spares;
mod timeline;
mod timing;
mod validation;
mod waits;
