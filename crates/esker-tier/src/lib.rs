//! Engines turn requests to a volume into requests to its devices: placement, striping, and caches on flash or in
//! memory. The simulator and real volumes run the same engines.

mod engine;
mod extent;
mod flash_cache;
mod placement;
mod range_map;
mod stripe;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

/// What engines of other crates are made of, too.
pub mod parts {
    pub use crate::engine::{
        CLUSTER, Durability, EngineRecord, FIELDS, FlushOutcome, FlushWait, Flushes, Health, Hosts, NextFlush,
        Snapshot, WrittenBlocks,
    };
    pub use crate::placement::WrittenInDay;
}

pub use engine::{
    BackgroundReport, BackgroundSettings, BufferId, BufferPlace, BufferStep, Checkpoint, DataRef, DeviceControl,
    Effect, Engine, HeldReason, Input, IoId, LifeSpent, LimitsError, LiveSettings, LiveSettingsError, MoveLimits,
    OneSync, Record, RecordError, RecordNumber, Reshape, ReshapeError, Segment, Spread, SyncStep,
};
pub use extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};
pub use flash_cache::{
    BuildController, BuildRouting, CacheController, CacheDecision, CacheRole, CacheSizes, CacheStreams,
    ControllerFault, FlashCacheEngine, FlashCacheError, FlashCacheRecord, FlashCacheSettings, HitRouting, LineAccess,
    OwnedFlash, ROUTINGS, RoutingEntry, SlotOrder, WriteHandling, no_routing, routes_nothing,
};
pub use placement::{
    BuildPlacement, Completed, DeviceView, Event, LIFE_PERIOD, LifeBudget, MemoryCache, MoveOutcome, NewExtent,
    NewPolicy, PLACEMENTS, Placement, PlacementEngine, PlacementEntry, PlacementError, PlacementRecord,
    PlacementSettings, PolicySettings, RestoreError, Rewrite, SettingsError, StaticSplit, StaticSplitSettings,
    TwoCopies, UnmetShare, WishedMove, Wishes, check_device, checked_weights, schema_of,
};
pub use range_map::{PinnedRange, RangeMap, RangeMapError};
pub use stripe::{StripeEngine, StripeError, StripeSettings};
