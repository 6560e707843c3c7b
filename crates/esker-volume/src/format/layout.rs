//! Where the parts of a device lie.

use esker_core::Bytes;
use thiserror::Error;

use super::{BLOCK, SUPERBLOCK};

/// Where the parts of a device lie, in bytes from its start. The journal begins behind the first superblock, the
/// checkpoint areas follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of the device that belong to the volume.
    pub(crate) size: u64,
    /// Length of the journal.
    pub(crate) journal: u64,
    /// Length of each of the two checkpoint areas.
    pub(crate) checkpoint: u64,
    /// First byte of the data.
    pub(crate) data: u64,
    /// Length of the data.
    pub(crate) data_length: u64,
}

/// Data begin on a multiple of this, so that extents lie as the device's own pages and stripes do.
const ALIGNMENT: u64 = 1 << 20;

/// Lengths of a journal. The longer it is, the rarer are checkpoints.
const JOURNAL: [u64; 2] = [256 << 10, 64 << 20];

/// A journal takes this part of a device, within the limits above.
const JOURNAL_PART: u64 = 1024;

/// The device has no room for the volume's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a device of {size} has no room for data: superblocks, journal and checkpoints need {needed}")]
pub struct LayoutError {
    /// Size of the device.
    pub size: Bytes,
    /// What the structures need together with one extent.
    pub needed: Bytes,
}

impl Layout {
    /// Returns the length of a journal if the smallest device has `smallest` bytes.
    pub(crate) fn journal_of(smallest: Bytes) -> u64 {
        (smallest.0 / JOURNAL_PART).clamp(JOURNAL[0], JOURNAL[1]).next_multiple_of(BLOCK as u64)
    }

    /// Plans a device of `size` bytes, with a journal of `journal` bytes and checkpoint areas of `checkpoint` bytes,
    /// or without both, and with room for extents of `extent` bytes.
    ///
    /// # Errors
    /// If there is no room for an extent.
    pub(crate) fn plan(size: Bytes, journal: u64, checkpoint: u64, extent: u64) -> Result<Self, LayoutError> {
        let size = size.0 - size.0 % BLOCK as u64;
        let superblock = SUPERBLOCK as u64;
        let checkpoint = checkpoint.next_multiple_of(BLOCK as u64);
        let data = (superblock + journal + 2 * checkpoint).next_multiple_of(ALIGNMENT);
        let needed = data.saturating_add(extent).saturating_add(superblock);
        if needed > size {
            return Err(LayoutError { size: Bytes(size), needed: Bytes(needed) });
        }
        let data_length = size - superblock - data;
        Ok(Self { size, journal, checkpoint, data, data_length: data_length - data_length % extent })
    }

    /// Returns the layout of a device that has grown to `size` bytes: the data become longer, by whole extents.
    pub(crate) fn grown(&self, size: Bytes, extent: u64) -> Self {
        let size = (size.0 - size.0 % BLOCK as u64).max(self.size);
        let data_length = size - SUPERBLOCK as u64 - self.data;
        Self { size, data_length: data_length - data_length % extent, ..*self }
    }

    /// Bytes before the data.
    pub(crate) fn overhead(&self) -> u64 {
        self.data
    }

    /// Returns true if there is room for a journal and checkpoints.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal > 0 && self.checkpoint > 0
    }

    /// First byte of the journal.
    pub(crate) fn journal_start(&self) -> u64 {
        SUPERBLOCK as u64
    }

    /// First byte of a checkpoint area: 0 or 1.
    pub(crate) fn checkpoint_start(&self, area: u64) -> u64 {
        self.journal_start() + self.journal + area * self.checkpoint
    }

    /// First bytes of the two superblocks.
    pub(crate) fn superblocks(&self) -> [u64; 2] {
        [0, self.size - SUPERBLOCK as u64]
    }

    /// Returns true if the parts lie one behind the other.
    pub(crate) fn is_sound(&self) -> bool {
        let Self { size, journal, checkpoint, data, data_length } = *self;
        let blocks = [size, journal, checkpoint, data].iter().all(|bytes| bytes.is_multiple_of(BLOCK as u64));
        let superblock = SUPERBLOCK as u64;
        let parts =
            [superblock, journal, checkpoint, checkpoint].iter().try_fold(0u64, |sum, &part| sum.checked_add(part));
        let end = data.checked_add(data_length).and_then(|end| end.checked_add(superblock));
        let fits = parts.is_some_and(|parts| parts <= data) && end.is_some_and(|end| end <= size);
        blocks && fits && (journal == 0 || journal >= 8 * BLOCK as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_one_behind_the_other_and_data_are_aligned() {
        for (size, checkpoint) in [(4 << 20, 8192), (1 << 30, 1 << 20), (8 << 40, 3 << 30), ((1 << 30) + 513, 4097)] {
            let journal = Layout::journal_of(Bytes(size));
            let layout = Layout::plan(Bytes(size), journal, checkpoint, 128 << 10).unwrap();
            assert!(layout.is_sound(), "{layout:?}");
            assert!(layout.data.is_multiple_of(1 << 20) && layout.data_length.is_multiple_of(128 << 10));
            let structures = journal + 2 * checkpoint + (1 << 20) + (128 << 10) + 40_000;
            assert!(layout.data_length + structures >= layout.size, "{layout:?}");
        }
        let error = Layout::plan(Bytes(1 << 20), 256 << 10, 8192, 128 << 10).unwrap_err();
        let text = "a device of 1MiB has no room for data: superblocks, journal and checkpoints need 1168KiB";
        assert_eq!(error.to_string(), text);
        assert!(Layout::plan(Bytes::mib(2), 0, 0, 128 << 10).unwrap().is_sound());
    }

    #[test]
    fn a_device_that_grows_has_the_layout_of_a_larger_one() {
        let plan = |size| Layout::plan(size, 256 << 10, 8192, 128 << 10).unwrap();
        for more in [0, 511, 4096, 1 << 20, 77 << 20] {
            let size = Bytes((16 << 20) + more);
            assert_eq!(plan(Bytes::mib(16)).grown(size, 128 << 10), plan(size));
        }
    }
}
