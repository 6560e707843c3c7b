//! Policies: they choose the device for each extent.

mod balance;
mod climb;
mod fast_first;
mod homes;
mod measured_windows;
mod migration;
mod pinned;
mod rates;
mod room;
mod size_threshold;
mod static_split;
#[cfg(test)]
mod tests;
mod throughput;
mod usage;
mod wardrop;
mod wardrop_published;

use std::fmt::Debug;

use esker_core::registry::{self, Entry};
use esker_core::{
    Bytes, DeviceState, Hint, Nanos, Priority, Problem, ReadError, Request, RequestKind, Telemetry, TokenCounts,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::extent::{DeviceIndex, LogicalExtent};

pub use static_split::{StaticSplit, StaticSplitSettings};

/// Every policy, in the order in which lists show them.
pub static PLACEMENTS: &[PlacementEntry] = &[
    static_split::ENTRY,
    fast_first::ENTRY,
    size_threshold::ENTRY,
    pinned::ENTRY,
    migration::ENTRY,
    wardrop::ENTRY,
    wardrop_published::ENTRY,
    throughput::ENTRY,
];

/// One policy of the registry.
pub type PlacementEntry = Entry<BuildPlacement>;

/// Makes a policy for this many devices from the keys of its table.
pub type BuildPlacement = fn(&PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError>;

/// Decides where extents go. A policy only knows what it is told: no clocks, journals or copies.
pub trait Placement: Debug + Send {
    /// The device for a new extent. If that has no room or takes no writes, the engine takes the next one by index that
    /// has room and takes writes.
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex;

    /// How many of the first `extents` logical extents, of so many bytes each, each of the `devices` devices has to
    /// hold; `None` if the policy has no fixed shares. Extents that may lie anywhere are left out.
    fn shares(&self, extents: u32, extent: Bytes, devices: usize) -> Option<Vec<u32>> {
        let _ = (extents, extent, devices);
        None
    }

    /// Whether the extent that begins at `start` has its device by its address, so that it should get a place there
    /// before others do, where all extents get one at a time.
    fn is_pinned(&self, start: Bytes) -> bool {
        let _ = start;
        false
    }

    /// The share that each device should have, in their order; they add up to one. Of the host's requests for a policy
    /// that balances them, else of the extents. `None` if the policy has no such shares.
    fn targets(&self) -> Option<Vec<f64>> {
        None
    }

    /// What became of its tokens; `None` if it has none.
    fn tokens(&self) -> Option<TokenCounts> {
        None
    }

    /// Learns where an extent, which begins at `start`, is from now on; `None` if it has no place any more. Told of all
    /// extents of a volume that is opened, and of each change, whoever caused it.
    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        let _ = (extent, start, device);
    }

    /// Learns of an event, and may add wishes. A policy that never moves anything can ignore this.
    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        let _ = (now, event, devices, wishes);
    }

    /// Whether [`Placement::observe`] should be called at all.
    fn observes(&self) -> bool {
        false
    }

    /// Whether it moves extents to devices that may be full of new ones, so that each should keep some extents free.
    fn needs_free_extents(&self) -> bool {
        self.observes()
    }

    /// Another device for a write that replaces all that an extent holds; `None` if it goes where the extent is. The
    /// device needs room. This may be asked without a write that follows.
    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let _ = (write, devices);
        None
    }

    /// Whether [`Placement::redirect`] should be called at all.
    fn redirects(&self) -> bool {
        false
    }

    /// Learns that devices have joined, behind the others: now there are `devices`.
    fn devices_joined(&mut self, devices: usize);

    /// How often the policy wants [`Event::Device`] with the telemetry of each device; `None` for only when something
    /// has happened there.
    fn telemetry_period(&self) -> Option<Nanos> {
        None
    }
}

/// An extent that gets its first place.
#[derive(Clone, Copy, Debug)]
pub struct NewExtent<'a> {
    /// The extent.
    pub extent: LogicalExtent,
    /// Its first byte in the host's address space.
    pub start: Bytes,
    /// The host's write that needs it; `None` for data that are there before the first request.
    pub write: Option<&'a Request>,
}

/// A write of the host that replaces all that an extent holds.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite<'a> {
    /// The extent.
    pub extent: LogicalExtent,
    /// The device where it is.
    pub from: DeviceIndex,
    /// The host's write, which may go beyond the extent.
    pub write: &'a Request,
}

/// An event that a policy is told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A request of the host.
    Request {
        /// The request.
        request: &'a Request,
        /// The first extent that it touches.
        first: LogicalExtent,
        /// Number of extents that it touches, one after the other; zero for a flush and for what lies past the end.
        extents: u32,
    },
    /// A request to a device has ended, of the host or of a copy.
    Completed(Completed),
    /// A move that the policy asked for has ended, or could not begin.
    Moved {
        /// The extent.
        extent: LogicalExtent,
        /// How it ended.
        outcome: MoveOutcome,
    },
    /// Telemetry of a device.
    Device {
        /// The device.
        device: DeviceIndex,
        /// Its telemetry.
        telemetry: &'a Telemetry,
    },
    /// The time of [`Wishes::wake_at`] has come.
    Timer,
}

/// A request to a device that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The device.
    pub device: DeviceIndex,
    /// The first extent that it concerned.
    pub first: LogicalExtent,
    /// Number of extents, one after the other.
    pub extents: u32,
    /// What the request did.
    pub kind: RequestKind,
    /// Its length.
    pub length: Bytes,
    /// When it was sent to the device.
    pub sent: Nanos,
    /// When the device ended it. On a real device this is when it happened, not when the engine was told.
    pub at: Nanos,
    /// Whether it was part of a host's request, and not of a copy.
    pub for_host: bool,
    /// Whether it succeeded.
    pub ok: bool,
}

/// What a policy asks of the engine.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Extents to copy.
    pub moves: Vec<WishedMove>,
    /// When [`Event::Timer`] should be sent, at the latest.
    pub wake_at: Option<Nanos>,
    /// How often an extent should have moved to a device that has no free extent. The engine counts them for results.
    pub without_room: u64,
}

impl Wishes {
    /// Asks for [`Event::Timer`] at this time, or earlier.
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
    /// The place of its requests among those of the host.
    pub priority: Priority,
}

impl WishedMove {
    /// A copy that waits for the host's requests. On a device that always has some it makes no headway.
    pub const fn in_background(extent: LogicalExtent, to: DeviceIndex) -> Self {
        Self { extent, to, priority: Priority::BACKGROUND }
    }

    /// A copy that waits like any request of the host: it is there to relieve a busy device, and the policy limits how
    /// often that happens.
    pub const fn among_requests(extent: LogicalExtent, to: DeviceIndex) -> Self {
        Self { extent, to, priority: Priority::USER }
    }
}

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The extent has moved.
    Done,
    /// Not begun: the extent has no data, is there already, or is being copied.
    NothingToDo,
    /// Not begun: the device has no free extent or takes no writes, or too many copies are under way.
    NoRoom,
    /// Given up: the host wrote to the extent during each of several tries.
    WrittenMeanwhile,
    /// Failed: a device failed during the copy.
    Failed,
}

/// What a policy may know about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceView {
    /// Number of extents, free or not.
    pub extents: u32,
    /// Number of free extents. For new extents, those kept for moves are left out
    /// ([`super::PlacementEngine::keep_free`]).
    pub free_extents: u32,
    /// Whether the device serves requests.
    pub state: DeviceState,
    /// Whether its data are moved away, so that it can be removed.
    pub drained: bool,
    /// Parts of host requests that are under way there. When a policy hears of the end of one, it still counts.
    pub under_way: u32,
}

impl DeviceView {
    /// Whether it would take an extent if one of its own left.
    pub fn is_full(&self) -> bool {
        self.free_extents == 0 && self.state == DeviceState::Online && !self.drained
    }

    /// Whether a new extent can go there.
    pub fn has_room(&self) -> bool {
        self.free_extents > 0 && self.state == DeviceState::Online && !self.drained
    }
}

/// The table of a policy: its name, and the keys of that policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySettings {
    /// The name of the policy, one of [`PLACEMENTS`].
    pub kind: String,
    /// The policy's own keys.
    #[serde(flatten)]
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// Why a policy cannot be made: which key of its table, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct PlacementError(#[from] ReadError);

impl PlacementError {
    /// What is wrong with the policy's own key `key`.
    fn new(key: &str, message: impl Into<String>) -> Self {
        Self::of(key, Problem::new(message))
    }

    /// A problem with the policy's own key `key`.
    fn of(key: &str, problem: Problem) -> Self {
        Self(ReadError::new(problem).below(key))
    }

    /// This error as one of the settings that have the policy's table at `key`.
    pub fn below(&self, key: &str) -> ReadError {
        self.0.clone().below(key)
    }
}

impl Hint for PlacementError {
    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

impl PolicySettings {
    /// Makes the policy for `devices` devices, at least one.
    pub fn build(&self, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
        let entry = registry::find(PLACEMENTS, "policy", &self.kind)
            .map_err(|name| ReadError::new(name.into()).below("kind"))?;
        if devices == 0 {
            return Err(PlacementError::new("kind", "a policy places extents on at least one device"));
        }
        (entry.build)(self, devices)
    }

    /// The policy's own keys as settings of type `T`.
    fn options<T: DeserializeOwned>(&self) -> Result<T, PlacementError> {
        Ok(esker_core::read(&serde_json::Value::Object(self.options.clone()))?)
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}

/// Checks that there is a device with the index `device` of the key `key`.
fn check_device(key: &str, device: u16, devices: usize) -> Result<(), PlacementError> {
    match usize::from(device) < devices {
        true => Ok(()),
        false => Err(PlacementError::new(key, format!("there is no device {device}; {devices} devices count from 0"))),
    }
}
