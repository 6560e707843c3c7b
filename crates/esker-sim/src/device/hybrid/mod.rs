//! Hybrids: a placement engine over its devices, driven by the virtual clock.

use std::collections::VecDeque;

use esker_core::{
    Bytes, Completion, Control, Device, DeviceError, Nanos, Precondition, Ratio, Report, Request, Tag, TagSlab,
    Telemetry, Unsupported,
};
use esker_tier::{Effect, Engine, EngineSettings, Input, IoId, PlacementError, PolicySettings, UnmetShare};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use toml::de::ValueDeserializer;

use super::array::composite_report;
use super::children::Children;
use super::{ChildName, DeviceFault, DeviceKind, DeviceSettings, Instance, schema_of};

/// The `hybrid` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "hybrid",
    summary: "Devices of different kinds as one; a policy decides which extent goes where",
    presets: || &[],
    read,
    schema: schema_of::<HybridSettings>,
};

/// Settings of a hybrid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridSettings {
    /// The devices it is made of, each described by a table of its own.
    pub children: Vec<String>,
    /// Which extent goes where.
    pub policy: PolicySettings,
    /// Bytes that are placed as one: whole sectors.
    #[serde(default = "default_extent")]
    pub extent: Bytes,
    /// Bytes that the host is offered, in whole extents (default: all that the children hold). With less than they
    /// hold, a child can be larger than its share, so that shares need not be those of the capacities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Share of each child's extents that never hold data, instead of `capacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Ratio>,
    /// When extents get their places.
    #[serde(default)]
    pub allocate: Allocate,
    /// Requests under way at most (default: what the children take together).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

/// When extents get their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocate {
    /// All of them before the run, in order of address, as if the data had been there already.
    #[default]
    AtStart,
    /// Each with its first write; what was never written reads as zeroes in no time.
    OnWrite,
}

const fn default_extent() -> Bytes {
    Bytes::mib(1)
}

/// The policy's keys are its own; only it can say whether they are right.
fn read(input: ValueDeserializer<'_>) -> Result<Box<dyn DeviceSettings>, toml::de::Error> {
    let settings = HybridSettings::deserialize(input)?;
    settings.policy.build(settings.children.len()).map_err(|error| match error {
        PlacementError::Settings { message, .. } => toml::de::Error::custom(message),
        error => toml::de::Error::custom(error),
    })?;
    Ok(Box::new(settings))
}

impl DeviceSettings for HybridSettings {
    fn children(&self) -> Vec<ChildName> {
        let child = |(index, device): (usize, &String)| ChildName {
            key: format!("children[{index}]"),
            device: device.clone(),
            count: None,
        };
        self.children.iter().enumerate().map(child).collect()
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Device>, DeviceFault> {
        if self.queue_depth == Some(0) {
            return Err(DeviceFault::new("`queue_depth` is 0; a hybrid takes at least one request"));
        }
        if self.capacity.is_some() && self.reserve.is_some() {
            return Err(DeviceFault::new("`capacity` and `reserve` exclude each other; give one of them"));
        }
        let capacities = instance.children.iter().map(|child| child.device.capacity()).collect::<Vec<_>>();
        let mut device = EngineDevice::new(self, instance)?;
        if self.allocate == Allocate::AtStart {
            if let Some(unmet) = device.engine.unmet_share() {
                return Err(self.unmet(&unmet, &capacities, device.engine.capacity()));
            }
            device.engine.fill(Ratio::ONE);
        }
        Ok(Box::new(device))
    }
}

impl HybridSettings {
    /// A split that does not go into the devices.
    fn unmet(&self, unmet: &UnmetShare, capacities: &[Bytes], offered: Bytes) -> DeviceFault {
        let weights = self.policy.options.get("weights").map_or_else(String::new, ToString::to_string);
        let device = &self.children[unmet.device.0 as usize];
        let holds = |(name, capacity): (&String, &Bytes)| format!("`{name}` {capacity}");
        let holds: Vec<String> = self.children.iter().zip(capacities).map(holds).collect();
        let reserved = match self.reserve {
            Some(reserve) => format!(", {reserve} of it in reserve"),
            None => String::new(),
        };
        let bytes = |extents: u32| Bytes(u64::from(extents) * self.extent.0);
        let message = format!(
            "`policy.weights` {weights} cannot be met: of {offered} they put {} on `{device}`, which has room for {} \
             (the devices hold: {}{reserved})",
            bytes(unmet.wanted),
            bytes(unmet.holds),
            holds.join(", "),
        );
        let fitting = match unmet.fitting {
            Bytes::ZERO => String::new(),
            fitting => format!("`capacity = \"{fitting}\"` or less would do, "),
        };
        let hint = format!("{fitting}or `weights` in proportion to what the devices hold");
        DeviceFault { message, hint: Some(hint) }
    }
}

/// Called with the time of each effect, before it is performed.
pub type EffectLog = Box<dyn FnMut(Nanos, &Effect) + Send>;

/// A placement engine and its children as a device: the virtual driver's side of [`esker_tier::Engine`]. A journal is
/// not modelled: records are durable as soon as the engine asks for it.
pub struct EngineDevice {
    name: String,
    engine: Engine,
    children: Children<IoId>,
    hosts: TagSlab<Host>,
    queue_depth: usize,
    inputs: VecDeque<Input>,
    effects: Vec<Effect>,
    ended: Vec<(IoId, Completion)>,
    /// Requests that the engine answered when they came, due at `immediate_at`.
    immediate: Vec<(Tag, Result<(), DeviceError>)>,
    immediate_at: Nanos,
    wake_at: Nanos,
    last_event: Nanos,
    requests: u64,
    log: Option<EffectLog>,
}

struct Host {
    tag: Tag,
    submitted: Nanos,
    /// Of the first child I/O that was begun; never, where it waited for flushes or needed no child.
    service_start: Nanos,
}

impl EngineDevice {
    /// A hybrid in which no extent has a place yet.
    pub fn new(settings: &HybridSettings, instance: Instance) -> Result<Self, DeviceFault> {
        let used = settings.reserve.unwrap_or(Ratio::ZERO).complement();
        if used == Ratio::ZERO {
            return Err(DeviceFault::new("`reserve` is the whole of each child; it has to be less than 100%"));
        }
        let whole = |capacity: Bytes| capacity.0.checked_div(settings.extent.0).map_or(capacity.0, |extents| extents);
        let part = |capacity: Bytes| match settings.reserve {
            Some(_) => Bytes(used.of(whole(capacity)) * settings.extent.0),
            None => capacity,
        };
        let devices = instance.children.iter().map(|child| part(child.device.capacity())).collect();
        let engine_settings = EngineSettings { extent: settings.extent, devices, policy: settings.policy.clone() };
        let mut engine = Engine::new(&engine_settings).map_err(|error| DeviceFault::from_error(&error))?;
        if let Some(capacity) = settings.capacity {
            engine.offer(capacity).map_err(|error| DeviceFault::from_error(&error))?;
        }
        let slots = instance.children.iter().map(|child| child.device.free_slots());
        let slots = slots.fold(0usize, usize::saturating_add);
        Ok(Self {
            name: instance.name,
            engine,
            queue_depth: settings.queue_depth.map_or(slots, |depth| depth as usize),
            children: Children::new(instance.children),
            hosts: TagSlab::default(),
            inputs: VecDeque::new(),
            effects: Vec::new(),
            ended: Vec::new(),
            immediate: Vec::new(),
            immediate_at: Nanos::NEVER,
            wake_at: Nanos::NEVER,
            last_event: Nanos::ZERO,
            requests: 0,
            log: None,
        })
    }

    /// Tells `log` of every effect, in the order in which they are performed.
    pub fn with_log(mut self, log: EffectLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Hands the waiting inputs to the engine and performs what it asks for, until it asks for nothing
    /// more. Replies go to `immediate`.
    fn settle(&mut self, now: Nanos) {
        while let Some(input) = self.inputs.pop_front() {
            self.engine.on(now, input, &mut self.effects);
            let mut effects = std::mem::take(&mut self.effects);
            for effect in effects.drain(..) {
                if let Some(log) = &mut self.log {
                    log(now, &effect);
                }
                match effect {
                    Effect::Io { io, device, request, data: _ } => {
                        self.children.submit(now, device.0 as usize, io, request);
                    }
                    Effect::Record { .. } => {}
                    Effect::Harden { through } => self.inputs.push_back(Input::Durable { through }),
                    Effect::Reply { tag, result } => self.immediate.push((tag, result)),
                    Effect::WakeAt(at) => self.wake_at = self.wake_at.min(at),
                }
            }
            self.effects = effects;
        }
    }

    fn reply(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.immediate_at = Nanos::NEVER;
        self.requests += self.immediate.len() as u64;
        for (tag, result) in self.immediate.drain(..) {
            let Host { tag, submitted, service_start } = self.hosts.remove(tag);
            let service_start = if service_start == Nanos::NEVER { submitted } else { service_start };
            done.push(Completion { tag, at: now, service_start, result });
        }
    }
}

impl Device for EngineDevice {
    fn capacity(&self) -> Bytes {
        self.engine.capacity()
    }

    fn free_slots(&self) -> usize {
        self.queue_depth - self.hosts.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        assert!(self.free_slots() > 0, "the queue is full");
        self.last_event = now;
        let host = self.hosts.insert(Host { tag, submitted: now, service_start: Nanos::NEVER });
        self.inputs.push_back(Input::Host { tag: host, request });
        self.settle(now);
        if !self.immediate.is_empty() {
            self.immediate_at = now;
        }
    }

    #[inline]
    fn next_event(&self) -> Nanos {
        self.children.next_event().min(self.immediate_at).min(self.wake_at)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        if self.immediate_at == now {
            return self.reply(now, done);
        }
        if self.children.next_event() > now {
            self.wake_at = Nanos::NEVER;
            self.inputs.push_back(Input::Timer);
        } else {
            self.children.advance(now, &mut self.ended);
            for (io, completion) in self.ended.drain(..) {
                if let Some(host) = self.engine.host_of(io) {
                    let host = self.hosts.get_mut(host);
                    host.service_start = host.service_start.min(completion.service_start);
                }
                if completion.result.is_err() {
                    let device = self.engine.device_of(io);
                    let telemetry = self.children.device(device.0 as usize).telemetry();
                    self.inputs.push_back(Input::Device { device, telemetry });
                }
                self.inputs.push_back(Input::Done { io, result: completion.result });
            }
        }
        self.settle(now);
        self.reply(now, done);
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::StartMeasuring => self.requests = 0,
            Control::Precondition(Precondition::Filled { utilisation } | Precondition::Steady { utilisation, .. }) => {
                self.engine.fill(utilisation);
            }
            Control::Precondition(Precondition::Empty)
            | Control::RecordTimeline(_)
            | Control::PauseWearLevelling(_) => {}
        }
        self.children.control(now, command)
    }

    fn telemetry(&self) -> Telemetry {
        let children = self.children.telemetry();
        Telemetry { state: self.engine.state().max(children.state), queued: self.hosts.len(), ..children }
    }

    fn report(&self, into: &mut Report) {
        let children = self.children.report(into);
        into.add(&self.name, composite_report(KIND.name, self.capacity(), self.requests, children));
    }
}

#[cfg(test)]
mod tests;
