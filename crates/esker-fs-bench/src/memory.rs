//! How fast memory is copied, without any file system.

use std::time::Instant;

use esker_core::Bytes;

/// Bytes per second that `threads` together copy out of memory of `bytes` each, by pieces of `record` into a buffer, as
/// a read of a file does: the best of `runs`.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub fn memory_rate(threads: usize, bytes: Bytes, record: Bytes, runs: u32) -> f64 {
    let memory: Vec<Vec<u8>> = (0..threads).map(|thread| vec![thread as u8 + 1; bytes.0 as usize]).collect();
    let total = (bytes.0 / record.0 * record.0) as f64 * threads as f64;
    let once = || {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for memory in &memory {
                scope.spawn(|| {
                    let mut buffer = vec![0; record.0 as usize];
                    for piece in memory.chunks_exact(record.0 as usize) {
                        buffer.copy_from_slice(piece);
                        std::hint::black_box(&mut buffer);
                    }
                });
            }
        });
        total / begun.elapsed().as_secs_f64().max(1e-9)
    };
    (0..runs.max(1)).map(|_| once()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_rate() {
        let rate = memory_rate(2, Bytes(1 << 20), Bytes(64 << 10), 2);
        assert!(rate.is_finite() && rate > 0.0);
    }
}
