//! What lies where in a pool, byte by byte (Wu, figures 23 and 24; docs/scmfs-layout.md).

pub(crate) mod entry;
pub(crate) mod geometry;
pub(crate) mod header;
pub(crate) mod inode;
pub(crate) mod name;
pub(crate) mod seal;
pub(crate) mod stretch;
pub(crate) mod superblock;

pub use geometry::Geometry;
pub use inode::Kind;
pub use stretch::Stretch;

/// Bytes of a page, the smallest piece of physical and of virtual space.
pub const PAGE: u64 = 4096;
/// Pages of a run: 2 MiB, which the processor maps as one page.
pub(crate) const RUN: u64 = 512;
/// Bytes of a cache line, which is written back as a whole.
pub(crate) const LINE: u64 = 64;

/// A little-endian number of four bytes at `at`.
pub(crate) fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A little-endian number of eight bytes at `at`.
pub(crate) fn number64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
