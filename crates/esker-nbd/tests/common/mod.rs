//! Both sides of a connection, joined by pipes, over an array of bytes. Everything follows from a seed.
#![allow(dead_code, reason = "tests, benchmarks and the fuzzers use their parts")]

pub(crate) mod device;
pub(crate) mod hostile;
pub(crate) mod plan;
pub(crate) mod world;

use std::io::IoSlice;

use esker_core::Rng;
use esker_nbd::{Memory, Slices};

/// Payloads are fresh lists.
pub(crate) struct Fresh;

impl Memory for Fresh {
    type Payload = Vec<u8>;
    fn take(&mut self, length: usize) -> Vec<u8> {
        vec![0xee; length]
    }
}

/// Data of a read in several pieces.
#[derive(Debug)]
pub(crate) struct Pieces(Vec<Vec<u8>>);

impl Slices for Pieces {
    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|piece| &piece[..])
    }
}

impl Pieces {
    /// Cuts `bytes` anywhere.
    pub(crate) fn cut(mut bytes: &[u8], rng: &mut Rng) -> Self {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let length = if rng.chance(1, 2) { bytes.len() } else { 1 + rng.below(bytes.len() as u64) as usize };
            pieces.push(bytes[..length].to_vec());
            bytes = &bytes[length..];
        }
        Self(pieces)
    }
}

/// Copies at most `limit` bytes of what a session has to send into `pipe`, and returns their number.
pub(crate) fn take_output<'a>(
    pipe: &mut Vec<u8>,
    limit: usize,
    gather: impl FnOnce(&mut [IoSlice<'a>]) -> usize,
) -> usize {
    let mut slices = [IoSlice::new(&[]); 16];
    let (count, before) = (gather(&mut slices), pipe.len());
    for slice in &slices[..count] {
        let room = limit - (pipe.len() - before);
        pipe.extend_from_slice(&slice[..slice.len().min(room)]);
    }
    pipe.len() - before
}
