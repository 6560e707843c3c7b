//! Which device holds what: placement engines, run alike by the simulator and by real volumes; and how much a cache of
//! each size would help.

mod engine;
mod extent;
pub mod mrc;
mod placement;

pub use engine::{
    Checkpoint, DataRef, Effect, Engine, EngineSettings, Input, IoId, MapRecord, RecordNumber, RestoreError,
    SettingsError, UnmetShare,
};
pub use extent::{DeviceIndex, LogicalExtent, PhysicalExtent, Place};
pub use placement::{
    BuildPlacement, DeviceView, PLACEMENTS, Placement, PlacementEntry, PlacementError, PolicySettings, StaticSplit,
    StaticSplitSettings,
};
