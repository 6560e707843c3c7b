//! What direct I/O asks of operations.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl, statx};

use crate::memory::{ALIGNMENT, Buffer};

/// What engines ask for begins and ends on multiples of this many bytes.
const SECTOR: u64 = 512;

/// What a file asks of operations that go past the page cache (`O_DIRECT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// They begin and end on multiples of this many bytes.
    pub(crate) block: u64,
    /// Their memory begins on multiples of this.
    pub(crate) memory: usize,
}

impl Alignment {
    /// Returns what `file`, of `capacity` bytes, asks for; `None` if its file system has no direct I/O, or if buffers
    /// are not aligned well enough for it.
    pub(crate) fn of(file: &File, capacity: u64) -> Option<Self> {
        let alignment = Self::told(file).unwrap_or(Self { block: ALIGNMENT as u64, memory: ALIGNMENT });
        let Self { block, memory } = alignment;
        let is_usable = block > 0 && capacity.is_multiple_of(block) && block.is_power_of_two() && memory <= ALIGNMENT;
        (is_usable && Self::works(file, block)).then_some(alignment)
    }

    /// Returns true if it takes whole sectors from multiples of a sector in memory, as engines ask for.
    pub(crate) fn takes_sectors(self) -> bool {
        self.block <= SECTOR && self.memory as u64 <= SECTOR
    }

    /// What the file system says; `None` if it says nothing, as before Linux 6.1.
    fn told(file: &File) -> Option<Self> {
        let told = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
        let says = StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::DIOALIGN);
        says.then_some(Self { block: told.stx_dio_offset_align.into(), memory: told.stx_dio_mem_align as usize })
    }

    /// Tries to read the first block.
    fn works(file: &File, block: u64) -> bool {
        let mut first = Buffer::zeroed(block as usize);
        let works = set_direct(file, true).is_ok()
            && file.read_at(first.get_mut().expect("a new buffer has one owner"), 0).is_ok();
        set_direct(file, false).is_ok() && works
    }
}

/// Has the calls on `file` go past the page cache, or through it again.
pub(super) fn set_direct(file: &File, is_direct: bool) -> rustix::io::Result<()> {
    let flags = fcntl_getfl(file)?;
    fcntl_setfl(file, if is_direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT })
}
