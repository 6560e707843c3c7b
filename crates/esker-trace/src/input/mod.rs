//! Reads files, pipes and compressed streams in large blocks.

mod decompress;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::TraceError;
use crate::scan::PADDING;
use decompress::Decompressor;

/// How much is read at a time. A few blocks fit into a core's second-level cache.
const BLOCK: usize = 256 << 10;
/// Room before a block for the rest of the block before it.
const HEADROOM: usize = 64 << 10;
/// The byte-order mark that some programs put before text in UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";
/// How much of an input detection may see.
const SAMPLE: usize = 64 << 10;

/// One input: a window over its decompressed bytes that moves forward.
pub(crate) struct Input {
    name: String,
    blocks: Blocks,
    /// `start..end` of `buffer` is the window; [`PADDING`] more bytes follow `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Decompressed bytes up to `end`.
    offset: u64,
    ended: bool,
    consumed: Arc<AtomicU64>,
    total: Option<u64>,
    /// The file itself, if the input is an uncompressed file.
    plain_file: Option<File>,
}

/// Where blocks come from.
enum Blocks {
    Plain(Box<dyn Read + Send>),
    Decompressed(Decompressor),
}

/// Counts the bytes that pass through.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Reads until `buffer` is full or the input ends.
fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Self::new("standard input", Box::new(esker_files::stdin()), None, None);
        }
        let name = path.display().to_string();
        let open = |source| TraceError::Open { name: name.clone(), source };
        let file = esker_files::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        if metadata.is_dir() {
            return Err(open(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if !metadata.is_file() {
            return Self::new(&name, Box::new(file), None, None);
        }
        let copy = file.try_clone().map_err(open)?;
        Self::new(&name, Box::new(file), Some(metadata.len()), Some(copy))
    }

    /// Reads `reader`, which is called `name` in messages.
    pub(crate) fn new(
        name: &str,
        reader: Box<dyn Read + Send>,
        total: Option<u64>,
        file: Option<File>,
    ) -> Result<Self, TraceError> {
        let consumed = Arc::new(AtomicU64::new(0));
        let mut reader = Counted { inner: reader, count: consumed.clone() };
        let mut head = vec![0; 512];
        let length = read_full(&mut reader, &mut head).map_err(|source| TraceError::Read {
            name: name.to_string(),
            offset: 0,
            source,
        })?;
        head.truncate(length);
        let compression = decompress::recognise(name, &head)?;
        let whole: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(reader));
        let (blocks, plain_file) = match compression {
            None => (Blocks::Plain(whole), file),
            Some(compression) => {
                let decompressor = Decompressor::start(compression, whole).map_err(|source| TraceError::Read {
                    name: name.to_string(),
                    offset: 0,
                    source,
                })?;
                (Blocks::Decompressed(decompressor), None)
            }
        };
        let mut input = Self {
            name: name.to_string(),
            blocks,
            buffer: vec![0; HEADROOM + PADDING],
            start: HEADROOM,
            end: HEADROOM,
            offset: 0,
            ended: false,
            consumed,
            total,
            plain_file,
        };
        if !input.advance(0)? {
            return Err(TraceError::Empty { name: name.to_string() });
        }
        if compression.is_some() && decompress::recognise(name, input.window())?.is_some() {
            let (found, remedy) = ("data compressed twice", "decompress it once");
            return Err(TraceError::Container { name: name.to_string(), found, remedy });
        }
        Ok(input)
    }

    /// The name of the input in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The counter of bytes read from the file, before decompression.
    pub(crate) fn consumed(&self) -> Arc<AtomicU64> {
        self.consumed.clone()
    }

    /// Bytes of the whole file, before decompression, if that is known.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total
    }

    /// The file, if the input is an uncompressed one. For formats that are not read from front to back.
    pub(crate) fn plain_file(&self) -> Option<&File> {
        self.plain_file.as_ref()
    }

    /// The window.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The window, and [`PADDING`] more bytes.
    #[inline]
    pub(crate) fn padded_window(&self) -> &[u8] {
        &self.buffer[self.start..self.end + PADDING]
    }

    /// Position of the window's first byte in the decompressed input.
    pub(crate) fn position(&self) -> u64 {
        self.offset - (self.end - self.start) as u64
    }

    /// Up to 64 KiB from the beginning, before anything has been read, and whether that is the whole input.
    pub(crate) fn sample(&mut self) -> Result<(&[u8], bool), TraceError> {
        // A block is larger than a sample, and only the last block is short.
        const { assert!(BLOCK >= SAMPLE) };
        let window = self.window();
        let whole = window.len() < BLOCK;
        Ok(if window.len() > SAMPLE { (&window[..SAMPLE], false) } else { (window, whole) })
    }

    /// Skips the byte-order mark before text, before anything has been read.
    pub(crate) fn skip_mark(&mut self) -> Result<(), TraceError> {
        if self.window().starts_with(MARK) {
            self.consume(MARK.len());
            if !self.fill_to(1)? {
                return Err(TraceError::Empty { name: self.name.clone() });
            }
        }
        Ok(())
    }

    /// Appends a newline if the last byte is none. Only at the end.
    pub(crate) fn terminate_line(&mut self) {
        debug_assert!(self.ended);
        if self.start < self.end && self.buffer[self.end - 1] != b'\n' {
            self.buffer.insert(self.end, b'\n');
            self.end += 1;
            self.offset += 1;
        }
    }

    /// Moves the start of the window forward by `count` bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Reads until the window has `count` bytes. Returns false if the input ends before.
    pub(crate) fn fill_to(&mut self, count: usize) -> Result<bool, TraceError> {
        while self.end - self.start < count {
            if !self.advance(self.end - self.start)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Keeps the window's last `keep` bytes and appends the next block. Returns false at the end of the input.
    pub(crate) fn advance(&mut self, keep: usize) -> Result<bool, TraceError> {
        debug_assert!(keep <= self.end - self.start);
        let kept = self.end - keep..self.end;
        if self.ended {
            self.start = kept.start;
            return Ok(false);
        }
        let read = match &mut self.blocks {
            Blocks::Plain(reader) => {
                // Move the kept bytes to the front; usually they are less than a line.
                self.buffer.copy_within(kept, 0);
                self.buffer.resize(keep + BLOCK + PADDING, 0);
                self.start = 0;
                let count = read_full(&mut **reader, &mut self.buffer[keep..keep + BLOCK])
                    .map_err(|source| TraceError::Read { name: self.name.clone(), offset: self.offset, source })?;
                self.end = keep + count;
                count
            }
            Blocks::Decompressed(decompressor) => {
                let next = decompressor.next_block();
                match next.map_err(|source| match decompressor.compression().too_large(&source) {
                    Some((found, remedy)) => TraceError::Container { name: self.name.clone(), found, remedy },
                    None => TraceError::Compressed {
                        name: self.name.clone(),
                        compression: decompressor.compression().name(),
                        offset: self.consumed.load(Ordering::Relaxed),
                        decompressed: self.offset,
                        source,
                    },
                })? {
                    None => {
                        self.start = kept.start;
                        0
                    }
                    Some(mut block) => {
                        let count = block.len() - HEADROOM - PADDING;
                        if keep <= HEADROOM {
                            block[HEADROOM - keep..HEADROOM].copy_from_slice(&self.buffer[kept]);
                            self.start = HEADROOM - keep;
                            self.end = HEADROOM + count;
                        } else {
                            block.splice(..HEADROOM, self.buffer[kept].iter().copied());
                            self.start = 0;
                            self.end = keep + count;
                        }
                        let old = std::mem::replace(&mut self.buffer, block);
                        decompressor.recycle(old);
                        count
                    }
                }
            }
        };
        self.offset += read as u64;
        self.ended = read == 0;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn compressed(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(bytes).unwrap();
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
        zstd.include_checksum(true).unwrap();
        zstd.write_all(bytes).unwrap();
        vec![
            ("plain", bytes.to_vec()),
            ("gzip", gzip.finish().unwrap()),
            ("zstd", zstd.finish().unwrap()),
            ("xz", xz.finish().unwrap()),
        ]
    }

    fn read_all(bytes: Vec<u8>, keep: usize) -> Result<Vec<u8>, TraceError> {
        let mut input = Input::new("test", Box::new(io::Cursor::new(bytes)), None, None)?;
        let mut all = Vec::new();
        loop {
            let window = input.window();
            let keep = keep.min(window.len());
            all.extend_from_slice(&window[..window.len() - keep]);
            if !input.advance(keep)? {
                all.extend_from_slice(input.window());
                return Ok(all);
            }
        }
    }

    #[test]
    fn every_compression_gives_back_the_bytes_whatever_is_kept_between_blocks() {
        let bytes: Vec<u8> =
            (0..1_000_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
        for (name, packed) in compressed(&bytes) {
            for keep in [0, 1, 1000, HEADROOM, HEADROOM + 1, BLOCK, BLOCK + 7] {
                assert!(read_all(packed.clone(), keep).unwrap() == bytes, "{name}, {keep} kept");
            }
            // Two members or frames, one after the other, are one input.
            let twice = [packed.clone(), packed].concat();
            assert!(read_all(twice, 10).unwrap() == [&bytes[..], &bytes].concat(), "{name} twice");
        }
    }

    #[test]
    fn cut_off_and_damaged_compressed_input_is_an_error_with_its_place() {
        let bytes: Vec<u8> = (0..500_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 9).to_le_bytes()).collect();
        for (name, packed) in compressed(&bytes).into_iter().skip(1) {
            let cut = packed[..packed.len() - 3].to_vec();
            let error = read_all(cut, 0).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains("near byte"), "{error}");
            let mut damaged = packed;
            let middle = damaged.len() / 2;
            damaged[middle..middle + 100].fill(0xa5);
            assert!(matches!(read_all(damaged, 0), Err(TraceError::Compressed { .. })), "{name}");
        }
    }

    #[test]
    fn nothing_and_compressed_nothing_are_empty() {
        for (name, packed) in compressed(b"") {
            assert!(matches!(read_all(packed, 0), Err(TraceError::Empty { .. })), "{name}");
        }
    }

    #[test]
    fn containers_are_named() {
        let error = read_all(b"PK\x03\x04 and so on".to_vec(), 0).unwrap_err();
        assert_eq!(error.to_string(), "test: expected a trace, found a zip archive");
    }
}
