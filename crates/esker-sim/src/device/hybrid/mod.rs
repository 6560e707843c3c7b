//! Hybrids: devices of different kinds combined by a placement engine.

use std::collections::VecDeque;
use std::path::Path;

use esker_config::Node;
use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Hint, Problem, Ratio, ReadError};
use esker_results::Reporting;
use esker_tier::{
    BackgroundSettings, Engine, MemoryCache, MoveLimits, PlacementEngine, PlacementSettings, PolicySettings,
    SettingsError, UnmetShare,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::engine::EngineDevice;
use crate::range_maps::read_ranges;

use super::{Child, ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, schema_of};

mod policies;

pub use policies::HYBRID_POLICIES;

/// The `hybrid` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "hybrid",
    summary: "Devices of different kinds as one; a policy decides which extent goes where",
    source: "Wu 2011",
    parameters: ParameterSource::Schema(schema_of::<HybridSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read,
        example: "[device.fast]\nkind = \"constant\"\nservice_time = \"20us\"\ncapacity = \"64MiB\"\n\n\
                  [device.slow]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"192MiB\"\n\n\
                  [device.example]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\nextent = \"64KiB\"\n\
                  policy = { kind = \"static-split\", weights = [1, 3] }\n",
    },
};

/// Settings of a hybrid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridSettings {
    /// Its devices, each with a table of its own.
    pub children: Vec<String>,
    /// The policy that places extents.
    pub policy: PolicySettings,
    /// Bytes of an extent, which is placed as a whole: a multiple of 4 KiB, or 512 bytes, 1 KiB or 2 KiB. Each takes
    /// about 20 bytes of memory.
    #[serde(default = "default_extent")]
    pub extent: Bytes,
    /// Capacity offered to the host, in whole extents (default: that of all children). If it is less, a child can be
    /// larger than its share, so that shares need not be those of the capacities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Share of each child's extents that are kept free, so that extents can move, instead of `capacity` (default: 5%
    /// for policies that move extents, else none). With `capacity`, each child keeps 5% if that leaves so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Ratio>,
    /// When extents are placed.
    #[serde(default)]
    pub allocate: Allocate,
    /// Extents that are kept in memory as a whole, those read last: a read of any other one fetches all of it, writes
    /// go through, and a write to one of them can move it at no further cost (default: none). Wu 2011 has 100.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 1_000_000))]
    pub cached_extents: u32,
    /// Whether two of the children keep the changes of the map, as devices of a volume do. A batch at a time is written
    /// to both, which are then flushed. Otherwise such changes take no time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub journal: bool,
    /// The children that may keep these changes, with `journal` (default: the first two). One alone writes each batch
    /// once, and a disk that is not among them is not woken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeps_map: Vec<String>,
    /// What is allowed of moves in the background (default: everything).
    #[serde(default, skip_serializing_if = "BackgroundSettings::is_unlimited")]
    pub background: BackgroundSettings,
    /// Limits of what moves to and from each child, in their order (default: none).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<MoveLimits>,
    /// Most requests under way (default: the sum of the children's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

/// When extents are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocate {
    /// All of them before the run, in order of address, as if the data had been there already.
    #[default]
    AtStart,
    /// Each with its first write. Unwritten extents read as zeroes in no time.
    OnWrite,
}

/// The largest number of cached extents.
const CACHED_MAX: u32 = 1_000_000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

const fn default_extent() -> Bytes {
    Bytes::mib(1)
}

/// The keys of `policy` belong to the chosen policy, which alone can check them.
fn read(table: &Node) -> Result<Box<dyn DeviceSettings>, ReadError> {
    let settings: HybridSettings = esker_core::read(table)?;
    if settings.children.is_empty() {
        let problem = Problem::with_hint("a hybrid has at least one child", "name the devices it is made of");
        return Err(ReadError::new(problem).below("children"));
    }
    settings.policy.build(&HYBRID_POLICIES, settings.children.len()).map_err(|error| error.below("policy"))?;
    Ok(Box::new(settings))
}

impl DeviceSettings for HybridSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn notices_failures(&self) -> bool {
        true
    }

    fn changes_children(&self) -> bool {
        true
    }

    fn moves_in_background(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<ChildName> {
        let child = |(index, device): (usize, &String)| ChildName {
            key: format!("children[{index}]"),
            device: device.clone(),
            count: None,
        };
        self.children.iter().enumerate().map(child).collect()
    }

    fn read_files(&mut self, folder: &Path) -> Result<(), ReadError> {
        let Some(map) = self.policy.map() else { return Ok(()) };
        let ranges = read_ranges(&folder.join(map), self.children.iter().map(String::as_str));
        self.policy.mapped = Some(ranges.map_err(|problem| ReadError::new(problem).below("map").below("policy"))?);
        Ok(())
    }

    fn resolved(&self) -> serde_json::Value {
        let policy = self.policy.without_file();
        serde_json::to_value(Self { policy, ..self.clone() }).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        if self.queue_depth == Some(0) {
            return Err(DeviceFault::new("`queue_depth` is 0; a hybrid takes at least one request").at(["queue_depth"]));
        }
        if self.capacity.is_some() && self.reserve.is_some() {
            let fault = DeviceFault::new("`capacity` and `reserve` exclude each other; give one of them");
            return Err(fault.at(["capacity", "reserve"]));
        }
        if self.cached_extents > CACHED_MAX {
            let message = format!("`cached_extents` is {}; a cache takes up to {CACHED_MAX}", self.cached_extents);
            return Err(DeviceFault::new(message).at(["cached_extents"]));
        }
        self.check_keepers()?;
        MoveLimits::check(&self.limits, self.children.len())
            .map_err(|error| DeviceFault::new(error.to_string()).at(["limits"]))?;
        let (present, joining) = instance.children.split_at(instance.children.len() - instance.joining);
        let engine = self.engine(present)?.with_limits(self.limits.clone()).with_background(self.background);
        let key = ["background.moved_bytes_per_day"];
        let mut engine = engine.map_err(|error| DeviceFault::new(error.to_string()).at(key).with_hint(error.hint()))?;
        if self.allocate == Allocate::AtStart {
            // A share that the settings do not ask for need not be kept free.
            if self.reserve.is_none() && engine.unmet_share().is_some() {
                engine.keep_free(Ratio::ZERO);
            }
            if let Some(unmet) = engine.unmet_share() {
                let capacities: Vec<Bytes> = present.iter().map(|child| child.device.capacity()).collect();
                return Err(self.unmet(&unmet, &capacities, engine.capacity()));
            }
            engine.fill(Ratio::ONE);
        }
        let joining = joining.iter().map(|child| child.device.capacity()).collect();
        Ok(match self.cached_extents {
            0 => self.device(engine, instance, joining),
            extents => self.device(MemoryCache::new(engine, extents), instance, joining),
        })
    }
}

fn fault_of(error: &SettingsError, children: &[Child]) -> DeviceFault {
    let message = match error {
        SettingsError::Small { device, capacity, extent } => {
            format!("`{}` holds {capacity}, less than one `extent` of {extent}", children[*device].name)
        }
        error => error.to_string(),
    };
    DeviceFault::new(message).at(error.key()).with_hint(error.hint())
}

/// Keys of policies that have a weight for each child, within the policy's table.
const WEIGHTS: [&str; 2] = ["weights", "rest.weights"];

/// Keys of policies that say which ranges belong to which child.
const RANGES: [&str; 2] = ["ranges", "map"];

/// The value of the dotted `key` of a policy, or nothing.
fn option<'a>(policy: &'a PolicySettings, key: &str) -> Option<&'a serde_json::Value> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let value = policy.options.get(first)?;
    if rest.is_empty() { Some(value) } else { value.get(rest) }
}

/// Leaves the first `children` weights: devices that join have no weight of their own.
fn truncate_weights(policy: &mut PolicySettings, children: usize) {
    for key in WEIGHTS {
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        let value = policy.options.get_mut(first);
        let value = if rest.is_empty() { value } else { value.and_then(|value| value.get_mut(rest)) };
        if let Some(serde_json::Value::Array(weights)) = value {
            weights.truncate(children);
        }
    }
}

impl HybridSettings {
    /// A hybrid of `children` with this policy, and the default of every other key.
    pub fn new<'a>(children: impl IntoIterator<Item = &'a str>, policy: PolicySettings) -> Self {
        Self {
            children: children.into_iter().map(str::to_string).collect(),
            policy,
            extent: default_extent(),
            capacity: None,
            reserve: None,
            allocate: Allocate::default(),
            cached_extents: 0,
            journal: false,
            keeps_map: Vec::new(),
            background: BackgroundSettings::default(),
            limits: Vec::new(),
            queue_depth: None,
        }
    }

    fn device(
        &self,
        engine: impl Engine + 'static,
        instance: Instance,
        joining: VecDeque<Bytes>,
    ) -> Box<dyn Reporting> {
        let device = EngineDevice::new(KIND.name, engine, instance, self.queue_depth).with_joining(joining);
        Box::new(if self.journal { device.with_journal(&self.keeps_map) } else { device })
    }

    /// Checks that a journal is kept by children that there are.
    fn check_keepers(&self) -> Result<(), DeviceFault> {
        if !self.keeps_map.is_empty() && !self.journal {
            let fault = DeviceFault::new("`keeps_map` says which children keep the journal, and there is none");
            return Err(fault
                .at(["keeps_map"])
                .with_hint(Some("set journal = true, or leave keeps_map out".to_string())));
        }
        match self.keeps_map.iter().position(|name| !self.children.contains(name)) {
            Some(index) => {
                let message = format!("`{}` is none of the children", self.keeps_map[index]);
                let hint = format!("they are {}", self.children.join(", "));
                Err(DeviceFault::new(message).at([format!("keeps_map[{index}]")]).with_hint(Some(hint)))
            }
            None => Ok(()),
        }
    }

    /// Returns the share of each child that the settings use.
    fn used(&self) -> Ratio {
        self.reserve.unwrap_or(Ratio::ZERO).complement()
    }

    /// Returns how much the settings use of a child with this capacity.
    fn part(&self, capacity: Bytes) -> Bytes {
        let extents = capacity.0.checked_div(self.extent.0).unwrap_or(capacity.0);
        self.reserve.map_or(capacity, |_| Bytes(self.used().of(extents) * self.extent.0))
    }

    /// Builds the engine over `children`, with no extent placed yet.
    pub fn engine(&self, children: &[Child]) -> Result<PlacementEngine, DeviceFault> {
        if self.used() == Ratio::ZERO {
            let fault = DeviceFault::new("`reserve` is the whole of each child; it has to be less than 100%");
            return Err(fault.at(["reserve"]));
        }
        let is_small = |child: &&Child| {
            let capacity = child.device.capacity();
            self.part(capacity) < self.extent && capacity >= self.extent
        };
        if let Some(child) = children.iter().find(is_small) {
            let (capacity, reserve) = (child.device.capacity(), self.used().complement());
            let message = format!("`reserve` leaves less than one `extent` of {} of `{}`", self.extent, child.name);
            let hint = format!("it has {capacity}, of which {reserve} are kept free: take a smaller part");
            return Err(DeviceFault::new(message).at(["reserve"]).with_hint(Some(hint)));
        }
        let devices: Vec<Bytes> = children.iter().map(|child| child.device.capacity()).collect();
        let mut policy = self.policy.clone();
        truncate_weights(&mut policy, children.len());
        let settings =
            PlacementSettings { extent: self.extent, devices, policy, policies: &HYBRID_POLICIES, free_on_trim: false };
        let mut engine = PlacementEngine::new(&settings).map_err(|error| fault_of(&error, children))?;
        engine.offer_beside(self.capacity, self.reserve).map_err(|error| fault_of(&error, children))?;
        Ok(engine)
    }

    /// The error for shares that do not fit the devices.
    fn unmet(&self, unmet: &UnmetShare, capacities: &[Bytes], offered: Bytes) -> DeviceFault {
        let given = |key: &&str| option(&self.policy, key).is_some_and(|value| *value != serde_json::json!([]));
        let keys: Vec<&str> = RANGES.into_iter().chain(WEIGHTS).filter(given).collect();
        let quoted = |key: &&str| match option(&self.policy, key) {
            Some(value) if !RANGES.contains(key) => format!("`policy.{key}` {value}"),
            _ => format!("`policy.{key}`"),
        };
        let asked: Vec<String> = keys.iter().map(quoted).collect();
        let device = &self.children[unmet.device.0 as usize];
        let holds = |(name, capacity): (&String, &Bytes)| format!("`{name}` {capacity}");
        let holds: Vec<String> = self.children.iter().zip(capacities).map(holds).collect();
        let reserved = match self.reserve {
            Some(reserve) => format!(", {reserve} of it in reserve"),
            None => String::new(),
        };
        let bytes = |extents: u32| Bytes(u64::from(extents) * self.extent.0);
        let message = format!(
            "{} cannot be met: of {offered} they put {} on `{device}`, which has room for {} (the devices hold: \
             {}{reserved})",
            asked.join(" and "),
            bytes(unmet.wanted),
            bytes(unmet.holds),
            holds.join(", "),
        );
        let fitting = match unmet.fitting {
            Bytes::ZERO => String::new(),
            fitting => format!("`capacity = \"{fitting}\"` or less would do, "),
        };
        let instead = match keys.last() {
            Some(&"ranges") => "shorter `ranges`",
            Some(&"map") => "shorter ranges",
            _ => "`weights` in proportion to what the devices hold",
        };
        let keys = keys.iter().rev().map(|key| format!("policy.{key}"));
        DeviceFault::new(message).at(keys).with_hint(Some(format!("{fitting}or {instead}")))
    }
}

#[cfg(test)]
mod tests;
