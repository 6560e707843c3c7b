//! Settings of the flash array, as in configurations.

mod array;
mod ecc;
mod energy;
mod geometry;
mod modes;

pub use array::{
    ArrayLevel, CopyBack, FlashArraySettings, Gang, GangControl, GangData, MultiPlane, Placement, Rewrite, Scheduling,
    Stripe, SuspendSettings,
};
pub use ecc::{DecodingStepSettings, EccCode, EccSettings, ErrorCount, RawErrorSettings};
pub use energy::EnergySettings;
pub use geometry::{GeometrySettings, PoolScope, TimingSettings};
pub use modes::{ModeCodeSettings, ModeSettings, WriteModeSettings};
