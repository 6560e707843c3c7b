//! Experiment files, device trees, arrays and sweeps: everything between a TOML file and results.

mod assembly;
mod config;
mod device;
mod map_frames;
mod measured;
mod offered_load;
mod profile;
mod range_maps;
mod reference;
mod remarks;
mod run;
mod run_error;
mod run_options;
mod simulation;
mod stopping;
mod sweep;
mod validate;
mod workload;

pub use assembly::{Assembly, AssemblyError};
pub use config::{
    BeyondCapacity, CommonSettings, DEVICES_MAX, DeviceDescription, Dimension, Experiment, NamedPreset, OneOrMore,
    PreconditionKind, RequestPriority, RunEvent, RunSettings, SettleSettings, StreamBy, StreamChoice, System,
    VolumeSettings, WorkloadSettings, system_of,
};
pub use device::{
    Allocate, ArraySettings, CacheReply, CacheSettings, Child, ChildName, ClusterSettings, Constant, ConstantSettings,
    DEVICE_KINDS, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, EngineDevice, EraseUnit, HYBRID_POLICIES,
    HostManagedCacheSettings, HybridSettings, Instance, OwnFlash, PageStreams, ServiceTimes, device_kind, preset,
};
pub use esker_flash::PreconditionedDrives;
pub use measured::{RunMeasurements, Slowest, resource_name};
pub use offered_load::{Ladder, LoadStep, OfferedLoad};
pub use range_maps::{read_range_map, read_ranges};
pub use reference::{ChoiceCapability, ChoiceEntry, Choices, choices, experiments_page, results_schema};
pub use run::{run, run_workload};
pub use run_error::RunError;
pub use run_options::RunOptions;
pub use simulation::{MeasuredRun, PROGRESS_EVERY, Simulation};
pub use stopping::Ceiling;
pub use sweep::{METRICS, Metric, Sweep, SweepError, SweepOptions, SweepTable, is_name_of_results, sweep};
pub use validate::{MeasuredRequest, read_measured, validate};
// Errors of experiment files.
pub use esker_config::ConfigError;
// What the settings of a flash cache are made of.
pub use esker_controllers::{
    AllocationCurve, AllocationSettings, AllocationTraining, CopyingBack, Lifetime, PUBLISHED_PLACEMENTS, PartitionBy,
    PartitionSettings,
};
pub use esker_tier::{CacheRole, CacheStreams, SlotOrder, WriteHandling};
// What maps of ranges are made of.
pub use esker_tier::{PinnedRange, RangeMap};
pub use workload::{Extent, TraceInput, TraceRecords, Traces, Workload, WorkloadError, read_trace, scaled};
