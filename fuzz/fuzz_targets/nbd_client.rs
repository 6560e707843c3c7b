//! Any bytes, as a server would send them: taken, or refused with an error of one line. The first byte chooses what the
//! client asks for.
#![no_main]

#[path = "../../crates/esker-nbd/tests/common/mod.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&run, stream)) = input.split_first() else { return };
    common::hostile::check_client(stream, u64::from(run % 32), input.len() as u64);
});
