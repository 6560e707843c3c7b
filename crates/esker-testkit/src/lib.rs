//! Common parts of tests and benchmarks: how rates are measured, how many random cases are wanted, where reference data
//! are, and certificates.

mod authority;
mod bench;
mod reference;

pub use authority::Authority;
pub use bench::{Bench, Measurement, processor_time};
pub use reference::reference_data;

/// So many times as many random cases as usual are wanted (`ESKER_SOAK`).
pub fn soak() -> u32 {
    std::env::var("ESKER_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}
