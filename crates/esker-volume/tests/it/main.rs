//! All integration tests, in one program.

mod allocations;
mod back_ends;
mod changes;
mod clusters;
mod errors;
mod failed_flush;
mod failing_drives;
mod faulty;
mod flash_cache;
mod keepers;
mod kill;
mod lives;
mod null_store;
mod on_files;
mod options;
mod same_mechanism;
mod stacked;
mod stripes;
mod volume;
