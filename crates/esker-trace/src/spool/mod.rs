//! Keeps a trace for reading it again, by many threads: packed in memory or, beyond a limit, in a temporary file.

pub(crate) mod codec;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use esker_core::{Bytes, Nanos};

use crate::error::TraceError;
use crate::{Record, TraceReader};
use codec::{BLOCK_PADDING, BlockDecoder, BlockEncoder};

/// Records unpacked at a time. They stay in a core's first-level cache.
const UNPACKED: usize = 256;

/// Where a packed block is kept.
#[derive(Debug)]
enum BlockStorage {
    /// In memory, with its padding.
    Memory(Box<[u8]>),
    File {
        offset: u64,
        bytes: usize,
    },
}

#[derive(Debug)]
struct Block {
    records: usize,
    storage: BlockStorage,
}

/// Packs records as they come.
///
/// Takes about 8 to 15 bytes per record. Bytes beyond the limit go to a file without a name in the system's folder for
/// temporary files, so that it vanishes with the process.
#[derive(Debug)]
pub struct SpoolWriter {
    encoder: BlockEncoder,
    blocks: Vec<Block>,
    memory: u64,
    memory_limit: u64,
    file: Option<(File, u64)>,
    records: u64,
    first: Nanos,
    last: Nanos,
}

impl Default for SpoolWriter {
    fn default() -> Self {
        Self::with_memory(Bytes::mib(512))
    }
}

impl SpoolWriter {
    /// A writer that keeps up to `limit` bytes in memory.
    pub fn with_memory(limit: Bytes) -> Self {
        Self {
            encoder: BlockEncoder::default(),
            blocks: Vec::new(),
            memory: 0,
            memory_limit: limit.0,
            file: None,
            records: 0,
            first: Nanos::NEVER,
            last: Nanos::ZERO,
        }
    }

    /// Appends a record. Fails only if the temporary file does.
    #[inline]
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        self.first = self.first.min(record.at);
        self.last = self.last.max(record.at);
        self.records += 1;
        if self.encoder.push(record) { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), TraceError> {
        let records = self.encoder.records();
        let bytes = self.encoder.finish();
        let storage = if self.memory + bytes.len() as u64 <= self.memory_limit {
            self.memory += bytes.len() as u64;
            let mut padded = Vec::with_capacity(bytes.len() + BLOCK_PADDING);
            padded.extend_from_slice(bytes);
            padded.resize(bytes.len() + BLOCK_PADDING, 0);
            BlockStorage::Memory(padded.into_boxed_slice())
        } else {
            if self.file.is_none() {
                self.file = Some((tempfile::tempfile().map_err(TraceError::Spool)?, 0));
            }
            let (file, end) = self.file.as_mut().expect("it was just opened");
            file.write_all(bytes).map_err(TraceError::Spool)?;
            let offset = *end;
            *end += bytes.len() as u64;
            BlockStorage::File { offset, bytes: bytes.len() }
        };
        self.blocks.push(Block { records, storage });
        Ok(())
    }

    /// Returns the spool. `volumes` are the names of the volumes.
    pub fn finish(mut self, volumes: Vec<String>) -> Result<Spool, TraceError> {
        if self.encoder.records() > 0 {
            self.end_block()?;
        }
        Ok(Spool {
            blocks: self.blocks,
            file: self.file.map(|(file, _)| file),
            records: self.records,
            volumes,
            times: (self.records > 0).then_some((self.first, self.last)),
        })
    }
}

/// A packed trace. Any number of threads may read it at once.
#[derive(Debug)]
pub struct Spool {
    blocks: Vec<Block>,
    file: Option<File>,
    records: u64,
    volumes: Vec<String>,
    times: Option<(Nanos, Nanos)>,
}

impl Spool {
    /// Reads the rest of a trace into a spool that keeps up to 512 MiB in memory.
    pub fn read(reader: &mut TraceReader) -> Result<Self, TraceError> {
        let mut writer = SpoolWriter::default();
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch)? {
            for record in &batch {
                writer.push(record)?;
            }
        }
        writer.finish(reader.volumes().to_vec())
    }

    /// Packs records that are in memory.
    pub fn from_records(records: impl IntoIterator<Item = Record>, volumes: Vec<String>) -> Result<Self, TraceError> {
        let mut writer = SpoolWriter::default();
        for record in records {
            writer.push(&record)?;
        }
        writer.finish(volumes)
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Names of the volumes, by [`crate::VolumeIndex`].
    pub fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// The earliest and the latest time of all records; `None` if there are none.
    pub fn times(&self) -> Option<(Nanos, Nanos)> {
        self.times
    }

    /// Size of the packed records, in memory and in the temporary file.
    #[cfg(test)]
    fn packed_bytes(&self) -> (Bytes, Bytes) {
        let (mut memory, mut file) = (0, 0);
        for block in &self.blocks {
            match &block.storage {
                BlockStorage::Memory(bytes) => memory += (bytes.len() - BLOCK_PADDING) as u64,
                BlockStorage::File { bytes, .. } => file += *bytes as u64,
            }
        }
        (Bytes(memory), Bytes(file))
    }

    /// Iterates over all records, in the order in which they were pushed.
    ///
    /// # Panics
    /// If the temporary file can no longer be read, which only happens if a disk fails.
    pub fn records(&self) -> SpoolRecords<'_> {
        self.records_of_blocks(0..self.blocks.len())
    }

    /// Number of blocks. All but the last have 65,536 records.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Iterates over the records of some blocks, for threads that share a trace. Panics like [`Spool::records`].
    pub fn records_of_blocks(&self, blocks: std::ops::Range<usize>) -> SpoolRecords<'_> {
        let left = self.blocks[blocks.clone()].iter().map(|block| block.records).sum();
        SpoolRecords {
            spool: self,
            next_block: blocks.start,
            end_block: blocks.end,
            decoder: BlockDecoder::new(0),
            loaded: Vec::new(),
            unpacked: Vec::with_capacity(UNPACKED),
            next: 0,
            left,
        }
    }
}

/// Iterates over the records of a [`Spool`].
#[derive(Debug)]
pub struct SpoolRecords<'a> {
    spool: &'a Spool,
    next_block: usize,
    end_block: usize,
    decoder: BlockDecoder,
    /// The current block, if it comes from the file.
    loaded: Vec<u8>,
    unpacked: Vec<Record>,
    next: usize,
    /// Number of records after those in `unpacked`.
    left: usize,
}

impl SpoolRecords<'_> {
    /// Unpacks the next records. Returns false at the end.
    #[inline(never)]
    fn unpack(&mut self) -> bool {
        self.unpacked.clear();
        self.next = 0;
        if self.decoder.remaining() == 0 {
            if self.next_block == self.end_block {
                return false;
            }
            let block = &self.spool.blocks[self.next_block];
            self.next_block += 1;
            self.decoder = BlockDecoder::new(block.records);
            if let BlockStorage::File { offset, bytes } = block.storage {
                self.loaded.resize(bytes + BLOCK_PADDING, 0);
                let file = self.spool.file.as_ref().expect("a block lies in the file");
                file.read_exact_at(&mut self.loaded[..bytes], offset).expect("the spool's temporary file is readable");
            }
        }
        let bytes = match &self.spool.blocks[self.next_block - 1].storage {
            BlockStorage::Memory(bytes) => bytes,
            BlockStorage::File { .. } => &self.loaded[..],
        };
        self.decoder.decode(bytes, UNPACKED, &mut self.unpacked).expect("the spool reads what it wrote");
        self.left -= self.unpacked.len();
        true
    }
}

impl Iterator for SpoolRecords<'_> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        if self.next == self.unpacked.len() && !self.unpack() {
            return None;
        }
        let record = self.unpacked[self.next];
        self.next += 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left + self.unpacked.len() - self.next;
        (left, Some(left))
    }

    fn fold<A, F: FnMut(A, Record) -> A>(mut self, mut accumulator: A, mut f: F) -> A {
        loop {
            for record in &self.unpacked[self.next..] {
                accumulator = f(accumulator, *record);
            }
            if !self.unpack() {
                return accumulator;
            }
        }
    }
}

impl ExactSizeIterator for SpoolRecords<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, VolumeIndex};

    fn records(count: u64) -> impl Iterator<Item = Record> {
        (0..count).map(|number| Record {
            at: Nanos(number * 1_000 + number % 7),
            offset: number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24 << 9,
            length: 512 * (1 + number as u32 % 64),
            volume: VolumeIndex(number as u32 % 3),
            operation: if number % 3 == 0 { Operation::Read } else { Operation::Write },
            response: (number % 5 == 0).then_some(Nanos(number)),
        })
    }

    #[test]
    fn many_threads_read_the_same_records_from_memory_and_file() {
        // Three blocks and a bit; the limit leaves one of them in memory.
        const COUNT: u64 = 200_000;
        let mut writer = SpoolWriter::with_memory(Bytes::kib(900));
        for record in records(COUNT) {
            writer.push(&record).unwrap();
        }
        let spool = writer.finish(vec!["a".into(), "b".into(), "c".into()]).unwrap();
        let (memory, file) = spool.packed_bytes();
        assert!(memory > Bytes::ZERO && file > Bytes::ZERO, "{memory} {file}");
        assert_eq!((spool.len(), spool.block_count()), (COUNT, 4));
        assert_eq!(spool.times(), Some((Nanos(0), records(COUNT).map(|record| record.at).max().unwrap())));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(spool.records().eq(records(COUNT))));
            }
        });
        let mut parts = Vec::new();
        for block in 0..spool.block_count() {
            spool.records_of_blocks(block..block + 1).for_each(|record| parts.push(record));
        }
        assert!(parts.into_iter().eq(records(COUNT)));
        let mut iterator = spool.records();
        assert_eq!(iterator.nth(65_600), records(COUNT).nth(65_600));
        assert_eq!(iterator.len(), COUNT as usize - 65_601);
    }

    #[test]
    fn an_empty_spool_has_nothing() {
        let spool = SpoolWriter::default().finish(Vec::new()).unwrap();
        assert!(spool.is_empty() && spool.times().is_none() && spool.records().next().is_none());
    }
}
