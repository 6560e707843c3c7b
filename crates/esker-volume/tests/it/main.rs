//! All integration tests, in one program.

mod errors;
mod failed_flush;
mod faulty;
mod flash_cache;
mod same_mechanism;
mod stripes;
