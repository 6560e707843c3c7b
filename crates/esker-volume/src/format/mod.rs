//! How a volume lies on its devices, byte by byte. All numbers are little endian.
//!
//! A device of a volume, from its first byte to its last:
//!
//! ```text
//! superblock │ journal │ checkpoint area 0 │ checkpoint area 1 │ data ... │ superblock
//! ```
//!
//! Every structure begins on a multiple of 4 KiB, is a multiple of that long, and begins with a [`Header`]. The
//! checksum there covers the volume, the address, the generation and all bytes: a structure that is stale, misplaced or
//! damaged is found.

mod batch;
mod header;
mod layout;
mod piece;
mod superblock;

use std::{fmt, io};

pub(crate) use batch::{Batch, BatchWriter};
pub use header::Damage;
pub(crate) use header::SealedBy;
pub(crate) use header::{Header, Kind};
pub(crate) use layout::Layout;
pub use layout::LayoutError;
pub(crate) use piece::{JournalPlace, Piece, PieceWriter, checkpoint_bytes};
pub use superblock::SuperblockError;
pub(crate) use superblock::{Member, MemberState, Superblock};

/// Structures begin on multiples of this, and are a multiple of it long.
pub(crate) const BLOCK: usize = 4096;

/// No number of a record, a batch, a checkpoint or a generation gets this far.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

/// Bytes of a superblock.
pub(crate) const SUPERBLOCK: usize = 16 << 10;

/// The identity of a volume or of a device: a random UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Identity(pub [u8; 16]);

impl Identity {
    /// A random one, which no other volume or device has (a UUID of version 4).
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads little-endian numbers one behind the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("structures have a fixed length");
        self.0 = rest;
        *first
    }
    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }
    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// Writes bytes one behind the other.
struct Output<'a>(&'a mut [u8]);

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        let (first, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        first.copy_from_slice(bytes);
        self.0 = rest;
        self
    }
}
