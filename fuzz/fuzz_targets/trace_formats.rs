//! The first byte picks the format, the rest is the trace.
#![no_main]

#[path = "../../crates/esker-trace/tests/common/mutate.rs"]
mod mutate;

use esker_trace::{FORMATS, ReadOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&first, trace)) = input.split_first() else { return };
    let format = &FORMATS[usize::from(first >> 1) % FORMATS.len()];
    // The decoder of Parquet panics, which is caught; the fuzzer would end at the panic itself.
    if format.name == "parquet" {
        return;
    }
    let lenient = (first & 1 == 1).then_some(1000);
    let options = ReadOptions { format: Some(format.name.into()), lenient, ..ReadOptions::default() };
    mutate::check(trace.to_vec(), &options);
});
