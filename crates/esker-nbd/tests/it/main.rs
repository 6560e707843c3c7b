//! Tests of whole sessions: memory, and bytes of anybody.

mod allocations;
#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod memory;
