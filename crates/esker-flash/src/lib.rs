//! Solid-state drives: flash behind a host link and a write buffer.
//!
//! The drive is [`Ssd`]. It hands each page of a request to a translation layer ([`esker_ftl`]), which changes what the
//! cells hold ([`esker_nand::state`]), makes space by cleaning ([`esker_ftl::gc`]) and emits flash operations. The
//! array ([`esker_nand::array`]) then schedules these operations on dies and buses. Translation layers and victim
//! policies have no notion of time.
//!
//! ```
//! use esker_core::{Arrival, Bytes, Completion, Device, Lba, Nanos, Request, Tag};
//! use esker_flash::{PRESETS, Ssd, SsdSettings};
//!
//! let settings: SsdSettings = toml::from_str(PRESETS[0].toml).unwrap();
//! let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
//! let page = Bytes::kib(4);
//! let mut done = Vec::new();
//! ssd.submit(Nanos::ZERO, Tag::new(0, 0), Request::write(Lba(0), page));
//! ssd.advance(ssd.next_event(), &mut done);
//! // 105.6 us over the bus and 200 us into the cells (Agrawal 2008, table 1).
//! assert_eq!(done[0].at, Nanos(305_600));
//! ```

mod check;
mod error;
mod presets;
mod published;
mod settings;
mod ssd;
mod throughput;

pub use error::{HostManagedCacheError, SsdError};
pub use esker_ftl::{
    BuildError, Choice, CleaningSettings, EndOfLife, FTLS, ParameterValue, Parameters, Separation, Space,
    VICTIM_POLICIES, WRITE_MODE_POLICIES, WearLevelling, WearSettings, WriteFrontiers,
};
pub use esker_nand::array::{Ended, Waiter};
pub use esker_nand::{
    ArrayLevel, BlockIndex, ChannelIndex, CopyBack, DecodingStepSettings, DieIndex, EccCode, EccSettings,
    EnergySettings, ErrorCount, FlashArraySettings, Gang, GangControl, GangData, Geometry, GeometrySettings,
    ModeCodeSettings, ModeSettings, MultiPlane, NandError, Placement, PlaneIndex, PoolScope, RawErrorSettings, Rewrite,
    Scheduling, Stripe, SuspendSettings, TimingSettings, ValueError, WriteModeSettings,
};
pub use presets::PRESETS;
pub use published::{Figure, PUBLISHED, Published, TOLERANCE, Work};
pub use settings::{
    BufferMode, ControllerSettings, LinkSettings, PowerFailureSettings, SsdSettings, WriteBufferSettings,
};
pub use ssd::{CacheCleaning, HostManagedCache, PreconditionedDrives, Ssd};
