//! Where the bytes of an emulated device are kept.

mod file;
mod memory;

use std::io;

pub use file::{FileContents, OpenError};
pub use memory::MemoryContents;

/// The bytes of a device. What was never written reads as zeroes and takes no room. All ranges are within the device.
pub trait Contents: Send {
    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` from `at` on.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes `length` bytes from `at` on read as zeroes, and gives back the room of whole blocks.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn clear(&mut self, at: u64, length: u64) -> io::Result<()>;

    /// Returns how many of the `length` bytes from `at` on are alike, and whether these may be other than zeroes. The
    /// number is at least one if `length` is.
    fn written_run(&self, at: u64, length: u64) -> (u64, bool);
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::{Bytes, Rng};

    /// Random changes of memory and of a file, against an array of bytes.
    #[test]
    fn memory_and_files_hold_what_was_written() {
        const CAPACITY: u64 = 256 << 10;
        let folder = tempfile::tempdir().unwrap();
        let file = FileContents::open(&folder.path().join("data"), Bytes(CAPACITY)).unwrap();
        let all: [Box<dyn Contents>; 2] = [Box::new(MemoryContents::default()), Box::new(file)];
        for mut contents in all {
            let (mut rng, mut array) = (Rng::new(1), vec![0u8; CAPACITY as usize]);
            for step in 0..600 {
                let at = rng.below(CAPACITY / 512) * 512;
                let length = ((1 + rng.below(40)) * 512).min(CAPACITY - at);
                let range = at as usize..(at + length) as usize;
                if rng.chance(2, 3) {
                    let bytes: Vec<u8> = (0..length).map(|byte| (byte + step) as u8).collect();
                    contents.write(at, &bytes).unwrap();
                    array[range].copy_from_slice(&bytes);
                } else {
                    contents.clear(at, length).unwrap();
                    array[range].fill(0);
                }
                let mut read = vec![7; CAPACITY as usize];
                contents.read(0, &mut read).unwrap();
                assert!(read == array, "step {step}");
                let mut done = 0;
                while done < CAPACITY {
                    let (run, is_written) = contents.written_run(done, CAPACITY - done);
                    assert!(run > 0 && done + run <= CAPACITY);
                    let bytes = &array[done as usize..(done + run) as usize];
                    assert!(is_written || bytes.iter().all(|&byte| byte == 0), "step {step}: {run} bytes from {done}");
                    done += run;
                }
            }
        }
    }

    #[test]
    fn what_was_never_written_or_was_cleared_takes_no_room() {
        let mut contents = MemoryContents::default();
        contents.write(1 << 40, &[1; 8192]).unwrap();
        contents.write((1 << 40) + 16_384, &[1; 512]).unwrap();
        assert_eq!(contents.bytes_kept(), 12 << 10);
        assert_eq!(contents.written_run(0, 1 << 41), (1 << 40, false));
        assert_eq!(contents.written_run(1 << 40, 1 << 30), (8192, true));
        assert_eq!(contents.written_run((1 << 40) + 512, 512), (512, true));
        contents.clear((1 << 40) - 4096, 1 << 20).unwrap();
        assert_eq!((contents.bytes_kept(), contents.written_run(0, 1 << 41)), (0, (1 << 41, false)));
    }
}
