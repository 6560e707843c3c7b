//! The header that all structures begin with.

use thiserror::Error;

use super::{BLOCK, Fields, Identity, NUMBER_MAX, Output};

/// What a structure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Superblock,
    Batch,
    Piece,
}

impl Kind {
    fn magic(self) -> [u8; 8] {
        *match self {
            Self::Superblock => b"eskerVOL",
            Self::Batch => b"eskerLOG",
            Self::Piece => b"eskerMAP",
        }
    }
}

/// What a structure's checksum covers beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SealedBy {
    /// The volume.
    pub(crate) volume: Identity,
    /// First byte of the structure on its device.
    pub(crate) address: u64,
}

/// Why a structure cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// There is no structure of this kind.
    #[error("nothing of this kind is there")]
    Absent,
    /// Its checksum is wrong.
    #[error("its checksum is wrong: bytes were changed, or belong to another place or volume")]
    Checksum,
    /// The checksum is right, but the content makes no sense.
    #[error("its checksum is right, but its content makes no sense")]
    Content,
}

/// The first 32 bytes of a structure:
///
/// | offset | length | meaning |
/// | --- | --- | --- |
/// | 0 | 8 | what it is: `eskerVOL` superblock, `eskerLOG` batch of the journal, `eskerMAP` piece of a checkpoint |
/// | 8 | 4 | checksum: see below |
/// | 12 | 4 | length of the structure in bytes |
/// | 16 | 8 | generation of the volume when it was written |
/// | 24 | 8 | number of the batch or the checkpoint; zero in a superblock |
///
/// The checksum is the CRC-32C of the volume's identity (16 bytes), of the structure's first byte on its device (8
/// bytes), and of the structure without the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) length: u32,
    pub(crate) generation: u64,
    pub(crate) number: u64,
}

impl Header {
    pub(crate) const BYTES: usize = 32;

    /// Writes the header and the checksum of a structure, whose other bytes are there.
    pub(crate) fn seal(&self, by: SealedBy, bytes: &mut [u8]) {
        assert!(bytes.len() == self.length as usize && bytes.len().is_multiple_of(BLOCK), "whole blocks");
        let mut into = Output(bytes);
        into.put(&self.kind.magic()).put(&[0; 4]).put(&self.length.to_le_bytes());
        into.put(&self.generation.to_le_bytes()).put(&self.number.to_le_bytes());
        let checksum = checksum(by, bytes);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the header at the start of `bytes`, without a look at the checksum.
    pub(crate) fn peek(kind: Kind, bytes: &[u8]) -> Result<Self, Damage> {
        let mut fields = Fields(&bytes[..Self::BYTES]);
        if fields.take() != kind.magic() {
            return Err(Damage::Absent);
        }
        fields.u32();
        let header = Self { kind, length: fields.u32(), generation: fields.u64(), number: fields.u64() };
        let whole = header.length > 0 && header.length.is_multiple_of(BLOCK as u32);
        let whole = whole && header.generation < NUMBER_MAX && header.number < NUMBER_MAX;
        if whole { Ok(header) } else { Err(Damage::Checksum) }
    }

    /// Reads the header of the structure that begins with `bytes`, and checks it. Returns it with the structure's
    /// bytes.
    pub(crate) fn open(kind: Kind, by: SealedBy, bytes: &[u8]) -> Result<(Self, &[u8]), Damage> {
        let header = Self::peek(kind, bytes)?;
        let bytes = bytes.get(..header.length as usize).ok_or(Damage::Checksum)?;
        let is_right = bytes[8..12] == checksum(by, bytes).to_le_bytes();
        if is_right { Ok((header, bytes)) } else { Err(Damage::Checksum) }
    }
}

fn checksum(by: SealedBy, bytes: &[u8]) -> u32 {
    let of_place = crc32c::crc32c_append(crc32c::crc32c(&by.volume.0), &by.address.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(of_place, &bytes[..8]), &bytes[12..])
}
