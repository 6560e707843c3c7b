//! Common parts of tests and benchmarks: how rates are measured, and where reference data are.

mod bench;
mod reference;

pub use bench::{Bench, Measurement, processor_time};
pub use reference::reference_data;
