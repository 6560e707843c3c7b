//! Engines turn requests of the host into requests to devices. The simulator runs them over models of devices, the
//! volume over files: the engines are the same.

mod checkpoint;
mod data;
mod durability;
mod effect;
mod flushes;
mod health;
mod hosts;
mod parts;
mod reshape;
mod room;
mod window;

use std::fmt::Debug;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Ratio, Request, RequestKind, TokenCounts};

pub use checkpoint::{CachedLine, Checkpoint};
pub use data::{BufferId, BufferPlace, BufferStep, DataRef, Segment, Spread};
pub(crate) use durability::{Durability, FlushEnded, Waiting, WrittenBlocks};
pub use effect::{Effect, Input, IoId, MapRecord, RecordNumber};
pub(crate) use flushes::{Flushes, NextFlush};
pub(crate) use health::Health;
pub(crate) use hosts::Hosts;
pub use parts::{CacheParts, PartUse, PartitionDecision, SplitCost};
pub use reshape::{Reshape, ReshapeError};
pub use room::CacheRoom;
pub use window::{CacheWindows, ExpectedCost, WindowDecision};

use crate::extent::DeviceIndex;

/// A state machine between a host and devices. It takes [`Input`]s with their times and answers with [`Effect`]s. It
/// reads no clock, does no I/O and sees no data.
///
/// Rules that every engine keeps:
/// - A request is answered once: with success, or with the error at its lowest address. A failed request to a device is
///   not repeated there.
/// - A device that refuses a write for want of space or rights ([`DeviceError::NoSpace`], [`DeviceError::ReadOnly`])
///   has touched nothing else, even if the write was to be durable. It is [`DeviceState::ReadOnly`] from then on, until
///   its telemetry, [`Reshape::Grow`] or [`Reshape::Keep`] says otherwise; so is one whose writes fail several times in
///   a row. Placement sends new data elsewhere, those that were refused included.
/// - A flush first flushes the devices with completed unflushed writes, then makes the map's records durable, then
///   replies. A write with FUA does both for itself.
/// - A device whose flush or durable write (FUA) failed, that lost its power, or that says that it has failed, stays
///   [`DeviceState::Failed`] for the rest of the engine's life. Its data may be lost, and a second flush that reports
///   success would not bring them back (Linux marks the pages of a failed fsync as clean). From then on writes and
///   trims on it fail, and so does every flush of the host. Reads go on, and so does everything else on other devices,
///   to which some engines send writes that replace data of the failed one.
/// - A failed journal means the same for all devices.
/// - After that, only an engine that is restored from what is durable promises anything again.
pub trait Engine: Debug + Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// Takes one input and appends the effects that follow from it. `now` never goes back.
    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>);

    /// A shortcut for drivers that move no data: where `request` of the host goes, if it goes as it is to one device
    /// and its end there is the host's answer. The driver then sends it there and does not call [`Self::on`] for it,
    /// which would do the same in two steps with their effects; at the end it calls [`Self::passed`].
    #[inline]
    fn pass(&self, request: &Request) -> Option<(DeviceIndex, Lba)> {
        let _ = request;
        None
    }

    /// A request of `kind` that was passed to `device` has ended there with `result`. Returns the host's answer.
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

    /// The state of `device`, as far as the engine knows.
    fn device_state(&self, device: DeviceIndex) -> DeviceState;

    /// The worst state of any device; failed if the journal has failed.
    fn state(&self) -> DeviceState;

    /// The map as far as its records have been issued. A journal that holds all of them can begin anew from it. Empty
    /// for an engine that computes places instead of keeping a map.
    fn checkpoint(&self) -> Checkpoint {
        Checkpoint::default()
    }

    /// Begins a checkpoint of the map as it is now, which [`Self::continue_checkpoint`] completes. One that was under
    /// way is forgotten.
    fn begin_checkpoint(&mut self) -> Checkpoint {
        self.checkpoint()
    }

    /// Adds the next `most` extents to the checkpoint `into` that was begun. Returns whether it is complete. The engine
    /// may take inputs in between: the checkpoint shows the map of the moment at which it was begun.
    fn continue_checkpoint(&mut self, most: u32, into: &mut Checkpoint) -> bool {
        let _ = (most, into);
        true
    }

    /// Changes the devices or the capacity, while requests are served. What the engine is restored with has to say so
    /// before this is called.
    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let _ = (now, reshape, effects);
        Err(ReshapeError::Unsupported)
    }

    /// How often the engine wants [`Input::Device`] with the telemetry of each device; `None` for never.
    fn telemetry_period(&self) -> Option<Nanos> {
        None
    }

    /// What a cache that chooses its own size has decided so far; `None` of all others.
    fn cache_windows(&self) -> Option<CacheWindows<'_>> {
        None
    }

    /// The parts of a cache that has some; `None` of all others.
    fn cache_parts(&self) -> Option<CacheParts<'_>> {
        None
    }

    /// Gives the first `share` of the host's address space a place, as if it had been written and flushed. For
    /// simulations of traces that read data written before. Only while no request is under way (asserted).
    fn fill(&mut self, share: Ratio) {
        let _ = share;
    }

    /// Counts of moved and freed extents; `None` for an engine that computes places.
    fn movements(&self) -> Option<Movements> {
        None
    }

    /// Counts of a memory cache; `None` for an engine without one.
    fn cache_counts(&self) -> Option<CacheCounts> {
        None
    }

    /// What has become of the room on flash that a flash cache owns; `None` for all other engines.
    fn cache_room(&self) -> Option<CacheRoom<'_>> {
        None
    }

    /// Counts of a flash cache; `None` for an engine that is none.
    fn flash_cache_counts(&self) -> Option<FlashCacheCounts> {
        None
    }

    /// How many extents each device holds and should have; `None` for an engine that computes places. Takes time in
    /// proportion to the devices.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Calls `visit` with the device of each extent of the host, in order of address; `None` for an extent without a
    /// place. Not called by an engine that computes places.
    fn visit_extents(&self, visit: &mut dyn FnMut(Option<DeviceIndex>)) {
        let _ = visit;
    }

    /// Asserts the invariants. For tests: takes time proportional to the map.
    fn check(&self) {}
}

/// Counts of a cache of extents in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Reads of extents (or of parts of them) that were in memory, or on their way there.
    pub hits: u64,
    /// All other reads of extents.
    pub misses: u64,
    /// Bytes of the extents that were fetched.
    pub fetched_bytes: u64,
    /// Writes that became writes of all that their extent holds, so that it moves.
    pub widened: u64,
}

/// Counts of a flash cache. Requests are counted by line: one that touches three lines counts three times.
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
    /// Lines that the policy or a smaller flash had leave.
    pub evictions: u64,
    /// Those of them that were copied back first.
    pub dirty_evictions: u64,
    /// Lines that were to leave, and were used again before they had.
    pub revived: u64,
    /// Lines that had left, and were used again before the flash, which the cache owns, had erased them.
    pub revived_suspects: u64,
    /// Lines that had left, and that such a flash has erased.
    pub erased_suspects: u64,
    /// Lines that were held, and that such a flash has dropped instead of copying them.
    pub dropped: u64,
    /// Dirty lines that the background cleaner copied back.
    pub cleaned: u64,
    /// Reads and writes that missed, and that the admission policy kept out of the cache.
    pub refused: u64,
    /// Accesses that the policies would have taken in, and that found no free slot.
    pub without_slot: u64,
    /// Reads of clean lines that failed on the flash, and were served by the backing device.
    pub flash_errors: u64,
    /// Requests that failed because the flash has lost, or may have lost, the only copy.
    pub lost: u64,
    /// Writes for which such a flash, which is worn, had no room.
    pub refused_writes: u64,
    /// Bytes read from the backing device to fill lines.
    pub filled_bytes: u64,
    /// Bytes written to the flash.
    pub flash_written_bytes: u64,
    /// Bytes of the flash that were trimmed because their lines have left.
    pub trimmed_bytes: u64,
    /// Bytes that went to the backing device by copying back.
    pub copied_back_bytes: u64,
    /// Lines that the flash holds now.
    pub held: u64,
    /// Those that are dirty.
    pub dirty: u64,
    /// Lines that have left, and whose data such a flash still has.
    pub suspects: u64,
    /// Slots of the flash in use: all, unless it was shrunk or may hold fewer lines.
    pub slots: u64,
    /// Lines that are held in other slots, which they have yet to leave; beyond what such a flash has room for.
    pub beyond: u64,
}

/// How the extents of the host are spread over the devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Bytes of an extent.
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
    /// Copies that were given up.
    pub abandoned: u64,
    /// Extents freed by trims of the host.
    pub freed: u64,
    /// Writes of the host that went to another device than the extent that they replaced.
    pub redirected: u64,
    /// Bytes that copies have read, those that were given up included.
    pub copied_bytes: u64,
    /// New extents that went to another device than the policy chose, because that one had no room or took no writes.
    pub displaced: u64,
    /// How often an extent should have moved to a device that had no free extent.
    pub without_room: u64,
    /// Tokens of the policy; `None` if it has none.
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
    fn checkpoint(&self) -> Checkpoint {
        (**self).checkpoint()
    }
    fn begin_checkpoint(&mut self) -> Checkpoint {
        (**self).begin_checkpoint()
    }
    fn continue_checkpoint(&mut self, most: u32, into: &mut Checkpoint) -> bool {
        (**self).continue_checkpoint(most, into)
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
