//! What tests and benchmarks share: how rates are measured, and where reference data lies.

mod bench;
mod reference;

pub use bench::{Bench, Measurement, processor_time};
pub use reference::reference_data;
