//! Solid-state drives: the NAND array in exact time, translation layers, cleaning.
//!
//! The drive is [`Ssd`]. It hands each page of a request to a translation layer ([`ftl`]), which changes what the cells
//! hold ([`nand`]), makes space by cleaning ([`gc`]) and emits flash operations; dies and buses then perform those in
//! time. Translation layers and victim policies know nothing of time.
//!
//! ```
//! use esker_core::{Arrival, Bytes, Completion, Device, Lba, Nanos, Request, Tag};
//! use esker_flash::{PRESETS, Ssd, SsdSettings};
//!
//! let settings: SsdSettings = toml::from_str(PRESETS[0].toml).unwrap();
//! let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
//! let page = Bytes::kib(4);
//! let mut done = Vec::new();
//! ssd.submit(Nanos::ZERO, Tag { slot: 0, generation: 0 }, Request::write(Lba(0), page));
//! ssd.advance(ssd.next_event(), &mut done);
//! // 105.6 us over the bus and 200 us into the cells (Agrawal 2008, table 1).
//! assert_eq!(done[0].at, Nanos(305_600));
//! ```

mod array;
mod choice;
mod divide;
mod ecc;
mod error;
pub mod ftl;
pub mod gc;
mod geometry;
mod memory;
pub mod nand;
mod precondition;
mod presets;
mod published;
mod settings;
mod space;
mod ssd;

pub use choice::{Choice, Parameter, Parameters};
pub use error::SsdError;
pub use ftl::FTLS;
pub use gc::VICTIM_POLICIES;
pub use geometry::{BlockIndex, ChannelIndex, DieIndex, Geometry, PlaneIndex};
pub use presets::PRESETS;
pub use published::{Figure, PUBLISHED, Published, TOLERANCE, Work};
pub use settings::{
    ArrayLevel, ArraySettings, BufferMode, CleaningSettings, CopyBack, DecodingStepSettings, EccCode, EccSettings,
    EndOfLife, EnergySettings, ErrorCount, Gang, GangControl, GangData, GeometrySettings, LinkSettings, MultiPlane,
    Placement, PoolScope, PowerFailureSettings, RawErrorSettings, Rewrite, Scheduling, Separation, SsdSettings, Stripe,
    SuspendSettings, TimingSettings, WearLevelling, WearSettings, WriteBufferSettings, WriteFrontiers,
};
pub use space::Space;
pub use ssd::Ssd;
