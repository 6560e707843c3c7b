//! Policies: they choose the device for each extent. One file per policy.
//!
//! # How to add a policy
//!
//! Add one file, such as `policy/size_threshold.rs`. It is the shortest one: it chooses a device for each new extent,
//! and moves nothing.
//!
#![doc = "```ignore"]
#![doc = include_str!("size_threshold.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod size_threshold;`, and `size_threshold::ENTRY` in [`PLACEMENTS`]. The tests that walk the
//! registry then cover it: every policy is run until a loss of power, and no promised write may be missing. `policy = {
//! kind = "size-threshold" }` of a hybrid selects it. A policy that moves extents implements [`Placement::observe`] and
//! [`Placement::observes`], too, as `fast_first.rs` does.

mod balance;
mod climb;
mod collective;
mod cost_benefit;
mod costs;
mod fast_first;
mod first_places;
mod homes;
mod life_budget;
mod measured_windows;
mod migration;
mod pinned;
mod rates;
mod room;
mod size_threshold;
mod static_split;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod throughput;
mod usage;
mod wardrop;
mod wishes;

use std::fmt::Debug;

use esker_core::registry::Entry;
use esker_core::{Bytes, DeviceState, Nanos, Request, RequestKind, Telemetry};
use esker_results::TokenReport;

use crate::engine::{DeviceControl, LifeSpent};
use crate::extent::{DeviceIndex, LogicalExtent};

pub use life_budget::{LIFE_PERIOD, LifeBudget};
pub use static_split::{StaticSplit, StaticSplitSettings, checked_weights};
pub use table::{NewPolicy, PlacementError, PolicySettings, check_device, schema_of};
pub use wishes::{MoveOutcome, WishedMove, Wishes};

/// The policies that every engine knows, in the order in which lists show them. Those that only reproduce papers are in
/// `esker-controllers`.
pub static PLACEMENTS: &[PlacementEntry] = &[
    static_split::ENTRY,
    fast_first::ENTRY,
    size_threshold::ENTRY,
    pinned::ENTRY,
    migration::ENTRY,
    wardrop::ENTRY,
    throughput::ENTRY,
    cost_benefit::ENTRY,
    collective::ENTRY,
];

/// An entry of the registry of policies.
pub type PlacementEntry = Entry<BuildPlacement>;

/// Makes a policy from its table.
pub type BuildPlacement = fn(&NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError>;

/// Decides where extents go. A policy knows only what it is told: it has no clock, no journal, and does not copy data
/// itself.
pub trait Placement: Debug + Send {
    /// Returns the device for a new extent. If that device has no room or takes no writes, the engine takes the next
    /// one by index that has room and takes writes.
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex;

    /// Returns how many of the first `extents` logical extents, of `extent` bytes each, each of the `devices` devices
    /// has to hold; `None` if the policy has no fixed shares. Extents that may lie anywhere are not counted.
    fn shares(&self, extents: u32, extent: Bytes, devices: usize) -> Option<Vec<u32>> {
        let _ = (extents, extent, devices);
        None
    }

    /// Returns true if the address of the extent, which begins at byte `start`, decides its device. When all extents
    /// get places one after the other, such extents should come first.
    fn is_pinned(&self, start: Bytes) -> bool {
        let _ = start;
        false
    }

    /// Returns the share that each device should have, in their order; the shares add up to one. They are shares of the
    /// host's requests if the policy balances requests, otherwise shares of the extents. `None` if the policy has no
    /// such shares.
    fn targets(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the counts of the policy's tokens; `None` if it has none.
    fn tokens(&self) -> Option<TokenReport> {
        None
    }

    /// Learns where an extent, which begins at byte `start`, is from now on; `None` if it has lost its place. The
    /// engine calls this for all extents of a volume that is opened, and for each change, whatever its cause.
    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        let _ = (extent, start, device);
    }

    /// Learns of an event, and may add wishes. A policy that never moves anything can ignore this.
    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        let _ = (now, event, devices, wishes);
    }

    /// Returns true if [`Placement::observe`] should be called.
    fn observes(&self) -> bool {
        false
    }

    /// Returns true if [`Event::Sent`] should be reported, too.
    fn follows_requests(&self) -> bool {
        false
    }

    /// Returns true if the policy moves extents to devices that new extents may fill, so that each device should keep
    /// some extents free.
    fn needs_free_extents(&self) -> bool {
        self.observes()
    }

    /// Returns another device for a write that replaces all data of an extent, or, if the policy
    /// [merges](Placement::merges), a part of them; `None` if the write should go where the extent is. The other device
    /// needs room. The engine may ask this without such a write following.
    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let _ = (write, devices);
        None
    }

    /// Returns true if [`Placement::redirect`] should be called.
    fn redirects(&self) -> bool {
        false
    }

    /// Returns true if [`Placement::redirect`] should also be called for writes that replace only a part of an extent's
    /// data. The rest is then read where it is, while the host waits, and goes to the other device with the write.
    fn merges(&self) -> bool {
        false
    }

    /// Learns on which device an extent has a second copy from now on, which the policy has
    /// [asked](Wishes::mirrors) for; `None` if it has lost it, whatever the cause.
    /// The extent itself is on `home`.
    fn mirrored(&mut self, extent: LogicalExtent, home: DeviceIndex, device: Option<DeviceIndex>) {
        let _ = (extent, home, device);
    }

    /// Returns the device that answers a read of an extent with two copies that are equal there. One that has none of
    /// them counts as the one where the extent is.
    fn reads_from(&mut self, read: &TwoCopies<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let _ = devices;
        read.home
    }

    /// Returns the device that takes a write to an extent with two copies that are equal. If that is the one with the
    /// second copy, both change places: the extent is there from then on. One that has none of them counts as the one
    /// where the extent is.
    fn writes_to(&mut self, write: &TwoCopies<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let _ = devices;
        write.home
    }

    /// Learns that devices have joined, after the existing ones: there are `devices` now.
    fn devices_joined(&mut self, devices: usize);

    /// Returns how often the policy wants [`Event::Device`] with the telemetry of each device; `None` for only when
    /// something has happened there.
    fn telemetry_period(&self) -> Option<Nanos> {
        None
    }

    /// Returns what a device has used of the life that the policy holds; `None` if it holds none.
    fn life_spent(&self, device: DeviceIndex) -> Option<LifeSpent> {
        let _ = device;
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
    /// The host's write that creates it; `None` for data that exist before the first request.
    pub write: Option<&'a Request>,
}

/// A write of the host that replaces all data of an extent, or a part of them.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite<'a> {
    /// The extent.
    pub extent: LogicalExtent,
    /// The device that holds it.
    pub from: DeviceIndex,
    /// The host's write, which may extend beyond the extent.
    pub write: &'a Request,
    /// Bytes that would have to be read from `from` first, because the write does not replace them; zero if it replaces
    /// all.
    pub rest: Bytes,
}

/// A read or a write of the host of an extent that has two copies.
#[derive(Clone, Copy, Debug)]
pub struct TwoCopies<'a> {
    /// The extent.
    pub extent: LogicalExtent,
    /// The device where the extent is.
    pub home: DeviceIndex,
    /// The device of its second copy.
    pub mirror: DeviceIndex,
    /// The host's request, which may extend beyond the extent.
    pub request: &'a Request,
}

/// An event that the engine reports to a policy.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A request of the host.
    Request {
        /// The request.
        request: &'a Request,
        /// The first extent that it touches.
        first: LogicalExtent,
        /// Number of consecutive extents that it touches; zero for a flush and for a request past the end of the
        /// volume.
        extents: u32,
    },
    /// A part of a host's request goes to a device, for policies that [follow requests](Placement::follows_requests).
    Sent {
        /// The device.
        device: DeviceIndex,
        /// The request as the device gets it.
        request: &'a Request,
    },
    /// A request to a device has ended: one for the host or one of a copy.
    Completed(Completed),
    /// A move or a second copy that the policy asked for has ended, or could not begin.
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
    /// The device does not know a command of [`Wishes::controls`]. There is no use in asking again.
    Unsupported {
        /// The device.
        device: DeviceIndex,
        /// The command.
        control: DeviceControl,
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
    /// Number of consecutive extents.
    pub extents: u32,
    /// What the request did.
    pub kind: RequestKind,
    /// Its length.
    pub length: Bytes,
    /// When it was sent to the device.
    pub sent: Nanos,
    /// When the device ended it. On a real device this is the time of the end, not the time at which the engine was
    /// told.
    pub at: Nanos,
    /// True if it was part of a host's request, false if it was part of a copy.
    pub for_host: bool,
    /// Whether it succeeded.
    pub ok: bool,
}

/// What a policy knows about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceView {
    /// Number of extents, free or not.
    pub extents: u32,
    /// Number of free extents. When a new extent is placed, those kept free for moves are not counted
    /// ([`super::PlacementEngine::keep_free`]).
    pub free_extents: u32,
    /// Whether the device serves requests.
    pub state: DeviceState,
    /// Whether the device is being drained.
    pub drained: bool,
    /// Whether nothing may move there now: background work is paused, its budget is spent, the device has refused a
    /// copy, or it is left asleep. New extents and writes that replace one may go there.
    pub is_held: bool,
    /// Number of parts of host requests under way on the device. When a policy hears of the end of a part, that part is
    /// still counted.
    pub under_way: u32,
}

impl DeviceView {
    /// Returns true if only the lack of free extents keeps the device from taking an extent.
    pub fn is_full(&self) -> bool {
        self.free_extents == 0 && self.state == DeviceState::Online && !self.drained && !self.is_held
    }

    /// Returns true if the device can hold an extent, whether it has room or not.
    pub fn is_usable(&self) -> bool {
        self.has_room() || self.is_full()
    }

    /// Returns true if an extent can go there.
    pub fn has_room(&self) -> bool {
        self.free_extents > 0 && self.state == DeviceState::Online && !self.drained && !self.is_held
    }
}
