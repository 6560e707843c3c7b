//! What a policy asks of the engine.

use esker_core::{Nanos, Priority};

use crate::engine::DeviceControl;
use crate::extent::{DeviceIndex, LogicalExtent};

/// What a policy asks of the engine.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Extents to move. One that moves to a device with one of its two copies keeps only that.
    pub moves: Vec<WishedMove>,
    /// Extents that should have a second copy on the named device. An extent that [is](super::Placement::placed)
    /// somewhere has one second copy at most. It goes when the extent moves or is freed, and when its place is needed
    /// for new data or its device is drained; after a restart there are none. Writes of the host go to where the extent
    /// is: what they have written is no longer read from the second copy, which goes once that is more than half of the
    /// extent.
    pub mirrors: Vec<WishedMove>,
    /// Extents that should lose their second copy.
    pub drop_mirrors: Vec<LogicalExtent>,
    /// Commands for devices, in this order. A policy that is replaced leaves no device with its wear levelling paused.
    pub controls: Vec<(DeviceIndex, DeviceControl)>,
    /// Time of the next [`Event::Timer`](super::Event::Timer), at the latest.
    pub wake_at: Option<Nanos>,
    /// Number of times that an extent should have moved to a device that has no free extent. The engine counts them for
    /// results.
    pub without_room: u64,
}

impl Wishes {
    /// Asks for [`Event::Timer`](super::Event::Timer) at this time, or earlier.
    pub fn wake(&mut self, at: Nanos) {
        self.wake_at = Some(self.wake_at.map_or(at, |other| other.min(at)));
    }
}

/// An extent that a policy wants on another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WishedMove {
    /// The extent.
    pub extent: LogicalExtent,
    /// The device to copy it to.
    pub to: DeviceIndex,
    /// The priority of its requests, compared with those of the host.
    pub priority: Priority,
}

impl WishedMove {
    /// A copy that gives way to the host's requests. It makes no progress on a device that always has some.
    pub const fn in_background(extent: LogicalExtent, to: DeviceIndex) -> Self {
        Self { extent, to, priority: Priority::BACKGROUND }
    }

    /// A copy that waits its turn like any request of the host: it is meant to relieve a busy device, and the policy
    /// limits how often it asks for one.
    pub const fn among_requests(extent: LogicalExtent, to: DeviceIndex) -> Self {
        Self { extent, to, priority: Priority::USER }
    }
}

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The extent has moved.
    Done,
    /// Not begun: the extent has no data, is on that device already, has a second copy already, or is being copied.
    NothingToDo,
    /// Not begun, or given up: the device has no free extent or takes no writes, or too many copies are under way.
    NoRoom,
    /// Not begun, or given up: background work is paused, its budget is spent, or a limit of one of the devices
    /// ([`MoveLimits`](crate::MoveLimits)) holds it up.
    Held,
    /// Failed: a device failed during the copy.
    Failed,
}
