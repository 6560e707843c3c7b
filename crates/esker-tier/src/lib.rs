//! Which device holds what: placement engines, run alike by the simulator and by real volumes; and how much a cache of
//! each size would help.

mod engine;
pub mod mrc;
mod placement;

pub use engine::{
    Checkpoint, DataRef, DeviceIndex, Effect, Engine, EngineSettings, Input, IoId, LogicalExtent, MapRecord,
    PhysicalExtent, Place, RecordNumber, RestoreError, SettingsError, UnmetShare,
};
pub use placement::{
    BuildPlacement, DeviceView, PLACEMENTS, Placement, PlacementEntry, PlacementError, PolicySettings, StaticSplit,
    StaticSplitSettings,
};
