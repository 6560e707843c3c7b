//! What all crates of esker share: units, requests, the device contract, the virtual driver, histograms. No I/O and no
//! clock: time is always an argument.
//!
//! ```
//! use esker_core::{Bytes, Nanos};
//! assert_eq!("25us".parse::<Nanos>().unwrap(), Nanos::from_micros(25));
//! assert_eq!("32KiB".parse::<Bytes>().unwrap().to_string(), "32KiB");
//! ```

pub mod bits;
mod change;
mod children;
mod device;
mod hint;
mod histogram;
mod id_map;
pub mod jobs;
mod line;
mod list;
mod machine;
mod preset;
mod quantity;
mod queue;
mod rates;
mod reading;
pub mod registry;
mod replay;
mod request;
mod retention;
mod rng;
mod slab;
mod units;
pub mod words;

pub use change::{Change, ChangeError, ScheduledChange};
pub use children::Children;
pub use device::{
    BusyTime, Control, Device, DeviceState, DriveWear, Precondition, ResourceKind, Stretch, Telemetry, Unsupported,
};
pub use hint::{Hint, did_you_mean};
pub use histogram::LatencyHistogram;
pub use id_map::IdMap;
pub use line::WaitingLine;
pub use list::{Linked, Links, List};
pub use machine::{EffectLog, FaultPlan, Faults, Machine, MachineEffect, MachineInput, MachineLoop, World};
pub use preset::Preset;
pub use quantity::{QuantityError, deserialize_quantity, parse_quantity, write_quantity};
pub use queue::{EventQueue, Timetable};
pub use rates::unlikely_rate;
pub use reading::{Branch, Problem, ReadError, Step, Tree, read};
pub use replay::{
    Arrival, Feed, Observer, Processes, Replay, ReplayEnd, ReplayError, ReplaySettings, Stream, Verdict, replay,
    replay_changing,
};
pub use request::{Completion, DeviceError, Priority, Request, RequestKind, StreamId, Tag};
pub use retention::{CannotOwn, Ownable, OwnedRoom, Retention};
pub use rng::{Rng, mix64};
pub use slab::{TagMap, TagSlab};
pub use units::{ByteRate, Bytes, Energy, Lba, LogicalPage, Nanos, PhysicalPage, Power, Ratio};
