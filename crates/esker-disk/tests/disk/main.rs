//! The disk as a device, seen from outside: is each part on time, do the means match theory, is the order of service
//! right, does anything at all run or get refused.

mod buffer;
mod common;
mod disksim;
mod fidelity;
mod priority;
mod properties;
mod scheduling;
mod timing;
mod validation;
