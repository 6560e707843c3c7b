//! Extents and their places: the vocabulary of engine and placement policies.

/// A device of an engine: its index in the engine's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIndex(pub u16);

/// A piece of the host's address space; the unit of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalExtent(pub u32);

/// A piece of a device, as large as a logical extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalExtent(pub u32);

/// Where the data of an extent lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentPlace {
    /// The device.
    pub device: DeviceIndex,
    /// The extent of that device.
    pub extent: PhysicalExtent,
}

/// Consecutive blocks of an extent, each of 4 KiB.
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
    /// The place `count` extents further on, on the same device.
    pub(crate) fn after(self, count: u32) -> Self {
        Self { extent: PhysicalExtent(self.extent.0 + count), ..self }
    }
}
