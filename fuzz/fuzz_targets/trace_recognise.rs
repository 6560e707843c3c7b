//! Any input, compressed or not: recognised and read, or refused.
#![no_main]

#[path = "../../crates/esker-trace/tests/common/mutate.rs"]
mod mutate;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // See trace_formats.rs.
    if input.starts_with(b"PAR1") {
        return;
    }
    mutate::check(input.to_vec(), &esker_trace::ReadOptions::default());
});
