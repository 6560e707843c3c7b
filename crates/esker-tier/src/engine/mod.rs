//! The [`Engine`] trait, its inputs and effects, and what several engines share. The simulator runs engines over models
//! of devices, and the volume runs them over files: the engines are the same.

mod checkpoint;
mod data;
mod durability;
mod effect;
mod flushes;
mod health;
mod hosts;
mod parts;
mod record;
mod reshape;
mod room;
mod window;

use std::fmt::Debug;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Ratio, Request, RequestKind, TokenCounts};

pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::Snapshot;
pub use data::{BufferId, BufferPlace, BufferStep, DataRef, Segment, Spread};
pub(crate) use durability::{Durability, FlushOutcome, FlushWait, WrittenBlocks};
pub use effect::{Effect, Input, IoId};
pub(crate) use flushes::{Flushes, NextFlush};
pub(crate) use health::Health;
pub(crate) use hosts::Hosts;
pub use parts::{CacheParts, PartUse, PartitionDecision, SplitCost};
pub(crate) use record::{EngineRecord, FLASH_CACHE, PLACEMENT};
pub use record::{Record, RecordError, RecordNumber};
pub use reshape::{Reshape, ReshapeError};
pub use room::CacheRoom;
pub use window::{CacheWindows, ExpectedCost, WindowDecision};

use crate::extent::DeviceIndex;

/// A state machine between a host and devices. It takes [`Input`]s with their times and answers with [`Effect`]s. It
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
///   alone (as with a flash cache that holds nothing dirty). Reads go on, and so does all work on other devices, to
///   which some engines send writes that replace data of the failed one.
/// - **Failed journal**: it counts as a failure of all devices.
/// - **Recovery**: after a failure, only a new engine that is restored from durable records can promise anything.
pub trait Engine: Debug + Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// Takes one input and appends the effects that follow from it to `effects`. `now` never goes back.
    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>);

    /// A shortcut for drivers that move no data. Returns the device and address for `request` of the host if the
    /// request can go unchanged to one device and that device's result is the host's answer. The driver then sends it
    /// there instead of calling [`Self::on`], which would do the same in two steps, and calls [`Self::passed`] at the
    /// end.
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

    /// Changes the devices or the capacity while requests are served. The settings from which the engine would be
    /// restored have to be changed before this is called.
    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let _ = (now, reshape, effects);
        Err(ReshapeError::Unsupported)
    }

    /// Returns how often the engine wants [`Input::Device`] with the telemetry of each device; `None` for never.
    fn telemetry_period(&self) -> Option<Nanos> {
        None
    }

    /// Returns what a cache that chooses its own size has decided so far; `None` for all other engines.
    fn cache_windows(&self) -> Option<CacheWindows<'_>> {
        None
    }

    /// Returns the parts of a cache that is divided into parts; `None` for all other engines.
    fn cache_parts(&self) -> Option<CacheParts<'_>> {
        None
    }

    /// Gives the first `share` of the host's address space a place, as if it had been written and flushed: for
    /// simulations of traces that read data written earlier. May be called only while no request is under way
    /// (asserted).
    fn fill(&mut self, share: Ratio) {
        let _ = share;
    }

    /// Returns counts of moved and freed extents; `None` for an engine that computes places.
    fn movements(&self) -> Option<Movements> {
        None
    }

    /// Returns counts of a cache in memory; `None` for an engine without one.
    fn cache_counts(&self) -> Option<CacheCounts> {
        None
    }

    /// Returns how much room is left on flash that a flash cache owns; `None` for all other engines.
    fn cache_room(&self) -> Option<CacheRoom<'_>> {
        None
    }

    /// Returns counts of a flash cache; `None` for all other engines.
    fn flash_cache_counts(&self) -> Option<FlashCacheCounts> {
        None
    }

    /// Returns how many extents each device holds, and the share that it should have; `None` for an engine that
    /// computes places. Takes time in proportion to the number of devices.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Calls `visit` with the device of each extent of the host, by rising address, or with `None` for an extent
    /// without a place. An engine that computes places never calls it.
    fn visit_extents(&self, visit: &mut dyn FnMut(Option<DeviceIndex>)) {
        let _ = visit;
    }

    /// Asserts the invariants. For tests: takes time in proportion to the size of the map.
    fn check(&self) {}
}

/// Counts of a cache of extents in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Reads of extents, or of parts of them, that were in memory or being fetched.
    pub hits: u64,
    /// All other reads of extents.
    pub misses: u64,
    /// Bytes that were fetched into memory.
    pub fetched_bytes: u64,
    /// Writes that the cache widened to all data of their extent, so that the extent moves to another device.
    pub widened: u64,
}

/// Counts of a flash cache, in lines: a request that touches three lines counts three times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCacheCounts {
    /// Reads of lines that the flash held.
    pub read_hits: u64,
    /// All other reads of lines.
    pub read_misses: u64,
    /// Writes of lines that the flash held.
    pub write_hits: u64,
    /// All other writes of lines.
    pub write_misses: u64,
    /// Lines that were evicted, by the policy or because the flash became smaller.
    pub evictions: u64,
    /// Evicted lines that were dirty and so were copied back first.
    pub dirty_evictions: u64,
    /// Lines that were about to be evicted, but were used again in time.
    pub revived: u64,
    /// Lines that had been evicted as suspects, and were used again before the flash, which the cache owns, had erased
    /// them.
    pub revived_suspects: u64,
    /// Evicted lines (suspects) that flash which the cache owns has erased.
    pub erased_suspects: u64,
    /// Cached lines that flash which the cache owns has dropped instead of copying them during cleaning.
    pub dropped: u64,
    /// Dirty lines that the background cleaner copied back.
    pub cleaned: u64,
    /// Reads and writes that missed, and whose line the admission policy kept out of the cache.
    pub refused: u64,
    /// Accesses whose line the policies would have admitted, but for which no slot was free.
    pub without_slot: u64,
    /// Reads of clean lines that failed on the flash, and that the backing device served instead.
    pub flash_errors: u64,
    /// Requests that failed because the flash has lost, or may have lost, the only copy of the data.
    pub lost: u64,
    /// Writes that worn flash which the cache owns refused for want of room.
    pub refused_writes: u64,
    /// Bytes read from the backing device to fill lines.
    pub filled_bytes: u64,
    /// Bytes written to the flash.
    pub flash_written_bytes: u64,
    /// Bytes of the flash that were trimmed because their lines had left.
    pub trimmed_bytes: u64,
    /// Bytes of dirty lines that were copied back to the backing device.
    pub copied_back_bytes: u64,
    /// Lines in the cache now.
    pub held: u64,
    /// Dirty lines in the cache now.
    pub dirty: u64,
    /// Suspects now: evicted lines whose data flash that the cache owns still has.
    pub suspects: u64,
    /// Slots that the cache may use now: all slots of the flash, unless it was shrunk or its room has become less by
    /// wear.
    pub slots: u64,
    /// Lines that still have to leave because the cache has become smaller: lines in slots that it may no longer use,
    /// or more lines than owned flash has room for.
    pub beyond: u64,
}

/// How the host's extents are spread over the devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Size of an extent.
    pub extent: Bytes,
    /// Number of the host's extents on each device.
    pub held: Vec<u64>,
    /// The share that the policy wants each device to have ([`crate::Placement::targets`]).
    pub targets: Option<Vec<f64>>,
}

/// Counts of extents that were moved or freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Movements {
    /// Extents copied to another device.
    pub moved: u64,
    /// Bytes of those extents.
    pub moved_bytes: u64,
    /// Copies that failed or were given up.
    pub abandoned: u64,
    /// Extents freed by trims of the host.
    pub freed: u64,
    /// Writes of the host that went to another device than the one that held the extent which they replaced.
    pub redirected: u64,
    /// Bytes that copies have read, including copies that were given up.
    pub copied_bytes: u64,
    /// New extents that went to another device than the policy chose, because the chosen one had no room or took no
    /// writes.
    pub displaced: u64,
    /// How often a policy wanted to move an extent to a device that had no free extent.
    pub without_room: u64,
    /// Token counts of the policy; `None` if it uses no tokens.
    pub tokens: Option<TokenCounts>,
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        (**self).on(now, input, effects);
    }
    fn pass(&self, request: &Request) -> Option<(DeviceIndex, Lba)> {
        (**self).pass(request)
    }
    fn passed(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        (**self).passed(device, kind, result)
    }
    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        (**self).device_state(device)
    }
    fn state(&self) -> DeviceState {
        (**self).state()
    }
    fn begin_checkpoint(&mut self) -> RecordNumber {
        (**self).begin_checkpoint()
    }
    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        (**self).continue_checkpoint(most, visit)
    }
    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        (**self).reshape(now, reshape, effects)
    }
    fn telemetry_period(&self) -> Option<Nanos> {
        (**self).telemetry_period()
    }
    fn cache_windows(&self) -> Option<CacheWindows<'_>> {
        (**self).cache_windows()
    }
    fn cache_room(&self) -> Option<CacheRoom<'_>> {
        (**self).cache_room()
    }
    fn cache_parts(&self) -> Option<CacheParts<'_>> {
        (**self).cache_parts()
    }
    fn fill(&mut self, share: Ratio) {
        (**self).fill(share);
    }
    fn movements(&self) -> Option<Movements> {
        (**self).movements()
    }
    fn cache_counts(&self) -> Option<CacheCounts> {
        (**self).cache_counts()
    }
    fn flash_cache_counts(&self) -> Option<FlashCacheCounts> {
        (**self).flash_cache_counts()
    }
    fn layout(&self) -> Option<Layout> {
        (**self).layout()
    }
    fn visit_extents(&self, visit: &mut dyn FnMut(Option<DeviceIndex>)) {
        (**self).visit_extents(visit);
    }
    fn check(&self) {
        (**self).check();
    }
}
