//! The superblock, in the first virtual page: the only part of a pool's description that changes.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | checksum |
//! | 8-15 | pages of the inode table |

use super::{number64, seal};

/// Bytes of a superblock.
pub(crate) const SUPERBLOCK: usize = 64;

/// What changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Pages of the inode table that are mapped, and hold inodes.
    pub(crate) inode_table_pages: u64,
}

impl Superblock {
    /// Its bytes.
    pub(crate) fn encode(self) -> [u8; SUPERBLOCK] {
        let mut bytes = [0; SUPERBLOCK];
        bytes[8..16].copy_from_slice(&self.inode_table_pages.to_le_bytes());
        seal::seal(&mut bytes, 0);
        bytes
    }

    /// Reads it; none if it is damaged.
    pub(crate) fn decode(bytes: &[u8; SUPERBLOCK]) -> Option<Superblock> {
        seal::is_sound(bytes, 0).then(|| Superblock { inode_table_pages: number64(bytes, 8) })
    }
}
