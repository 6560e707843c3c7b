//! All integration tests, in one program.

mod accepted;
mod blktrace;
mod cache_traces;
mod characterise;
#[path = "../common/mod.rs"]
mod common;
mod like;
mod reference;
mod reference_page;
mod strict;
