//! The [`Engine`] trait, its inputs and effects, and what several engines share. The simulator runs engines over models
//! of devices, and the volume runs them over files: the engines are the same.

mod background;
mod checkpoint;
mod data;
mod durability;
mod effect;
mod flushes;
mod health;
mod hosts;
mod live;
mod move_limits;
mod one_sync;
mod record;
mod reshape;

use std::fmt::Debug;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Machine, Nanos, Ratio, Request, RequestKind};
use esker_results::{DeviceReport, ExtentPlaces};

pub use background::{BackgroundReport, BackgroundSettings, HeldReason, LifeSpent};
pub use checkpoint::{Checkpoint, Snapshot};
pub use data::{BufferId, BufferPlace, BufferStep, DataRef, Segment, Spread};
pub use durability::{Durability, FlushOutcome, FlushWait, WrittenBlocks};
pub use effect::{DeviceControl, Effect, Input, IoId};
pub use flushes::{Flushes, NextFlush};
pub use health::Health;
pub use hosts::Hosts;
pub use live::{LiveSettings, LiveSettingsError, PolicySettings};
pub use move_limits::{LimitsError, MoveLimits};
pub use one_sync::{OneSync, SyncStep};
pub use record::{CLUSTER, EngineRecord, FIELDS, Record, RecordError, RecordNumber};
pub(crate) use record::{FLASH_CACHE, PLACEMENT};
pub use reshape::{Reshape, ReshapeError};

use crate::extent::DeviceIndex;

/// A [`Machine`] between a host and devices: it takes [`Input`]s with their times and answers with [`Effect`]s. It
/// reads no clock, does no I/O and sees no data.
///
/// Rules that every engine keeps:
/// - **Answers**: a request is answered once: with success, or with the error at its lowest address. The engine does
///   not repeat a failed request on the same device.
/// - **Refused writes**: a device that refuses a write for want of space or rights ([`DeviceError::NoSpace`],
///   [`DeviceError::ReadOnly`]) has touched nothing else, even if the write was to be durable. The device is then
///   [`DeviceState::ReadOnly`] until its telemetry, [`Reshape::Grow`] or [`Reshape::Keep`] says otherwise. A device
///   whose writes fail several times in a row is treated in the same way. Placement sends new data, and data that were
///   refused, to other devices.
/// - **Flushes**: a flush first flushes the devices with completed unflushed writes, then makes the map's records
///   durable, then replies. A write with FUA does both for its own data.
/// - **Failed devices**: a device is [`DeviceState::Failed`] for the rest of the engine's life after a failed flush or
///   durable write (FUA), after a loss of its power, or when it says that it has failed. Its data may be lost, and a
///   second flush that reports success would not bring them back (Linux marks the pages of a failed fsync as clean).
///   Writes and trims on it then fail, and so does every flush of the host, unless no promised data are on that device
///   alone (as with a flash cache that holds nothing dirty). Reads of data that were durable go on. Engines that keep a
///   map read no other data of it and move none: their place may hold what another extent has left there. All work on
///   other devices goes on, to which some engines send writes that replace data of the failed one.
/// - **Failed journal**: it counts as a failure of all devices.
/// - **Recovery**: after a failure, only a new engine that is restored from durable records can promise anything.
pub trait Engine: Machine<Input = Input, Effect = Effect> + Debug + Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// The largest capacity that [`Reshape::Offer`] could give the host now, beside what is kept free.
    fn capacity_max(&self) -> Bytes {
        self.capacity()
    }

    /// Returns how many bytes from `start` on are alike, of `length` bytes within the capacity, and whether they may
    /// have been written: all others read as zeroes, and take no room on a device. An engine that keeps no such map
    /// answers that all were written.
    fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        let _ = start;
        (length, true)
    }

    /// Returns how many bytes of each device hold data of the host. Empty for an engine that keeps no such map.
    fn used(&self) -> Vec<Bytes> {
        let Some(places) = self.extent_places() else { return Vec::new() };
        let placed = places.placed();
        placed.devices.iter().map(|device| Bytes(device.extents * placed.extent.0)).collect()
    }

    /// A shortcut for drivers that move no data. Returns the device and address for `request` of the host if the
    /// request can go unchanged to one device and that device's result is the host's answer. The driver then sends it
    /// there instead of calling [`Machine::on`], which would do the same in two steps, and calls [`Self::passed`] when
    /// it has ended.
    #[inline]
    fn pass(&self, request: &Request) -> Option<(DeviceIndex, Lba)> {
        let _ = request;
        None
    }

    /// Notes that a request of `kind` that was passed to `device` has ended with `result`. Returns the host's answer.
    #[inline]
    fn passed(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let _ = (device, kind);
        result
    }

    /// Returns the state of `device`, as far as the engine knows it.
    fn device_state(&self, device: DeviceIndex) -> DeviceState;

    /// Returns the worst state of any device; `Failed` if the journal has failed.
    fn state(&self) -> DeviceState;

    /// Begins a checkpoint of the map as described by the records issued so far, and returns the last of them.
    /// [`Self::continue_checkpoint`] completes it. Once the journal has all of these records, a new journal can begin
    /// from this checkpoint. Once the journal has failed ([`Input::JournalFailed`]), no checkpoint can be relied on,
    /// not even one that was under way. Discards a checkpoint that was under way.
    fn begin_checkpoint(&mut self) -> RecordNumber {
        RecordNumber(0)
    }

    /// Calls `visit` with the records that make up to `most` further extents of the checkpoint. Returns true if it is
    /// complete. The engine may take inputs in between: the checkpoint shows the map as it was at
    /// [`Self::begin_checkpoint`]. An engine that computes places instead of keeping a map has no records.
    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        let _ = (most, visit);
        true
    }

    /// Returns an error if [`Self::reshape`] would refuse this change now. What the engine would be restored from has
    /// to be changed before the engine is, so whoever does that asks first.
    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        let _ = reshape;
        Err(ReshapeError::Unsupported)
    }

    /// Changes the devices or the capacity while requests are served. The settings from which the engine would be
    /// restored have to be changed before this is called.
    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let _ = (now, reshape, effects);
        Err(ReshapeError::Unsupported)
    }

    /// Returns an error if [`Self::set`] would refuse these settings now.
    fn check_set(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        let _ = settings;
        Err(LiveSettingsError::Unsupported)
    }

    /// Takes new settings while requests are served. The settings from which the engine would be restored have to be
    /// changed before this is called.
    fn set(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) -> Result<(), LiveSettingsError> {
        let _ = (now, effects);
        self.check_set(settings)
    }

    /// Returns what the engine does in the background; `None` for an engine that moves nothing.
    fn background(&self, now: Nanos) -> Option<BackgroundReport> {
        let _ = now;
        None
    }

    /// Gives the first `share` of the host's address space a place, as if it had been written and flushed: for
    /// simulations of traces that read data written earlier. May be called only while no request is under way
    /// (asserted).
    fn fill(&mut self, share: Ratio) {
        let _ = share;
    }

    /// Sets all counts of [`Self::report`] to zero.
    fn start_measuring(&mut self) {}

    /// Adds what the engine did since measuring started to the results of the device that it makes up.
    fn report(&self, into: &mut DeviceReport) {
        let _ = into;
    }

    /// Returns where the extents are; `None` for an engine that computes places instead of keeping a map.
    fn extent_places(&self) -> Option<&dyn ExtentPlaces> {
        None
    }

    /// Asserts the invariants. For tests: takes time in proportion to the size of the map.
    fn check(&self) {}
}
