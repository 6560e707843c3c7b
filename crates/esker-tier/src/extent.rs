//! Extents and where they lie: what the engine and the policies of placement speak of.

/// A device of an engine, by its place in the engine's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIndex(pub u16);

/// A piece of the host's address space, the unit of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalExtent(pub u32);

/// A piece of a device, as large as a logical extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhysicalExtent(pub u32);

/// Where an extent's data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The device.
    pub device: DeviceIndex,
    /// The piece of it.
    pub extent: PhysicalExtent,
}

impl Place {
    /// The place `count` extents further on the same device.
    pub(crate) fn after(self, count: u32) -> Self {
        Self { extent: PhysicalExtent(self.extent.0 + count), ..self }
    }
}
