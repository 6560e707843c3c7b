//! Processors that do not fall asleep.

use std::fs::File;
use std::io::Write;

/// Linux keeps idle processors in states that they leave within as many microseconds as this file was given (32 bits),
/// while it is open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Keeps idle processors awake while the result lives, as tools that measure latencies do (cyclictest, tuned's profile
/// `latency-performance`). Otherwise a request during which a processor has slept takes longer by the time that waking
/// takes, which the round trip to a device without service time does not contain.
#[expect(clippy::print_stdout, reason = "it belongs to the figures")]
pub(super) fn keep_awake() -> Option<File> {
    let opened = File::options().write(true).open(LATENCY).and_then(|mut file| {
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(file)
    });
    match opened {
        Ok(file) => Some(file),
        Err(error) => {
            println!("processors may fall asleep between requests: {LATENCY}: {error}");
            None
        }
    }
}
