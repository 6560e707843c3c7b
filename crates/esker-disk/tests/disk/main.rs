//! The disk as a device, seen from outside.

mod common;
mod timing;
