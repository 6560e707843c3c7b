//! Decompression, in a thread of its own and a few blocks ahead.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use super::{BLOCK, HEADROOM, read_full};
use crate::error::TraceError;
use crate::scan::PADDING;

/// How many blocks may wait for the parser.
const AHEAD: usize = 4;
/// How much compressed data is read at a time.
const COMPRESSED_BLOCK: usize = 128 << 10;

/// The compressions that are undone on the way, recognised by their first bytes.
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
}

/// Containers that would have to be unpacked first: where their magic bytes are, what they are, what to do.
const CONTAINERS: &[(usize, &[u8], &str, &str)] = &[
    (257, b"ustar", "a tar archive", "extract it and give the files in it"),
    (0, b"PK\x03\x04", "a zip archive", "extract it and give the files in it"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract it and give the files in it"),
    (0, b"Rar!\x1a\x07", "a rar archive", "extract it and give the files in it"),
    (0, b"BZh", "bzip2 data", "decompress it: bzip2 -dc FILE | esker ... -"),
    (0, b"\x04\x22\x4d\x18", "lz4 data", "decompress it: lz4 -dc FILE | esker ... -"),
    (0, b"\x1f\x9d", "compress (.Z) data", "decompress it: zcat FILE | esker ... -"),
];

/// The compression that `head`, the first bytes of an input, shows.
pub(super) fn recognise(name: &str, head: &[u8]) -> Result<Option<Compression>, TraceError> {
    for &(at, magic, found, remedy) in CONTAINERS {
        if head.get(at..at + magic.len()) == Some(magic) {
            return Err(TraceError::Container { name: name.to_string(), found, remedy });
        }
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

/// A thread that decompresses. It ends by itself when this is dropped, after at most one more block.
pub(super) struct Decompressor {
    compression: Compression,
    blocks: Receiver<io::Result<Option<Vec<u8>>>>,
    used: Sender<Vec<u8>>,
}

impl Decompressor {
    /// Begins to decompress `reader`.
    pub(super) fn start(compression: Compression, reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let (send, blocks) = sync_channel(AHEAD);
        let (used, recycled) = channel();
        std::thread::Builder::new().name(format!("{} decompression", compression.name())).spawn(move || {
            if let Err(error) = decompress(compression, reader, &send, &recycled) {
                // Nobody waits for the error where the reader is gone.
                let _ = send.send(Err(error));
            }
        })?;
        Ok(Self { compression, blocks, used })
    }

    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// The next block between its headroom and padding, or `None` at the end.
    pub(super) fn next_block(&mut self) -> io::Result<Option<Vec<u8>>> {
        // The thread says when it has come to the end: if it is just gone, the rest is missing.
        self.blocks.recv().unwrap_or_else(|_| Err(io::Error::other("decompression broke down")))
    }

    /// Gives a buffer back.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        // The thread may have ended before.
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
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            // Also what was compressed with --long=31.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
        Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(reader)),
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
