//! Extents and their places: the terms that engines and placement policies share.

/// A device of an engine, by its index in the engine's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIndex(pub u16);

/// An extent of the host's address space, by its number. Extents are the unit of placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalExtent(pub u32);

/// An extent of a device, by its number. It is as large as a logical extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalExtent(pub u32);

/// The place of an extent's data: an extent of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentPlace {
    /// The device.
    pub device: DeviceIndex,
    /// The extent on that device.
    pub extent: PhysicalExtent,
}

/// Consecutive blocks of an extent. A block has 4 KiB, or is the whole of a smaller extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRange {
    /// The first block, counted from the start of the extent.
    pub first: u32,
    /// Number of blocks.
    pub count: u32,
}

impl BlockRange {
    /// The block after the last one.
    pub fn end(self) -> u32 {
        self.first + self.count
    }
}

impl ExtentPlace {
    /// The place `count` extents after this one, on the same device.
    pub(crate) fn after(self, count: u32) -> Self {
        Self { extent: PhysicalExtent(self.extent.0 + count), ..self }
    }
}
