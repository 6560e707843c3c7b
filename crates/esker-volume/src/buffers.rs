//! Buffers of requests under way: of the host, of copies, and of a cache.

use esker_core::{Bytes, RequestKind, Tag, TagMap};
use esker_tier::{CacheStep, DataRef};

use crate::backend::Operation;

/// All buffers of a volume.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Buffers of the host's requests, by their tags.
    hosts: TagMap<Vec<u8>>,
    /// Buffers of copies, by slot.
    scratch: Vec<Vec<u8>>,
    /// Buffers of a cache, by slot.
    cached: Vec<Vec<u8>>,
}

/// Returns the range of `length` bytes from `start`.
fn range(start: Bytes, length: Bytes) -> std::ops::Range<usize> {
    start.0 as usize..(start.0 + length.0) as usize
}

impl Buffers {
    /// Keeps the buffer of a new request.
    pub(crate) fn begin(&mut self, tag: Tag, buffer: Vec<u8>) {
        self.hosts.insert(tag, buffer);
    }

    /// Returns the buffer of a request that is being answered.
    pub(crate) fn end(&mut self, tag: Tag) -> Vec<u8> {
        self.hosts.remove(tag)
    }

    /// Performs one step of a cache.
    pub(crate) fn step_cache(&mut self, step: CacheStep) {
        match step {
            CacheStep::Clear { slot, length } => {
                let slot = slot as usize;
                if self.cached.len() <= slot {
                    self.cached.resize_with(slot + 1, Vec::new);
                }
                self.cached[slot].clear();
                self.cached[slot].resize(length.0 as usize, 0);
            }
            CacheStep::Keep { slot, at, tag, offset, length } => {
                let data = &self.hosts.get(tag)[range(offset, length)];
                self.cached[slot as usize][range(at, length)].copy_from_slice(data);
            }
            CacheStep::Serve { slot, at, tag, offset, length } => {
                let data = &self.cached[slot as usize][range(at, length)];
                self.hosts.get_mut(tag)[range(offset, length)].copy_from_slice(data);
            }
        }
    }

    /// Builds an operation on `length` bytes from `offset`, with the data that it writes.
    pub(crate) fn operation(&mut self, kind: RequestKind, offset: u64, length: Bytes, data: DataRef) -> Operation {
        let bytes = match (kind, data) {
            (RequestKind::Read, _) => vec![0; length.0 as usize],
            // A copy may write the data that it has read more than once.
            (RequestKind::Write { .. }, DataRef::Scratch { slot }) => self.scratch[slot as usize].clone(),
            (RequestKind::Write { .. }, DataRef::Cached { slot, at }) => {
                self.cached[slot as usize][range(at, length)].to_vec()
            }
            (RequestKind::Write { .. }, DataRef::Host { tag, .. } | DataRef::Striped { tag, .. }) => {
                let host = self.hosts.get(tag);
                data.pieces(length)
                    .flat_map(|(begin, size)| &host[begin as usize..(begin + size) as usize])
                    .copied()
                    .collect()
            }
            (RequestKind::Write { .. }, DataRef::Padded { tag, head, tail, .. }) => {
                let host = self.hosts.get(tag);
                let mut bytes = vec![0; head.0 as usize];
                data.pieces(length)
                    .for_each(|(begin, size)| bytes.extend(&host[begin as usize..(begin + size) as usize]));
                bytes.resize(bytes.len() + tail.0 as usize, 0);
                bytes
            }
            (RequestKind::Write { .. }, DataRef::None) => unreachable!("a write has data"),
            (RequestKind::WriteZeroes { .. } | RequestKind::Trim | RequestKind::Flush, _) => Vec::new(),
        };
        assert!(!kind.has_data() || bytes.len() as u64 == length.0, "the engine moves data without a buffer");
        Operation { kind, offset, length: length.0, data: bytes }
    }

    /// Copies the data that were read into the buffer that `data` names.
    pub(crate) fn read(&mut self, bytes: Vec<u8>, data: DataRef) {
        match data {
            DataRef::Scratch { slot } => {
                let slot = slot as usize;
                if self.scratch.len() <= slot {
                    self.scratch.resize_with(slot + 1, Vec::new);
                }
                self.scratch[slot] = bytes;
            }
            DataRef::Cached { slot, at } => {
                self.cached[slot as usize][range(at, Bytes(bytes.len() as u64))].copy_from_slice(&bytes);
            }
            DataRef::Host { tag, .. } | DataRef::Striped { tag, .. } => {
                let host = self.hosts.get_mut(tag);
                let mut rest = &bytes[..];
                for (begin, size) in data.pieces(Bytes(bytes.len() as u64)) {
                    let (piece, more) = rest.split_at(size as usize);
                    host[begin as usize..(begin + size) as usize].copy_from_slice(piece);
                    rest = more;
                }
            }
            DataRef::None | DataRef::Padded { .. } => unreachable!("a read has a buffer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_buffer_is_written_as_often_as_asked() {
        let mut buffers = Buffers::default();
        let data = DataRef::Scratch { slot: 1 };
        buffers.read(vec![7; 512], data);
        for _ in 0..2 {
            let write = buffers.operation(RequestKind::Write { fua: true }, 0, Bytes(512), data);
            assert_eq!(write.data, [7; 512]);
        }
    }
}
