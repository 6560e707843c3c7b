//! The real driver: it runs the engines of the simulator over real stores, in real time.

mod backend;
mod buffers;
mod clock;
mod driver;
mod format;
mod journal;
mod memory;
mod part;
mod queue;
mod signal;
mod stacked;
mod store;
mod volume;

pub use backend::{
    Backend, BlockingBackend, DEVICE_NAME_RULE, DeviceIo, DeviceLimits, DeviceSettings, Direct, Ended, FileBackend,
    FileDevice, Gather, IoChoice, MemoryBackend, OpenDevice, Operation, OperationData, PlacedError, Threaded, Watch,
    WholeBlocks, is_device_name,
};
pub use clock::{Clock, SystemClock};
pub use esker_tier::{BackgroundReport, BackgroundSettings, HeldReason, LifeSpent, MoveLimits, PinnedRange};

pub use driver::{RealDriver, Reply, StuckDrain};
pub use format::{Damage, Identity, LayoutError, SuperblockError};
pub use journal::{
    BlockingJournal, CheckpointNeed, DirectJournal, Journal, JournalShare, MemoryJournal, ThreadedJournal, share,
};
pub use memory::{Buffer, BufferPool, ReplyData};
pub use part::{Part, divide};
pub use signal::Signal;
pub use stacked::Stacked;
pub use store::{Store, device_error};
pub use volume::{
    AsleepAfter, ChangeError, ChangedLimits, ChangedSettings, DrainProgress, DumpPart, EngineDevice, EngineError,
    EngineSettings, JoinPlan, JoiningDevice, LostDevice, MapDamage, MapKeepers, MoveBudget, Presence, Restored,
    VOLUME_KINDS, Volume, VolumeChange, VolumeError, VolumeKind, VolumeMap, VolumeMember, VolumeSettings, VolumeState,
    WhatIsThere, WhatWasLost, check, create, create_with_map_on, dump, is_without_superblock, leave_failing_out,
    remove_lost, served_as,
};
