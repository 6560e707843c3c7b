//! Clusters: slices move between the devices, so that these wear evenly, or last equally long.

use esker_cluster::{
    ClusterEngine, ClusterError, ClusterFlash, ClusterPace, ClusterServer, ClusterSettings, FailureDomain,
    RestoreError, ShapeError, defaults,
};
use esker_core::registry::{Choice, ParameterSource};
use esker_core::{Bytes, Nanos, Ratio};
use esker_tier::{BackgroundSettings, Engine, LiveSettings, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineDevice, EngineError, EngineSettings, Presence, Restored, VolumeKind, read};
use crate::format::Superblock;

pub(super) const KIND: VolumeKind = VolumeKind {
    name: "cluster",
    summary: "Drives that balance their wear: slices move so that it is even, or life",
    source: "Salman 2017, chapter 4",
    parameters: ParameterSource::Schema(schema_of::<Cluster>),
    capabilities: &[],
    build: read::<Cluster>,
};

/// Settings of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cluster {
    /// Copies of each slice, on different devices.
    #[serde(default = "defaults::replicas")]
    #[schemars(range(min = 1, max = 3))]
    replicas: u8,
    /// Bytes of an object: whole sectors. A write of a whole object moves it for nothing; the first write of an object
    /// writes all of it.
    #[serde(default = "defaults::object")]
    object: Bytes,
    /// Objects of a slice, which moves as a whole.
    #[serde(default = "defaults::objects_per_slice")]
    #[schemars(range(min = 1, max = 65_536))]
    objects_per_slice: u32,
    /// Ranges of the hash space that the ring gives to devices as a whole. More make their shares more even.
    #[serde(default = "defaults::partitions")]
    #[schemars(range(min = 1, max = 16_777_216))]
    partitions: u32,
    /// Capacity offered to the host, in whole slices (default: as much as leaves each device its `reserve`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Bytes>,
    /// Share of each device that its share of the ring leaves free, so that slices can come.
    #[serde(default = "defaults::reserve")]
    reserve: Ratio,
    /// The policy of balancing: a name, or a table with its parameters.
    #[serde(default = "defaults::balancer")]
    balancer: Choice,
    /// How many erases writes cost on devices that do not count them: a name, or a table with its parameters.
    #[serde(default = "defaults::wear")]
    wear: Choice,
    /// Length of an epoch, at whose end the policy is asked.
    #[serde(default = "defaults::epoch")]
    epoch: Nanos,
    /// Share of an epoch during which only writes of the host move objects. What is left then is copied.
    #[serde(default = "defaults::copies_after")]
    copies_after: Ratio,
    /// Bytes that may be copied in a second.
    #[serde(default = "defaults::copies")]
    copied_bytes_per_second: Bytes,
    /// Size of a flash page, in which writes are counted.
    #[serde(default = "defaults::page")]
    page: Bytes,
    /// Pages of a block.
    #[serde(default = "defaults::pages_per_block")]
    #[schemars(range(min = 1))]
    pages_per_block: u32,
    /// How often a device can be written as a whole before its rated life is used up.
    #[serde(default = "defaults::rated_fills")]
    #[schemars(range(min = 1))]
    rated_fills: u32,
    /// What is allowed of moves in the background (default: everything).
    #[serde(default, skip_serializing_if = "BackgroundSettings::is_unlimited")]
    background: BackgroundSettings,
    /// How many devices the volume was created with. It is written down then; do not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    founders: Option<u16>,
}

/// Memory for copies that are under way.
const COPIES_MOST: Bytes = Bytes::mib(64);

impl Cluster {
    fn engine(&self, devices: &[EngineDevice]) -> ClusterSettings {
        let server = |(index, device): (usize, &EngineDevice)| ClusterServer {
            capacity: device.data,
            domain: FailureDomain(index as u32),
        };
        let pace = ClusterPace {
            epoch: self.epoch,
            copies_after: self.copies_after,
            copied_bytes_per_second: self.copied_bytes_per_second,
        };
        ClusterSettings {
            object: self.object,
            objects_per_slice: self.objects_per_slice,
            partitions: self.partitions,
            replicas: self.replicas,
            servers: devices.iter().enumerate().map(server).collect(),
            founders: self.founders.map(usize::from),
            capacity: self.capacity,
            reserve: self.reserve,
            balancer: self.balancer.clone(),
            wear: self.wear.clone(),
            pace,
            flash: ClusterFlash {
                page: self.page,
                pages_per_block: self.pages_per_block,
                rated_fills: self.rated_fills,
            },
        }
    }

    /// Objects of which `COPIES_MOST` has room.
    fn copies_at_once(&self) -> u32 {
        u32::try_from(COPIES_MOST.0 / self.object.0.max(1)).unwrap_or(u32::MAX)
    }
}

impl EngineSettings for Cluster {
    fn resolved(&self) -> Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn unit(&self) -> Bytes {
        Bytes(self.object.0.saturating_mul(self.objects_per_slice.into()))
    }

    fn copies(&self) -> u64 {
        self.replicas.into()
    }

    /// A copy of a slice has its place and up to a run for each second object that was written; in motion also its
    /// destination and up to a run for each object that has moved. And each device has its wear. With several copies,
    /// up to half of the objects each have missed something or may have, a slice may be dirty, and a device has failed.
    fn records_max(&self, devices: &[Bytes]) -> u64 {
        let bytes: u64 = devices.iter().map(|device| device.0).sum();
        let (objects, members) = (u64::from(self.objects_per_slice), Superblock::MEMBERS_MAX as u64);
        let more = if self.replicas > 1 { 1 + 2 * objects.div_ceil(2) } else { 0 };
        let of_slice = 2 + objects.div_ceil(2) + objects + more;
        bytes.div_ceil(self.unit().0.max(1)) * of_slice + if self.replicas > 1 { 2 * members } else { members }
    }

    fn created(&self, capacity: Bytes, devices: usize) -> Value {
        Self { capacity: Some(capacity), founders: Some(devices as u16), ..self.clone() }.resolved()
    }

    fn live(&self) -> Option<LiveSettings> {
        Some(LiveSettings { background: Some(self.background), ..LiveSettings::default() })
    }

    fn restore(&self, from: Restored<'_>) -> Result<Box<dyn Engine>, EngineError> {
        let settings = self.engine(from.devices);
        let (missing, removed) = (from.with_presence(Presence::Missing), from.with_presence(Presence::Removed));
        let (missing, removed): (Vec<_>, Vec<_>) = (missing.collect(), removed.collect());
        let engine = ClusterEngine::reopen(&settings, from.through, from.checkpoint, from.journal);
        let engine = engine.map_err(error_of)?.with_changing_members().with_copies_at_once(self.copies_at_once());
        let mut engine = engine.with_background(self.background).map_err(|error| EngineError::settings(&error))?;
        for device in removed {
            engine = engine.with_removed(device).map_err(error_of)?;
        }
        if from.only_reads {
            engine = engine.only_read();
        }
        Ok(Box::new(missing.into_iter().fold(engine, ClusterEngine::without)))
    }
}

fn error_of(error: RestoreError) -> EngineError {
    match error {
        RestoreError::Settings(ClusterError::Small { server, capacity, slice }) => EngineError::Settings {
            message: format!("device {server} has {capacity} for data, less than one slice of {slice}"),
            hint: Some("set a smaller `object`, or fewer `objects_per_slice`".to_string()),
        },
        RestoreError::Settings(ClusterError::Shape(ShapeError::TooFewDomains { replicas, domains })) => {
            EngineError::Settings {
                message: format!("{replicas} copies of each slice need as many devices, and there are {domains}"),
                hint: Some("give more devices, or fewer `replicas`".to_string()),
            }
        }
        RestoreError::Settings(error) => EngineError::settings(&error),
        RestoreError::LastCopy { .. } => EngineError::Settings {
            message: error.to_string(),
            hint: Some("bring this device back: nothing else has what is there".to_string()),
        },
        error => EngineError::Map(error.to_string()),
    }
}
