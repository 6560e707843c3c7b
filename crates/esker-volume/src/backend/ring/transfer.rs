//! One operation on a file, as the calls of which the kernel performs one at a time.

use std::io::{self, ErrorKind};

use esker_core::RequestKind;
use io_uring::{opcode, squeue::Entry, types};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::backend::{Ended, Operation, OperationData, PlacedError};
use crate::memory::{Buffer, ZEROES};

/// Bytes that one call moves at most.
const CALL_MAX: u64 = 1 << 30;

/// Pieces that one call moves at most: as many as Linux takes (`UIO_MAXIOV`).
const PIECES_MAX: usize = 1024;

/// Bytes in memory, in the form of an `iovec` of the system.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Piece {
    address: usize,
    length: usize,
}

impl Piece {
    fn of(bytes: &[u8]) -> Self {
        Self { address: bytes.as_ptr().expose_provenance(), length: bytes.len() }
    }
}

/// An operation whose calls the kernel performs one after the other. It owns the memory that they move.
#[derive(Debug)]
pub(super) struct Transfer {
    id: u64,
    operation: Operation,
    /// Bytes that were moved.
    done: u64,
    step: Step,
    /// The bytes that the call under way moves, if they are in several pieces.
    pieces: Vec<Piece>,
}

/// What the kernel is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// To move bytes.
    Move,
    /// To change the range without moving bytes: to zero it, or to make a hole.
    Change,
    /// To make what was written durable.
    Sync,
}

impl Transfer {
    /// Begins `operation`. `pieces` is memory that was used before.
    pub(super) fn new(id: u64, operation: Operation, pieces: Vec<Piece>) -> Self {
        let step = match operation.kind {
            RequestKind::Read | RequestKind::Write { .. } => Step::Move,
            RequestKind::WriteZeroes { .. } | RequestKind::Trim => Step::Change,
            RequestKind::Flush => Step::Sync,
        };
        Self { id, operation, done: 0, step, pieces }
    }

    /// Builds the next call. The kernel reads or writes memory of this transfer until [`Self::ended`] gets the result.
    /// `slot_of` returns where memory is pinned.
    pub(super) fn call(&mut self, file: types::Fd, slot_of: impl FnOnce(&Buffer) -> Option<u16>) -> Entry {
        let Operation { kind, offset, length, .. } = self.operation;
        let (at, left) = (offset + self.done, (length - self.done).min(CALL_MAX));
        match self.step {
            Step::Sync => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
            Step::Change => {
                let how = match kind {
                    RequestKind::Trim => FallocateFlags::PUNCH_HOLE,
                    _ => FallocateFlags::ZERO_RANGE,
                };
                let mode = (how | FallocateFlags::KEEP_SIZE).bits() as i32;
                opcode::Fallocate::new(file, length).offset(offset).mode(mode).build()
            }
            Step::Move => {
                if let OperationData::Fill(buffer) = &mut self.operation.data {
                    let slot = slot_of(buffer);
                    let bytes = &mut buffer.get_mut().expect("a read has its memory to itself")[self.done as usize..];
                    let bytes = bytes.as_mut_ptr();
                    return match slot {
                        Some(slot) => opcode::ReadFixed::new(file, bytes, left as u32, slot).offset(at).build(),
                        None => opcode::Read::new(file, bytes, left as u32).offset(at).build(),
                    };
                }
                self.find_pieces();
                match self.pieces[..] {
                    [Piece { address, length }] => {
                        let bytes = std::ptr::with_exposed_provenance(address);
                        let slot = buffer_with(&self.operation.data, address).and_then(slot_of);
                        match slot {
                            Some(slot) => opcode::WriteFixed::new(file, bytes, length as u32, slot).offset(at).build(),
                            None => opcode::Write::new(file, bytes, length as u32).offset(at).build(),
                        }
                    }
                    _ => {
                        let (pieces, count) = (self.pieces.as_ptr().cast(), self.pieces.len() as u32);
                        opcode::Writev::new(file, pieces, count).offset(at).build()
                    }
                }
            }
        }
    }

    /// Lists the bytes that are written next.
    fn find_pieces(&mut self) {
        let Operation { length, data, .. } = &self.operation;
        let mut left = (length - self.done).min(CALL_MAX) as usize;
        self.pieces.clear();
        let OperationData::Take(gather) = data else {
            while left > 0 && self.pieces.len() < PIECES_MAX {
                let zeroes = &ZEROES.0[..left.min(ZEROES.0.len())];
                self.pieces.push(Piece::of(zeroes));
                left -= zeroes.len();
            }
            return;
        };
        let mut skip = self.done as usize;
        for slice in gather.slices() {
            let from = skip.min(slice.len());
            skip -= from;
            let slice = &slice[from..slice.len().min(from.saturating_add(left))];
            left -= slice.len();
            if !slice.is_empty() {
                self.pieces.push(Piece::of(slice));
            }
            if left == 0 || self.pieces.len() == PIECES_MAX {
                return;
            }
        }
    }

    /// Takes the result of the call: the number of bytes that it has moved, or a negative error number. Returns how the
    /// operation has ended, or `None` if another call is needed. A call begins on a multiple of `block` bytes of the
    /// operation.
    pub(super) fn ended(&mut self, result: i32, block: u64) -> Option<io::Result<()>> {
        let kind = self.operation.kind;
        let result = u64::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
        match (self.step, result) {
            (_, Err(Errno::INTR | Errno::AGAIN)) => return None,
            (Step::Change, Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)) => {
                // What cannot be trimmed stays.
                if kind == RequestKind::Trim {
                    return Some(Ok(()));
                }
                self.step = Step::Move;
                return None;
            }
            (Step::Sync, Err(error)) if kind != RequestKind::Flush => {
                let text = format!("written data cannot be made durable: {}", io::Error::from(error));
                return Some(Err(io::Error::other(text)));
            }
            (_, Err(error)) => return Some(Err(PlacedError::new(self.done, error.into()))),
            (Step::Sync, Ok(_)) => return Some(Ok(())),
            (Step::Change, Ok(_)) => {}
            (Step::Move, Ok(moved)) => {
                let (before, done) = (self.done, self.done + moved);
                if done < self.operation.length {
                    self.done = done - done % block;
                    let end = if kind == RequestKind::Read { ErrorKind::UnexpectedEof } else { ErrorKind::WriteZero };
                    return (self.done == before).then(|| Err(PlacedError::new(done, end.into())));
                }
            }
        }
        // The file system may only now find that it has no space for data that it has accepted: a call of its own
        // tells that from a refused write.
        self.step = Step::Sync;
        (!kind.is_fua()).then_some(Ok(()))
    }

    /// Returns the operation as one that has ended, and the memory for pieces.
    pub(super) fn into_ended(self, result: io::Result<()>) -> (Ended, Vec<Piece>) {
        (Ended { id: self.id, at: None, result, data: self.operation.data }, self.pieces)
    }
}

/// The buffer of a write, if the byte at `address` is in it: it may be one of the zeroes beside it.
fn buffer_with(data: &OperationData, address: usize) -> Option<&Buffer> {
    let OperationData::Take(gather) = data else { return None };
    let buffer = gather.buffer();
    let begin = buffer.as_ptr().addr();
    (begin..begin + buffer.len()).contains(&address).then_some(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Gather;

    const FILE: types::Fd = types::Fd(0);
    const NO_SPACE: i32 = -28;

    fn transfer(kind: RequestKind, length: u64) -> Transfer {
        let data = match kind {
            RequestKind::Read => OperationData::Fill(Buffer::zeroed(length as usize)),
            RequestKind::Write { .. } => OperationData::Take(Gather::whole(Buffer::zeroed(length as usize))),
            _ => OperationData::None,
        };
        Transfer::new(1, Operation::new(kind, 8192, length, data), Vec::new())
    }

    /// Gives results to a transfer until it ends; returns the opcodes that it has asked for, and how it has ended.
    fn run(kind: RequestKind, length: u64, block: u64, results: &[i32]) -> (Vec<u8>, Result<(), (ErrorKind, u64)>) {
        let mut transfer = transfer(kind, length);
        let mut calls = Vec::new();
        for &result in results {
            calls.push(transfer.call(FILE, |_| None).get_opcode() as u8);
            if let Some(ended) = transfer.ended(result, block) {
                let place = |error: io::Error| (error.kind(), PlacedError::place_of(&error).0);
                return (calls, ended.map_err(place));
            }
        }
        panic!("it goes on after {calls:?}")
    }

    const READ: RequestKind = RequestKind::Read;
    const WRITE: RequestKind = RequestKind::Write { fua: false };
    const DURABLE: RequestKind = RequestKind::Write { fua: true };

    #[test]
    fn short_transfers_and_interrupted_calls_go_on() {
        let [read, write] = [opcode::Read::CODE, opcode::Write::CODE];
        assert_eq!(run(READ, 5000, 1, &[-4, 4000, -11, 1000]), (vec![read; 4], Ok(())));
        assert_eq!(run(READ, 5000, 1, &[4000, 0]), (vec![read; 2], Err((ErrorKind::UnexpectedEof, 4000))));
        assert_eq!(run(WRITE, 5000, 1, &[4999, NO_SPACE]), (vec![write; 2], Err((ErrorKind::StorageFull, 4999))));
        // Direct I/O begins on multiples of a block.
        assert_eq!(run(READ, 8192, 4096, &[5000, 4096]), (vec![read; 2], Ok(())));
        assert_eq!(run(READ, 8192, 4096, &[5000, 904]), (vec![read; 2], Err((ErrorKind::UnexpectedEof, 5000))));
    }

    #[test]
    fn a_durable_write_is_refused_or_lost_by_the_call_that_fails() {
        let [write, sync] = [opcode::Write::CODE, opcode::Fsync::CODE];
        assert_eq!(run(DURABLE, 4096, 1, &[4096, 0]), (vec![write, sync], Ok(())));
        assert_eq!(run(DURABLE, 4096, 1, &[NO_SPACE]), (vec![write], Err((ErrorKind::StorageFull, 0))));
        assert_eq!(run(DURABLE, 4096, 1, &[4096, NO_SPACE]), (vec![write, sync], Err((ErrorKind::Other, 0))));
        assert_eq!(run(RequestKind::Flush, 0, 1, &[NO_SPACE]), (vec![sync], Err((ErrorKind::StorageFull, 0))));
    }

    #[test]
    fn zeroes_are_written_where_the_file_system_cannot_make_them() {
        let (change, write, sync) = (opcode::Fallocate::CODE, opcode::Writev::CODE, opcode::Fsync::CODE);
        let durable = RequestKind::WriteZeroes { fua: true };
        assert_eq!(run(durable, 1 << 20, 1, &[0, 0]), (vec![change, sync], Ok(())));
        assert_eq!(run(durable, 1 << 20, 1, &[-95, 1 << 20, 0]), (vec![change, write, sync], Ok(())));
        assert_eq!(run(RequestKind::Trim, 1 << 20, 1, &[-95]), (vec![change], Ok(())));
        assert_eq!(run(RequestKind::Trim, 1 << 20, 1, &[-30]).1, Err((ErrorKind::ReadOnlyFilesystem, 0)));
    }

    #[test]
    fn pieces_are_those_that_were_not_moved_yet() {
        let mut transfer = transfer(RequestKind::WriteZeroes { fua: false }, 100 << 20);
        transfer.step = Step::Move;
        transfer.call(FILE, |_| None);
        let bytes = |transfer: &Transfer| transfer.pieces.iter().map(|piece| piece.length).sum::<usize>();
        assert_eq!((transfer.pieces.len(), bytes(&transfer)), (PIECES_MAX, 64 << 20));
        assert!(transfer.ended(64 << 20, 4096).is_none());
        transfer.call(FILE, |_| None);
        assert_eq!(bytes(&transfer), 36 << 20);
    }
}
