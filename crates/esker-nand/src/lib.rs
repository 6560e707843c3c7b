//! NAND flash: its shape, the content of its cells, and the times of its operations.
//!
//! There are three parts. [`state`] is the content of the cells and the operations that change it. It has no notion of
//! time, and it is all that translation layers use. [`mod@array`] performs operations in time, with dies, buses and
//! registers. [`ecc`] decides how many bits of a page are wrong, and which decoding step corrects them.

pub mod array;
mod divide;
pub mod ecc;
mod error;
mod geometry;
pub mod memory;
mod settings;
pub mod state;
mod value;
mod wiring;

pub use divide::Divisor;
pub use error::NandError;
pub use geometry::{BlockIndex, ChannelIndex, DieIndex, Geometry, PlaneIndex};
pub use settings::{
    ArrayLevel, CopyBack, DecodingStepSettings, EccCode, EccSettings, EnergySettings, ErrorCount, FlashArraySettings,
    Gang, GangControl, GangData, GeometrySettings, ModeCodeSettings, ModeSettings, MultiPlane, Placement, PoolScope,
    RawErrorSettings, Rewrite, Scheduling, Stripe, SuspendSettings, TimingSettings, WriteModeSettings,
};
pub use value::ValueError;
pub use wiring::{Wiring, setting_name};
