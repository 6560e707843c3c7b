//! What a device that is made of others tells about its children while it runs.

use esker_core::Bytes;

use super::PlacementReport;

/// A device that sends requests to children of its own.
pub trait Composite {
    /// Returns how fast each child has answered the host's requests since measuring started, by number of the child.
    /// Requests that serve no single request of the host, such as copies, are left out.
    fn child_responses(&self) -> Vec<ChildResponses>;

    /// Returns where the extents of the host's address space are, for a device that places them on its children; `None`
    /// for a device that computes places.
    fn extent_places(&self) -> Option<&dyn ExtentPlaces>;
}

/// How fast a child has answered the host's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildResponses {
    /// Requests that ended.
    pub requests: u64,
    /// Sum of their response times in nanoseconds, each from sending the request to the child until its end.
    pub nanoseconds: u128,
}

/// Says which device holds each extent of the host's address space.
pub trait ExtentPlaces {
    /// Returns how the extents are spread, and what was moved since measuring started. Takes time in proportion to the
    /// number of devices, not of extents.
    fn placed(&self) -> PlacedExtents;

    /// Calls `visit` with the number of the device that holds each extent, by rising address; with `None` for an extent
    /// without a place.
    fn visit(&self, visit: &mut dyn FnMut(Option<usize>));
}

/// How the host's extents are spread over devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacedExtents {
    /// Size of an extent.
    pub extent: Bytes,
    /// What each device holds, without devices that have not joined yet.
    pub devices: Vec<DeviceExtents>,
    /// What was moved since measuring started.
    pub moved: PlacementReport,
}

/// What one of these devices holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceExtents {
    /// Number of the host's extents on it.
    pub extents: u64,
    /// The share that the policy wants it to have, of requests or of extents, as the policy counts; `None` if the
    /// policy has no such shares.
    pub target_share: Option<f64>,
}
