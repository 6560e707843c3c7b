//! An array of bytes that executes commands, in two copies: one with what the server hands out, one with what the
//! client has submitted.

use std::ops::Range;

use esker_core::Rng;
use esker_nbd::{Command, Extent, Run};

use super::plan::SIZE;

/// Extents are of at most so many bytes.
const EXTENT: usize = 4096;

/// The bytes of a write that the client submits as its `id`-th request.
pub(crate) fn payload(id: usize, length: u32) -> Vec<u8> {
    let mut rng = Rng::derive(id as u64, "payload");
    let begin = rng.next_u64() as usize;
    (begin..begin + length as usize).map(|byte| (byte % 251) as u8 + 1).collect()
}

/// The bytes of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device(pub(crate) Vec<u8>);

impl Device {
    pub(crate) fn new() -> Self {
        Self(vec![0; SIZE as usize])
    }

    fn range(command: Command) -> Range<usize> {
        let (offset, length) = command.range();
        offset as usize..offset as usize + length as usize
    }

    /// Does what `command` says, and returns the bytes that a read returns. A trim leaves zeroes.
    pub(crate) fn execute(&mut self, command: Command, payload: &[u8]) -> Option<Vec<u8>> {
        let bytes = &mut self.0[Self::range(command)];
        match command {
            Command::Read { .. } => return Some(bytes.to_vec()),
            Command::Write { .. } => bytes.copy_from_slice(payload),
            Command::Trim { .. } | Command::WriteZeroes { .. } => bytes.fill(0),
            Command::Flush | Command::Cache { .. } | Command::BlockStatus { .. } => {}
        }
        None
    }

    /// Extents from the first byte of `command` to the end of the device.
    pub(crate) fn extents(&self, command: Command) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        for piece in self.0[Self::range(command).start..].chunks(EXTENT) {
            let is_zero = piece.iter().all(|&byte| byte == 0);
            match extents.last_mut() {
                Some(last) if last.is_zero == is_zero => last.length += piece.len() as u32,
                _ => extents.push(Extent { length: piece.len() as u32, is_hole: is_zero, is_zero }),
            }
        }
        extents
    }

    /// Returns true if `told` answers a block status as the document demands, with nothing that is not so.
    pub(crate) fn agrees_with(&self, command: Command, told: &[Extent]) -> bool {
        let Command::BlockStatus { offset, length, one_extent } = command else { return told.is_empty() };
        let Some((last, all_but_last)) = told.split_last() else { return false };
        let before: u32 = all_but_last.iter().map(|extent| extent.length).sum();
        if before >= length || (one_extent && (told.len() > 1 || last.length > length)) {
            return false;
        }
        let mut at = offset as usize;
        told.iter().all(|extent| {
            let bytes = self.0.get(at..at + extent.length as usize);
            at += extent.length as usize;
            bytes.is_some_and(|bytes| one_extent || bytes.iter().all(|&byte| byte == 0) == extent.is_zero)
        })
    }
}

/// Cuts the bytes of a read into runs, anywhere. Returns them with the bytes of those that are no holes.
pub(crate) fn runs(bytes: &[u8], rng: &mut Rng) -> (Vec<Run>, Vec<u8>) {
    let (mut runs, mut data, mut rest) = (Vec::new(), Vec::new(), bytes);
    while !rest.is_empty() {
        let zeroes = rest.iter().take_while(|&&byte| byte == 0).count();
        let longest = if runs.len() < 60 { rest.len() as u64 } else { 0 };
        if zeroes > 0 && runs.len() < 62 {
            runs.push(Run::Hole(zeroes as u32));
            rest = &rest[zeroes..];
            continue;
        }
        let length = if longest == 0 { rest.len() } else { 1 + rng.below(longest) as usize };
        runs.push(Run::Data(length as u32));
        data.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    (runs, data)
}
