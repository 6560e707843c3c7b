//! Extents of an export, and sizes of its blocks.

/// Consecutive bytes of an export, and whether they are allocated: what the metadata context `base:allocation` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes, at least one.
    pub length: u32,
    /// Nothing is allocated there.
    pub is_hole: bool,
    /// It reads as zeroes.
    pub is_zero: bool,
}

impl Extent {
    /// Its flags in replies.
    pub(crate) fn flags(self) -> u32 {
        u32::from(self.is_hole) | u32::from(self.is_zero) << 1
    }

    /// An extent of a reply. Flags that the document does not have are left out.
    pub(crate) fn of_reply(length: u32, flags: u32) -> Self {
        Self { length, is_hole: flags & 1 != 0, is_zero: flags & 2 != 0 }
    }
}

/// What requests to an export have to keep to, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of this power of two, at most 65,536.
    pub minimum: u32,
    /// Multiples of this are fast: a power of two, at least `minimum` and 512.
    pub preferred: u32,
    /// The longest read or write; at least `preferred`.
    pub maximum: u32,
}

impl Default for BlockSizes {
    /// What the document says of exports that advertise nothing: 1 byte, 4 KiB, 32 MiB.
    fn default() -> Self {
        Self { minimum: 1, preferred: 4096, maximum: 1 << 25 }
    }
}

impl BlockSizes {
    /// Returns true if the document allows these sizes.
    pub(crate) fn are_allowed(self) -> bool {
        self.minimum.is_power_of_two()
            && self.minimum <= 1 << 16
            && self.preferred.is_power_of_two()
            && self.preferred >= self.minimum.max(512)
            && self.maximum >= self.preferred
    }
}
