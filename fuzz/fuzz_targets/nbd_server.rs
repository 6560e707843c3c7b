//! Any bytes, as a client would send them: answered, or refused with an error of one line.
#![no_main]

#[path = "../../crates/esker-nbd/tests/common/mod.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    common::hostile::check_server(input, input.len() as u64);
});
