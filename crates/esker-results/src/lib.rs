//! Results of esker as plain data: runs, studies, profiles of traces, caches, reproductions. Each has a versioned JSON
//! schema, documented field by field; names of fields end in their unit. Reports and the command line are written from
//! these types.

pub mod advice;
pub mod cache;
mod counters;
mod device;
pub mod fleet;
pub mod fs_bench;
mod parse;
mod placement_map;
pub mod profile;
mod remarks;
pub mod reproduction;
mod requests;
mod results_read;
mod run;
mod settled;
pub mod study;
pub mod validation;

pub use counters::Counters;
pub use device::*;
pub use placement_map::*;
pub use remarks::remarks;
pub use requests::*;
pub use results_read::ReadResultsError;
pub use run::*;
pub use settled::*;
