//! Buffers of requests under way, of copies, and of a cache.

use esker_core::{Bytes, Request, RequestKind, Tag, TagMap};
use esker_tier::{BufferId, BufferPlace, BufferStep, DataRef};

use crate::backend::{Gather, Operation, OperationData};
use crate::memory::{Buffer, BufferPool, ReplyData, add};

/// How many lists of pieces are kept for later requests.
const SPARE_MAX: usize = 1024;

/// All buffers of a volume. A buffer that a read fills as a whole is not here while the read is under way.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) pool: BufferPool,
    /// The memory of the host's requests by their tags, and whether the request reads.
    hosts: TagMap<(ReplyData, bool)>,
    /// Memory of ended requests, without the bytes.
    spare: Vec<ReplyData>,
    /// Buffers of copies, by number.
    copies: Vec<Buffer>,
    /// Buffers of a cache, by number.
    cache: Vec<Buffer>,
}

/// The bytes of `length` from `place` on.
fn range(place: BufferPlace, length: Bytes) -> std::ops::Range<usize> {
    place.offset.0 as usize..(place.offset.0 + length.0) as usize
}

impl Buffers {
    /// Keeps the buffer of a new request.
    pub(crate) fn begin(&mut self, tag: Tag, buffer: Buffer, is_read: bool) {
        let mut data = self.spare.pop().unwrap_or_default();
        data.whole = buffer;
        self.hosts.insert(tag, (data, is_read));
    }

    /// Returns the memory of a request that is answered now, and whether the request reads.
    pub(crate) fn end(&mut self, tag: Tag) -> (ReplyData, bool) {
        self.hosts.remove(tag)
    }

    /// Returns the bytes of a reply in one buffer.
    pub(crate) fn gathered(&mut self, mut data: ReplyData) -> Buffer {
        data.gather(&mut self.pool);
        let whole = std::mem::take(&mut data.whole);
        self.recycle(data);
        whole
    }

    /// Takes the memory of a reply back.
    pub(crate) fn recycle(&mut self, data: ReplyData) {
        let spare = data.give_to(&mut self.pool);
        if self.spare.len() < SPARE_MAX {
            self.spare.push(spare);
        }
    }

    /// Returns the buffer `id`, which is empty if nothing was put into it yet.
    fn entry(&mut self, id: BufferId) -> &mut Buffer {
        let (own, number) = match id {
            BufferId::Host(tag) => return &mut self.hosts.get_mut(tag).0.whole,
            BufferId::Copy(number) => (&mut self.copies, number as usize),
            BufferId::Cache(number) => (&mut self.cache, number as usize),
        };
        if own.len() <= number {
            own.resize_with(number + 1, Buffer::default);
        }
        &mut own[number]
    }

    /// Puts the bytes of a host's request where they can be changed or copied, if any of those from `place` on are in
    /// memory that a store has filled.
    fn gather(&mut self, place: BufferPlace, length: Bytes) {
        if let BufferId::Host(tag) = place.buffer {
            let data = &mut self.hosts.get_mut(tag).0;
            if data.has_pieces_in(&range(place, length)) {
                data.gather(&mut self.pool);
            }
        }
    }

    /// Lets `change` change `length` bytes from `into` on. Buffers of the engine's own grow so far.
    fn change(&mut self, into: BufferPlace, length: Bytes, change: impl FnOnce(&Self, &mut [u8])) {
        self.gather(into, length);
        let (mut buffer, range) = (std::mem::take(self.entry(into.buffer)), range(into, length));
        let mut pool = std::mem::take(&mut self.pool);
        if !matches!(into.buffer, BufferId::Host(_)) {
            buffer.grow(range.end, &mut pool);
        }
        change(self, &mut buffer.make_mut(&mut pool)[range]);
        self.pool = pool;
        *self.entry(into.buffer) = buffer;
    }

    /// Performs one step of the engine.
    pub(crate) fn step(&mut self, step: BufferStep) {
        match step {
            BufferStep::Zero { into, length } => self.change(into, length, |_, bytes| bytes.fill(0)),
            BufferStep::Copy { from, into, length } => {
                self.combine(from, into, length, |from, into| into.copy_from_slice(from));
            }
            BufferStep::Add { factor, from, into, length } => {
                self.combine(from, into, length, |from, into| add(factor, from, into));
            }
        }
    }

    /// Lets `combine` change the bytes from `into` on by those from `from` on.
    fn combine(&mut self, from: BufferPlace, into: BufferPlace, length: Bytes, combine: impl FnOnce(&[u8], &mut [u8])) {
        self.gather(from, length);
        if from.buffer == into.buffer {
            let own = self.entry(from.buffer)[range(from, length)].to_vec();
            return self.change(into, length, |_, bytes| combine(&own, bytes));
        }
        // Shares its memory.
        let source = self.entry(from.buffer).clone();
        self.change(into, length, |_, bytes| combine(&source[range(from, length)], bytes));
    }

    /// Builds the operation of `request`, whose memory `data` describes.
    pub(crate) fn operation(&mut self, request: &Request, data: Option<DataRef>) -> Operation {
        let Request { kind, start, length, priority, stream } = *request;
        let data = match (kind, data) {
            (RequestKind::Read, Some(data)) => OperationData::Fill(self.memory_to_fill(data, length)),
            (RequestKind::Write { .. }, Some(data)) => {
                OperationData::Take(Gather::new(self.entry(data.place.buffer).clone(), data, length))
            }
            (kind, data) => {
                assert!(!kind.has_data(), "the engine moves {data:?} without a buffer");
                OperationData::None
            }
        };
        Operation { kind, offset: start.byte_offset(), length: length.0, priority, stream, data }
    }

    /// Takes the buffer that a read fills as a whole; gives other memory if it fills only parts.
    fn memory_to_fill(&mut self, data: DataRef, length: Bytes) -> Buffer {
        let buffer = self.entry(data.place.buffer);
        let fills_it = data.place.offset == Bytes::ZERO && buffer.len() as u64 == length.0;
        if fills_it && buffer.get_mut().is_some() {
            return std::mem::take(buffer);
        }
        self.pool.take(length.0 as usize)
    }

    /// Puts what a read has filled to where `data` says.
    pub(crate) fn filled(&mut self, filled: Buffer, data: DataRef) {
        let place = data.place;
        // It was taken, or there is none yet.
        let is_absent = self.entry(place.buffer).is_empty();
        if place.offset == Bytes::ZERO && (is_absent || matches!(place.buffer, BufferId::Copy(_))) {
            let before = std::mem::replace(self.entry(place.buffer), filled);
            return self.pool.give(before);
        }
        if let BufferId::Host(tag) = place.buffer {
            let length = Bytes(filled.len() as u64);
            let mut parts = data.segments(length).filter_map(|segment| Some((segment.place?, segment.length)));
            let data_of_host = &mut self.hosts.get_mut(tag).0;
            if !parts.any(|(place, length)| data_of_host.has_pieces_in(&range(place, length))) {
                return data_of_host.add(filled, data);
            }
        }
        let mut done = 0;
        for segment in data.segments(Bytes(filled.len() as u64)) {
            let Some(place) = segment.place else { continue };
            let bytes = &filled[done..done + segment.length.0 as usize];
            self.change(place, segment.length, |_, into| into.copy_from_slice(bytes));
            done += segment.length.0 as usize;
        }
        self.pool.give(filled);
    }

    /// Takes back the memory of a read that has failed.
    pub(crate) fn not_filled(&mut self, memory: Buffer, data: DataRef) {
        match self.entry(data.place.buffer) {
            taken if taken.is_empty() => *taken = memory,
            _ => self.pool.give(memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{BlockingBackend, MemoryBackend};

    fn place(buffer: BufferId, offset: u64) -> BufferPlace {
        BufferPlace::new(buffer, Bytes(offset))
    }

    /// Reads `length` bytes of a store that holds 0, 1, 2...
    fn read(buffers: &mut Buffers, data: DataRef, length: u64) {
        let request = Request::read(esker_core::Lba(0), Bytes(length));
        let mut store = MemoryBackend::new(Bytes::kib(4));
        let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
        store.write(0, &mut [std::io::IoSlice::new(&bytes)], false).unwrap();
        let ended = buffers.operation(&request, Some(data)).perform(0, &mut store);
        let OperationData::Fill(buffer) = ended.data else { panic!("a read fills a buffer") };
        buffers.filled(buffer, data);
    }

    #[test]
    fn a_copy_is_written_as_often_as_asked() {
        let mut buffers = Buffers::default();
        let data = DataRef::new(BufferId::Copy(1), Bytes::ZERO);
        read(&mut buffers, data, 512);
        let request = Request::write(esker_core::Lba(0), Bytes(512));
        for _ in 0..2 {
            let OperationData::Take(gather) = buffers.operation(&request, Some(data)).data else { panic!("a write") };
            assert_eq!(gather.slices().flatten().count(), 512);
        }
    }

    #[test]
    fn a_read_fills_the_buffer_of_the_host_itself_or_parts_of_it() {
        let mut buffers = Buffers::default();
        let tag = Tag::new(0, 0);
        let data = DataRef::new(BufferId::Host(tag), Bytes::ZERO);
        let buffer = Buffer::zeroed(1024);
        let address = buffer.as_ptr();
        buffers.begin(tag, buffer, true);
        read(&mut buffers, data, 1024);
        read(&mut buffers, DataRef::new(BufferId::Host(tag), Bytes(1000)), 8);
        let (data, _) = buffers.end(tag);
        let bytes = data.to_vec();
        assert_eq!(
            (data.whole.as_ptr(), bytes[999], &bytes[1000..1010]),
            (address, 231, &[0, 1, 2, 3, 4, 5, 6, 7, 240, 241][..])
        );
    }

    #[test]
    fn steps_change_parts_of_buffers() {
        let mut buffers = Buffers::default();
        let (tag, cache, copy) = (Tag::new(0, 0), BufferId::Cache(3), BufferId::Copy(0));
        buffers.begin(tag, Buffer::from(vec![1, 2, 3, 4]), false);
        buffers.step(BufferStep::Zero { into: place(cache, 0), length: Bytes(6) });
        let from = place(BufferId::Host(tag), 1);
        buffers.step(BufferStep::Copy { from, into: place(cache, 2), length: Bytes(3) });
        assert_eq!(buffers.entry(cache)[..], [0, 0, 2, 3, 4, 0]);
        buffers.step(BufferStep::Copy { from: place(cache, 2), into: place(cache, 0), length: Bytes(2) });
        read(&mut buffers, DataRef::new(copy, Bytes::ZERO), 4);
        // A write under way still has the old bytes.
        let shared = buffers.entry(cache).clone();
        buffers.step(BufferStep::Add { factor: 2, from: place(copy, 1), into: place(cache, 1), length: Bytes(3) });
        assert_eq!((&shared[..], &buffers.entry(cache)[..]), (&[2, 3, 2, 3, 4, 0][..], &[2, 1, 6, 5, 4, 0][..]));
    }
}
