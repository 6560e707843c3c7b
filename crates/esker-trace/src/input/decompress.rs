//! Decompresses in a separate thread, a few blocks ahead.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use flate2::bufread::GzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use zstd::zstd_safe::get_error_name;

use super::{BLOCK, HEADROOM, read_full};
use crate::error::TraceError;
use crate::scan::PADDING;

/// How many blocks may wait for the parser.
const AHEAD: usize = 4;
/// How much compressed data is read at a time.
const COMPRESSED_BLOCK: usize = 128 << 10;
/// Largest window of zstd data: 32 MiB, as for `zstd -20`. A small input can ask for up to 2 GiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;
/// Most memory for xz data: a dictionary of 32 MiB, as for `xz -8`, and its overhead.
const XZ_MEMORY_MAX: u64 = 34 << 20;

/// The compressions that are handled, recognised by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Xz,
}

impl Compression {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    /// If `error` means that decompression needs more memory than is allowed: what was found, and what to do.
    pub(super) fn too_large(self, error: &io::Error) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Zstd if error.to_string() == get_error_name(ZSTD_WINDOW_TOO_LARGE) => Some((
                "zstd data that take more than 32 MiB of memory to decompress",
                "decompress it on the way: zstd -dc --long=31 FILE | esker ... -",
            )),
            Self::Xz if is_memory_limit(error) => Some((
                "xz data that take more than 32 MiB of memory to decompress",
                "decompress it on the way: xz -dc FILE | esker ... -",
            )),
            _ => None,
        }
    }
}

/// The library's error for a window beyond the limit; it comes to us as text alone.
const ZSTD_WINDOW_TOO_LARGE: usize = 0usize.wrapping_sub(16);

fn is_memory_limit(error: &io::Error) -> bool {
    error.get_ref().and_then(|error| error.downcast_ref()) == Some(&liblzma::stream::Error::MemLimit)
}

/// Containers that have to be unpacked first: where their magic bytes are, what they are, what to do.
const CONTAINERS: &[(usize, &[u8], &str, &str)] = &[
    (257, b"ustar", "a tar archive", "extract it and give the files in it"),
    (0, b"PK\x03\x04", "a zip archive", "extract it and give the files in it"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract it and give the files in it"),
    (0, b"Rar!\x1a\x07", "a rar archive", "extract it and give the files in it"),
    (0, b"BZh", "bzip2 data", "decompress it: bzip2 -dc FILE | esker ... -"),
    (0, b"\x04\x22\x4d\x18", "lz4 data", "decompress it: lz4 -dc FILE | esker ... -"),
    (0, b"\x1f\x9d", "compress (.Z) data", "decompress it: zcat FILE | esker ... -"),
];

/// The compression that `head`, the first bytes of an input, belongs to.
pub(super) fn recognise(name: &str, head: &[u8]) -> Result<Option<Compression>, TraceError> {
    for &(at, magic, found, remedy) in CONTAINERS {
        if head.get(at..at + magic.len()) == Some(magic) {
            return Err(TraceError::Container { name: name.to_string(), found, remedy });
        }
    }
    if let Some(remedy) = utf16(head) {
        return Err(TraceError::Container { name: name.to_string(), found: "text in UTF-16", remedy });
    }
    // A zstd stream may begin with a skippable frame: 0x184D2A50 to 0x184D2A5F.
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Some(Compression::Gzip)
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
        Some(Compression::Zstd)
    } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        Some(Compression::Xz)
    } else {
        None
    })
}

/// What to do with text in UTF-16, with or without a byte-order mark; `None` for anything else.
fn utf16(head: &[u8]) -> Option<&'static str> {
    let text = |bytes: &[u8], low: usize, units: usize| {
        let is_text = |unit: &[u8]| unit[1 - low] == 0 && matches!(unit[low], b'\t' | b'\n' | b'\r' | b' '..=b'~');
        bytes.len() >= 2 && bytes.chunks_exact(2).take(units).all(is_text)
    };
    // Without a mark more of the input has to look like text, because numbers in binary formats have zeros, too.
    const UNITS: usize = 16;
    match head {
        [0xff, 0xfe, rest @ ..] if text(rest, 0, 2) => Some("convert it: iconv -f UTF-16 -t UTF-8 FILE | esker ... -"),
        [0xfe, 0xff, rest @ ..] if text(rest, 1, 2) => Some("convert it: iconv -f UTF-16 -t UTF-8 FILE | esker ... -"),
        _ if head.len() >= 2 * UNITS && text(head, 0, UNITS) => {
            Some("convert it: iconv -f UTF-16LE -t UTF-8 FILE | esker ... -")
        }
        _ if head.len() >= 2 * UNITS && text(head, 1, UNITS) => {
            Some("convert it: iconv -f UTF-16BE -t UTF-8 FILE | esker ... -")
        }
        _ => None,
    }
}

/// A decompressing thread. It ends by itself after this is dropped, after at most one more block.
pub(super) struct Decompressor {
    compression: Compression,
    blocks: Receiver<io::Result<Option<Vec<u8>>>>,
    used: Sender<Vec<u8>>,
}

impl Decompressor {
    /// Starts to decompress `reader`.
    pub(super) fn start(compression: Compression, reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let (send, blocks) = sync_channel(AHEAD);
        let (used, recycled) = channel();
        std::thread::Builder::new().name(format!("{} decompression", compression.name())).spawn(move || {
            if let Err(error) = decompress(compression, reader, &send, &recycled) {
                // The receiver may be gone: then nobody waits for the error.
                let _ = send.send(Err(error));
            }
        })?;
        Ok(Self { compression, blocks, used })
    }

    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// Returns the next block between its headroom and padding, or `None` at the end.
    pub(super) fn next_block(&mut self) -> io::Result<Option<Vec<u8>>> {
        // The thread reports its end. If it is gone without that, the rest is missing.
        self.blocks.recv().unwrap_or_else(|_| Err(io::Error::other("decompression broke down")))
    }

    /// Gives a buffer back to the thread.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        // The thread may have ended already.
        let _ = self.used.send(buffer);
    }
}

fn decompress(
    compression: Compression,
    reader: Box<dyn Read + Send>,
    blocks: &SyncSender<io::Result<Option<Vec<u8>>>>,
    recycled: &Receiver<Vec<u8>>,
) -> io::Result<()> {
    let reader = BufReader::with_capacity(COMPRESSED_BLOCK, reader);
    let mut reader: Box<dyn Read> = match compression {
        Compression::Gzip => Box::new(Members { decoder: Some(GzDecoder::new(reader)) }),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_MAX, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(reader, stream))
        }
    };
    loop {
        let mut block = recycled.try_recv().unwrap_or_default();
        block.resize(HEADROOM + BLOCK + PADDING, 0);
        let count = read_full(&mut reader, &mut block[HEADROOM..HEADROOM + BLOCK])?;
        block.truncate(HEADROOM + count + PADDING);
        let block = (count > 0).then_some(block);
        if blocks.send(Ok(block)).is_err() || count == 0 {
            return Ok(());
        }
    }
}

/// The members of a gzip file, one after the other, and zeros after the last one, as tapes and some copying programs
/// leave.
struct Members<R: BufRead> {
    /// `None` after the last member.
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut rest = self.decoder.take().expect("it is there").into_inner();
            match rest.fill_buf()?.first() {
                None => {}
                Some(0) => only_zeros(rest)?,
                Some(_) => self.decoder = Some(GzDecoder::new(rest)),
            }
        }
        Ok(0)
    }
}

fn only_zeros(mut reader: impl BufRead) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "zeros and then something else follow the data"));
        }
        let count = bytes.len();
        reader.consume(count);
    }
}
