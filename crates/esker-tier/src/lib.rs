//! Engines, which turn requests to a volume into requests to its devices: placement and stripes. The simulator and real
//! volumes run the same ones. And miss-ratio curves: how much a cache of each size would help.

mod engine;
mod extent;
pub mod mrc;
mod placement;
mod stripe;

pub use engine::{Checkpoint, DataRef, Effect, Engine, Input, IoId, MapRecord, Movements, RecordNumber};
pub use extent::{DeviceIndex, LogicalExtent, PhysicalExtent, Place};
pub use placement::{
    BuildPlacement, Completed, DeviceView, Event, MoveOutcome, PLACEMENTS, Placement, PlacementEngine, PlacementEntry,
    PlacementError, PlacementSettings, PolicySettings, RestoreError, SettingsError, StaticSplit, StaticSplitSettings,
    UnmetShare, Wishes,
};
pub use stripe::{StripeEngine, StripeError, StripeSettings};
