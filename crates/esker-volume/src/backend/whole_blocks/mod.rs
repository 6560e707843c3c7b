//! Whole blocks for devices that take nothing else.
//!
//! A read of parts of blocks reads the blocks into other memory. A write of parts of blocks reads those blocks, changes
//! them in memory, and writes them. While it does so, all other operations on these blocks wait.

mod claim;

use std::collections::VecDeque;
use std::io;

use esker_core::{Bytes, Nanos, RequestKind, Tag, TagSlab};

use super::alignment::Alignment;
use super::{Backend, Ended, Gather, Operation, OperationData, PlacedError};
use crate::memory::{Buffer, BufferPool};
use claim::Claim;

/// A back end that takes any operations, over one that takes whole blocks in aligned memory.
pub struct WholeBlocks {
    inner: Box<dyn Backend>,
    alignment: Alignment,
    under_way: TagSlab<UnderWay>,
    /// Operations that have not begun, in their order.
    waiting: VecDeque<Tag>,
    /// Operations that the inner back end has: of which operation they are which part.
    inner_operations: TagSlab<(Tag, Part)>,
    /// Number of operations under way that change a part of a block.
    with_parts: usize,
    next_number: u64,
    /// The last time that was told.
    now: Nanos,
    pool: BufferPool,
    from_inner: Vec<Ended>,
    ended: Vec<Ended>,
}

struct UnderWay {
    id: u64,
    operation: Operation,
    claim: Claim,
    /// Rises by one with each operation.
    number: u64,
    has_begun: bool,
    step: Step,
    /// Number of operations that the inner back end has for it.
    left: usize,
    /// The blocks of which a write changes a part: the first one, the last one.
    blocks: [Buffer; 2],
    /// The first error on the device.
    error: Option<io::Error>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its blocks are read, because a part of them changes.
    ReadBlocks,
    /// It is performed.
    Perform,
    /// It is performed, and then a flush makes durable what it has written in several operations.
    PerformAndFlush,
}

/// What the inner back end does for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of it.
    Whole,
    /// Reads all blocks that it touches into other memory.
    Cover,
    /// Reads the first (0) or the last block (1), of which a part changes.
    ReadBlock(usize),
    /// Writes that block.
    WriteBlock(usize),
    /// Changes the blocks between, of which all bytes change.
    Middle,
    /// Makes durable what was written.
    Flush,
}

impl WholeBlocks {
    /// Over a back end that takes whole blocks of `block` bytes, a power of two, from any memory.
    pub fn of(inner: Box<dyn Backend>, block: u64) -> Self {
        Self::new(inner, Alignment { block, memory: 1 })
    }

    pub(crate) fn new(inner: Box<dyn Backend>, alignment: Alignment) -> Self {
        Self {
            inner,
            alignment,
            under_way: TagSlab::default(),
            waiting: VecDeque::new(),
            inner_operations: TagSlab::default(),
            with_parts: 0,
            next_number: 0,
            now: Nanos::ZERO,
            pool: BufferPool::default(),
            from_inner: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Returns true if an operation has to wait for one that has begun, or that came before it.
    fn has_to_wait(&self, claim: &Claim, number: u64) -> bool {
        let is_before = |other: &UnderWay| other.has_begun || other.number < number;
        self.with_parts > 0 && self.under_way.iter().any(|other| is_before(other) && other.claim.conflicts(claim))
    }

    /// Gives the inner back end an operation for the one named `of`.
    fn send_inner(&mut self, of: Tag, part: Part, operation: Operation) {
        self.under_way.get_mut(of).left += 1;
        let tag = self.inner_operations.insert((of, part));
        self.inner.submit(self.now, tag.to_bits(), operation);
    }

    fn begin(&mut self, tag: Tag) {
        let block = self.alignment.block;
        let under_way = self.under_way.get_mut(tag);
        under_way.has_begun = true;
        let Operation { kind, offset, length, priority, stream, ref mut data } = under_way.operation;
        let claim = under_way.claim;
        let (begin, covered) = claim.blocks();
        let is_whole = (begin, covered) == (offset, length);
        let with = |kind, offset, length, data| Operation { kind, offset, length, priority, stream, data };
        match kind {
            RequestKind::Read if !is_whole => {
                let memory = self.pool.take(covered as usize);
                let cover = with(kind, begin, covered, OperationData::Fill(memory));
                self.send_inner(tag, Part::Cover, cover);
            }
            RequestKind::Trim if !is_whole => {
                // What lies in parts of blocks stays.
                let begin = offset.next_multiple_of(block);
                let end = (offset + length) / block * block;
                match begin < end {
                    true => self.send_inner(tag, Part::Whole, with(kind, begin, end - begin, OperationData::None)),
                    false => self.end(tag, None),
                }
            }
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } if claim.has_parts() => {
                under_way.step = Step::ReadBlocks;
                for (index, at) in claim.parts().into_iter().enumerate() {
                    let Some(at) = at else { continue };
                    let memory = OperationData::Fill(self.pool.take(block as usize));
                    self.send_inner(tag, Part::ReadBlock(index), with(RequestKind::Read, at, block, memory));
                }
            }
            _ => {
                let mut data = std::mem::take(data);
                if let OperationData::Take(gather) = data {
                    data = OperationData::Take(fitting(gather, self.alignment, &mut self.pool));
                }
                self.send_inner(tag, Part::Whole, with(kind, offset, length, data));
            }
        }
    }

    /// Writes what changes, after the blocks were read of which only a part changes.
    fn write_parts(&mut self, tag: Tag) {
        let block = self.alignment.block;
        let under_way = self.under_way.get_mut(tag);
        let Operation { kind, offset, length, priority, stream, .. } = under_way.operation;
        let claim = under_way.claim;
        let (middle, middle_length) = claim.middle();
        let writes = claim.parts().iter().flatten().count() + usize::from(middle_length > 0);
        // Several writes become durable by a flush.
        let fua = kind.is_fua() && writes == 1;
        let gather = match &under_way.operation.data {
            OperationData::Take(gather) => Some(gather.clone()),
            _ => None,
        };
        let mut blocks = std::mem::take(&mut under_way.blocks);
        for (index, at) in claim.parts().into_iter().enumerate() {
            let Some(at) = at else { continue };
            let mut bytes = std::mem::take(&mut blocks[index]);
            let (begin, end) = (at.max(offset), (at + block).min(offset + length));
            let changed = &mut bytes.get_mut().expect("it has one owner")[(begin - at) as usize..(end - at) as usize];
            match &gather {
                Some(gather) => gather.part((begin - offset) as usize, changed.len()).copy_to(changed),
                None => changed.fill(0),
            }
            let data = OperationData::Take(Gather::whole(bytes));
            let write =
                Operation { kind: RequestKind::Write { fua }, offset: at, length: block, priority, stream, data };
            self.send_inner(tag, Part::WriteBlock(index), write);
        }
        if middle_length > 0 {
            let (kind, data) = match gather {
                Some(gather) => {
                    let part = gather.part((middle - offset) as usize, middle_length as usize);
                    let part = fitting(part, self.alignment, &mut self.pool);
                    (RequestKind::Write { fua }, OperationData::Take(part))
                }
                None => (RequestKind::WriteZeroes { fua }, OperationData::None),
            };
            let write = Operation { kind, offset: middle, length: middle_length, priority, stream, data };
            self.send_inner(tag, Part::Middle, write);
        }
        self.under_way.get_mut(tag).step =
            if kind.is_fua() && writes > 1 { Step::PerformAndFlush } else { Step::Perform };
    }

    /// Takes what the inner back end has ended, until it has ended nothing more.
    fn collect(&mut self) {
        let mut from_inner = std::mem::take(&mut self.from_inner);
        loop {
            self.inner.take_ended(&mut from_inner);
            if from_inner.is_empty() {
                break;
            }
            from_inner.drain(..).for_each(|ended| self.inner_ended(ended));
            self.begin_waiting();
        }
        self.from_inner = from_inner;
    }

    /// Notes the end of an operation of the inner back end, and goes on with the operation that it is a part of.
    fn inner_ended(&mut self, ended: Ended) {
        let (tag, part) = self.inner_operations.remove(Tag::from_bits(ended.id));
        let under_way = self.under_way.get_mut(tag);
        under_way.left -= 1;
        if let Err(error) = ended.result {
            under_way.fail(part, error);
        }
        match (part, ended.data) {
            (Part::Whole, data) => under_way.operation.data = data,
            (Part::Cover, OperationData::Fill(cover)) => {
                let skew = (under_way.operation.offset - under_way.claim.blocks().0) as usize;
                if let OperationData::Fill(memory) = &mut under_way.operation.data {
                    let bytes = memory.get_mut().expect("a read has its memory to itself");
                    bytes.copy_from_slice(&cover[skew..skew + bytes.len()]);
                }
                self.pool.give(cover);
            }
            (Part::ReadBlock(index), OperationData::Fill(block)) => under_way.blocks[index] = block,
            (Part::WriteBlock(_), OperationData::Take(block)) => {
                let pool = &mut self.pool;
                let memory = block.into_buffer(|length| pool.take(length));
                self.pool.give(memory);
            }
            _ => {}
        }
        let under_way = self.under_way.get_mut(tag);
        match under_way.step {
            _ if under_way.left > 0 => {}
            _ if under_way.error.is_some() => self.end(tag, ended.at),
            Step::ReadBlocks => self.write_parts(tag),
            Step::PerformAndFlush => {
                under_way.step = Step::Perform;
                let flush = Operation::new(RequestKind::Flush, 0, 0, OperationData::None);
                self.send_inner(tag, Part::Flush, flush);
            }
            Step::Perform => self.end(tag, ended.at),
        }
    }

    fn end(&mut self, tag: Tag, at: Option<Nanos>) {
        let UnderWay { id, operation, claim, blocks, error, .. } = self.under_way.remove(tag);
        self.with_parts -= usize::from(claim.has_parts());
        blocks.into_iter().for_each(|block| self.pool.give(block));
        self.ended.push(Ended { id, at, result: error.map_or(Ok(()), Err), data: operation.data });
    }

    /// Begins operations that need not wait any more.
    fn begin_waiting(&mut self) {
        let mut index = 0;
        while let Some(&tag) = self.waiting.get(index) {
            let &mut UnderWay { claim, number, .. } = self.under_way.get_mut(tag);
            if self.has_to_wait(&claim, number) {
                index += 1;
                continue;
            }
            self.waiting.remove(index);
            self.begin(tag);
            // It may have ended at once, and others have waited for it.
            index = 0;
        }
    }
}

impl UnderWay {
    /// Notes an error of a part, unless there was one before it on the device.
    fn fail(&mut self, part: Part, error: io::Error) {
        let Operation { offset, length, .. } = self.operation;
        let begins = match part {
            Part::Whole => offset,
            Part::Cover => self.claim.blocks().0,
            Part::ReadBlock(index) | Part::WriteBlock(index) => self.claim.parts()[index].expect("it was sent"),
            Part::Middle => self.claim.middle().0,
            // A flush that fails refuses no write: what was written is lost.
            Part::Flush => {
                let text = format!("written data cannot be made durable: {error}");
                self.error = Some(io::Error::other(text));
                return;
            }
        };
        let place = (begins + PlacedError::place_of(&error).0).saturating_sub(offset).min(length);
        if self.error.as_ref().is_none_or(|first| place < PlacedError::place_of(first).0) {
            self.error = Some(PlacedError::moved_to(place, error));
        }
    }
}

/// The bytes of `gather` in memory that fits: the same memory if it does, otherwise a copy.
fn fitting(gather: Gather, alignment: Alignment, pool: &mut BufferPool) -> Gather {
    let fits = |slice: &[u8]| {
        slice.as_ptr().addr().is_multiple_of(alignment.memory) && (slice.len() as u64).is_multiple_of(alignment.block)
    };
    let fits = gather.slices().all(fits);
    match fits {
        true => gather,
        false => Gather::whole(gather.into_buffer(|length| pool.take(length))),
    }
}

impl Backend for WholeBlocks {
    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }

    fn submit(&mut self, now: Nanos, id: u64, operation: Operation) {
        self.now = self.now.max(now);
        let Operation { kind, offset, length, .. } = operation;
        let claim = Claim::new(kind, offset, length, self.alignment.block);
        let number = self.next_number;
        self.next_number += 1;
        self.with_parts += usize::from(claim.has_parts());
        let has_to_wait = self.has_to_wait(&claim, number);
        let (step, blocks) = (Step::Perform, Default::default());
        let under_way = UnderWay { id, operation, claim, number, has_begun: false, step, left: 0, blocks, error: None };
        let tag = self.under_way.insert(under_way);
        match has_to_wait {
            true => self.waiting.push_back(tag),
            false => self.begin(tag),
        }
    }

    fn send(&mut self) {
        self.inner.send();
    }

    fn take_ended(&mut self, ended: &mut Vec<Ended>) {
        self.collect();
        ended.append(&mut self.ended);
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }

    fn next_event(&self) -> Nanos {
        self.inner.next_event()
    }

    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.inner.advance(now);
    }

    fn abandon(&mut self) {
        self.inner.abandon();
    }
}

#[cfg(test)]
mod tests;
