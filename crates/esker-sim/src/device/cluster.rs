//! Clusters: servers with a device each, between which slices move so that they wear evenly, or last equally long.

use esker_cluster::{
    ClusterEngine, ClusterError, ClusterFlash, ClusterPace, ClusterServer, ClusterSettings as EngineSettings,
    FailureDomain, defaults,
};
use esker_core::registry::{Choice, ParameterSource};
use esker_core::{Bytes, Hint, Nanos, Ratio};
use esker_results::Reporting;
use esker_tier::{BackgroundSettings, Engine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::engine::EngineDevice;
use super::networked::Networked;
use super::{Allocate, Child, ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance};
use super::{read_settings, schema_of};

/// The `cluster` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "cluster",
    summary: "Servers with a device each; slices move between them so that wear is even, or life",
    source: "Salman 2017, chapter 4",
    parameters: ParameterSource::Schema(schema_of::<ClusterSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<ClusterSettings>(table),
        example: "[device.drive]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"64MiB\"\n\n\
                  [device.example]\nkind = \"cluster\"\nchild = \"drive\"\ncount = 5\nobjects_per_slice = 4\n\
                  balancer = \"ewo\"\nepoch = \"10s\"\n",
    },
};

/// Settings of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// The devices of its servers, each with a table of its own. Alternative: `child` and `count`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
    /// The device table of all its servers, if they are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// Number of servers with a device like `child`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// For each server, the number of what it fails together with: a host, a rack (default: each fails alone). No two
    /// copies of a slice share one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<u32>,
    /// Copies of each slice.
    #[serde(default = "defaults::replicas")]
    #[schemars(range(min = 1, max = 3))]
    pub replicas: u8,
    /// Bytes of an object: whole sectors. A write of a whole object moves it for nothing.
    #[serde(default = "defaults::object")]
    pub object: Bytes,
    /// Objects of a slice, which moves as a whole.
    #[serde(default = "defaults::objects_per_slice")]
    #[schemars(range(min = 1, max = 65_536))]
    pub objects_per_slice: u32,
    /// Ranges of the hash space that the ring gives to servers as a whole. More make their shares more even.
    #[serde(default = "defaults::partitions")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub partitions: u32,
    /// Capacity offered to the host, in whole slices (default: as much as leaves each server its `reserve`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Share of each server that its share of the ring leaves free, so that slices can come.
    #[serde(default = "defaults::reserve")]
    pub reserve: Ratio,
    /// When objects are placed.
    #[serde(default)]
    pub allocate: Allocate,
    /// The policy of balancing: a name, or a table with its parameters.
    #[serde(default = "defaults::balancer")]
    pub balancer: Choice,
    /// How many erases writes cost on devices that do not count them: a name, or a table with its parameters.
    #[serde(default = "defaults::wear")]
    pub wear: Choice,
    /// Length of an epoch, at whose end the policy is asked.
    #[serde(default = "defaults::epoch")]
    pub epoch: Nanos,
    /// Share of an epoch during which only writes of the host move objects. What is left then is copied.
    #[serde(default = "defaults::copies_after")]
    pub copies_after: Ratio,
    /// Bytes that may be copied in a second.
    #[serde(default = "defaults::copies")]
    pub copied_bytes_per_second: Bytes,
    /// What is allowed of moves in the background (default: everything).
    #[serde(default, skip_serializing_if = "BackgroundSettings::is_unlimited")]
    pub background: BackgroundSettings,
    /// Time that a request to a server takes on the network, the way there and back.
    #[serde(default)]
    pub network: Nanos,
    /// Size of a flash page, in which writes are counted.
    #[serde(default = "defaults::page")]
    pub page: Bytes,
    /// Pages of a block.
    #[serde(default = "defaults::pages_per_block")]
    #[schemars(range(min = 1))]
    pub pages_per_block: u32,
    /// How often a device can be written as a whole before its rated life is used up.
    #[serde(default = "defaults::rated_fills")]
    #[schemars(range(min = 1))]
    pub rated_fills: u32,
    /// Most requests under way (default: the sum of the children's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

impl ClusterSettings {
    /// Returns the children that are there from the start as servers.
    fn servers(&self, children: &[Child]) -> Result<Vec<ClusterServer>, DeviceFault> {
        if !self.domains.is_empty() && self.domains.len() != children.len() {
            let message = format!("`domains` has {}, and there are {} servers", self.domains.len(), children.len());
            return Err(DeviceFault::new(message).at(["domains"]).with_hint(Some("give one for each server".into())));
        }
        let domain = |index: usize| FailureDomain(self.domains.get(index).copied().unwrap_or(index as u32));
        let server = |(index, child): (usize, &Child)| ClusterServer {
            capacity: child.device.capacity(),
            domain: domain(index),
        };
        Ok(children.iter().enumerate().map(server).collect())
    }

    /// Builds the engine over `children`, with nothing written yet.
    fn engine(&self, children: &[Child]) -> Result<ClusterEngine, DeviceFault> {
        let settings = EngineSettings {
            object: self.object,
            objects_per_slice: self.objects_per_slice,
            partitions: self.partitions,
            replicas: self.replicas,
            servers: self.servers(children)?,
            founders: None,
            capacity: self.capacity,
            reserve: self.reserve,
            balancer: self.balancer.clone(),
            wear: self.wear.clone(),
            pace: ClusterPace {
                epoch: self.epoch,
                copies_after: self.copies_after,
                copied_bytes_per_second: self.copied_bytes_per_second,
            },
            flash: ClusterFlash {
                page: self.page,
                pages_per_block: self.pages_per_block,
                rated_fills: self.rated_fills,
            },
        };
        let engine = ClusterEngine::new(&settings).map_err(|error| fault_of(&error, children))?;
        let engine = engine.with_background(self.background).map_err(|error| {
            DeviceFault::new(error.to_string()).at(["background", "moved_bytes_per_day"]).with_hint(error.hint())
        })?;
        Ok(engine.with_changing_members())
    }
}

fn fault_of(error: &ClusterError, children: &[Child]) -> DeviceFault {
    let message = match error {
        ClusterError::Small { server, capacity, slice } => {
            format!("`{}` holds {capacity}, less than one slice of {slice}", children[*server].name)
        }
        error => error.to_string(),
    };
    DeviceFault::new(message).at(error.key()).with_hint(error.hint())
}

impl DeviceSettings for ClusterSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn moves_in_background(&self) -> bool {
        true
    }

    fn notices_failures(&self) -> bool {
        true
    }

    fn changes_children(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<ChildName> {
        super::array::children_of(&self.children, self.child.as_deref(), self.count)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, mut instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        super::array::check_children(&self.children, self.child.as_deref(), self.count, "a cluster")?;
        if self.queue_depth == Some(0) {
            let fault = DeviceFault::new("`queue_depth` is 0; a cluster takes at least one request");
            return Err(fault.at(["queue_depth"]));
        }
        if self.network > Nanos::ZERO {
            let far = |child: Child| Child { device: Box::new(Networked::new(child.device, self.network)), ..child };
            instance.children = instance.children.into_iter().map(far).collect();
        }
        let (present, joining) = instance.children.split_at(instance.children.len() - instance.joining);
        let mut engine = self.engine(present)?;
        if self.allocate == Allocate::AtStart {
            engine.fill(Ratio::ONE);
        }
        let joining = joining.iter().map(|child| child.device.capacity()).collect();
        Ok(Box::new(EngineDevice::new(KIND.name, engine, instance, self.queue_depth).with_joining(joining)))
    }
}
