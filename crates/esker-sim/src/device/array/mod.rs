//! Arrays: one device over several, by RAID level.

mod raid0;

use std::fmt;

use esker_core::{
    Bytes, Completion, Control, Device, DeviceError, Nanos, Request, RequestKind, Tag, TagSlab, Telemetry, Unsupported,
};
use esker_results::{ChildReport, DeviceReport, Report, Reporting};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::children::Children;
use super::{ChildName, DeviceFault, DeviceKind, DeviceSettings, Instance, read_settings, schema_of};

pub(crate) use raid0::Stripes;

/// The `array` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "array",
    summary: "Several devices as one, by RAID level",
    presets: || &[],
    read: |table| read_settings::<ArraySettings>(table),
    schema: schema_of::<ArraySettings>,
};

/// How an array lays data over its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Level {
    /// RAID-0: stripe units over the children in turns, without redundancy.
    #[serde(rename = "0")]
    Raid0,
}

/// A level as people write it: `"0"`, `0`, `"raid0"`, `"RAID-0"`.
fn read_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Level;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a RAID level, which is \"0\"")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Level, E> {
            let lower = text.to_lowercase();
            match lower.trim_start_matches("raid").trim_start_matches(['-', ' ']) {
                "0" => Ok(Level::Raid0),
                _ => {
                    Err(E::custom(format!("there is no array of level `{text}`: the one level is \"0\", stripes only")))
                }
            }
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Level, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Level, E> {
            self.visit_str(&value.to_string())
        }
    }
    deserializer.deserialize_any(Text)
}

/// Settings of an [`Array`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArraySettings {
    /// RAID level.
    #[serde(deserialize_with = "read_level")]
    pub level: Level,
    /// The devices it is made of, each described by a table of its own. Or instead: `child` and `count`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
    /// The device table that describes all of its devices alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// How many devices of `child` there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Bytes that lie on one child before the next has its turn: whole sectors.
    #[serde(default = "default_stripe")]
    pub stripe: Bytes,
    /// Requests under way at most (default: what the children take together).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

const fn default_stripe() -> Bytes {
    Bytes::kib(64)
}

impl DeviceSettings for ArraySettings {
    fn children(&self) -> Vec<ChildName> {
        let named = self.children.iter().enumerate();
        let named = named.map(|(index, device)| ChildName {
            key: format!("children[{index}]"),
            device: device.clone(),
            count: None,
        });
        let template = self.child.iter().map(|device| ChildName {
            key: "child".to_string(),
            device: device.clone(),
            count: Some(self.count.unwrap_or(1)),
        });
        named.chain(template).collect()
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        match (self.children.is_empty(), &self.child, self.count) {
            (false, None, None) | (true, Some(_), Some(1..)) => {}
            (true, Some(_), None) => return Err(DeviceFault::new("`child` needs a `count`")),
            (true, Some(_), Some(0)) => return Err(DeviceFault::new("`count` is 0; an array has at least one child")),
            (_, None, Some(_)) => return Err(DeviceFault::new("`count` goes with `child`, not with `children`")),
            (false, Some(_), _) => return Err(DeviceFault::new("`children` and `child` exclude each other")),
            (true, None, None) => {
                return Err(DeviceFault::new("it has no devices: give `children`, or `child` and `count`"));
            }
        }
        if self.queue_depth == Some(0) {
            return Err(DeviceFault::new("`queue_depth` is 0; an array takes at least one request"));
        }
        let smallest = instance.children.iter().map(|child| child.device.capacity()).min().unwrap_or_default();
        let stripes = Stripes::new(instance.children.len() as u64, self.stripe, smallest)?;
        Ok(Box::new(Array::new(stripes, self.queue_depth, instance)))
    }
}

/// A RAID-0 array. Each request becomes at most one request per child (the parts of a request on one child are
/// contiguous there), and ends when the last of them has, with the first error by address.
pub struct Array {
    name: String,
    stripes: Stripes,
    children: Children<Part>,
    parents: TagSlab<Parent>,
    queue_depth: usize,
    /// Requests that ended without a child's help, due at `immediate_at`.
    immediate: Vec<(Tag, Result<(), DeviceError>)>,
    immediate_at: Nanos,
    ended: Vec<(Part, Completion)>,
    last_event: Nanos,
    requests: u64,
}

/// Which request a child's request belongs to, and where the child's part begins in it.
#[derive(Clone, Copy)]
struct Part {
    parent: Tag,
    offset: u64,
}

struct Parent {
    tag: Tag,
    parts: u32,
    service_start: Nanos,
    error: Option<(u64, DeviceError)>,
}

impl Array {
    fn new(stripes: Stripes, queue_depth: Option<u32>, instance: Instance) -> Self {
        let slots = instance.children.iter().map(|child| child.device.free_slots());
        let slots = slots.fold(0usize, usize::saturating_add);
        Self {
            name: instance.name,
            stripes,
            queue_depth: queue_depth.map_or(slots, |depth| depth as usize),
            children: Children::new(instance.children),
            parents: TagSlab::default(),
            immediate: Vec::new(),
            immediate_at: Nanos::NEVER,
            ended: Vec::new(),
            last_event: Nanos::ZERO,
            requests: 0,
        }
    }

    fn end_at_once(&mut self, now: Nanos, tag: Tag, result: Result<(), DeviceError>) {
        self.immediate.push((tag, result));
        self.immediate_at = now;
    }
}

impl Device for Array {
    fn capacity(&self) -> Bytes {
        self.stripes.capacity()
    }

    fn free_slots(&self) -> usize {
        self.queue_depth - self.parents.len() - self.immediate.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        assert!(self.free_slots() > 0, "the queue is full");
        self.last_event = now;
        if request.end_byte() > self.capacity().0 {
            let error = DeviceError::OutOfRange { end: request.end_byte(), capacity: self.capacity() };
            return self.end_at_once(now, tag, Err(error));
        }
        let flush = request.kind == RequestKind::Flush;
        if request.length == Bytes::ZERO && !flush {
            return self.end_at_once(now, tag, Ok(()));
        }
        let parent = Parent { tag, parts: 0, service_start: Nanos::NEVER, error: None };
        let parent = self.parents.insert(parent);
        let mut parts = 0;
        if flush {
            for child in 0..self.children.len() {
                self.children.submit(now, child, Part { parent, offset: child as u64 }, request);
                parts += 1;
            }
        } else {
            for piece in self.stripes.split(request.start.byte_offset(), request.length.0) {
                let child_request = Request { start: piece.start, length: piece.length, ..request };
                self.children.submit(now, piece.child, Part { parent, offset: piece.offset }, child_request);
                parts += 1;
            }
        }
        self.parents.get_mut(parent).parts = parts;
    }

    #[inline]
    fn next_event(&self) -> Nanos {
        self.children.next_event().min(self.immediate_at)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        if self.immediate_at == now {
            self.immediate_at = Nanos::NEVER;
            self.requests += self.immediate.len() as u64;
            for (tag, result) in self.immediate.drain(..) {
                done.push(Completion { tag, at: now, service_start: now, result });
            }
            return;
        }
        self.children.advance(now, &mut self.ended);
        for (part, completion) in self.ended.drain(..) {
            let parent = self.parents.get_mut(part.parent);
            parent.parts -= 1;
            parent.service_start = parent.service_start.min(completion.service_start);
            if let Err(error) = completion.result
                && parent.error.is_none_or(|(offset, _)| part.offset < offset)
            {
                parent.error = Some((part.offset, error));
            }
            if parent.parts == 0 {
                let Parent { tag, service_start, error, .. } = self.parents.remove(part.parent);
                let result = error.map_or(Ok(()), |(_, error)| Err(error));
                done.push(Completion { tag, at: now, service_start, result });
                self.requests += 1;
            }
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        if command == Control::StartMeasuring {
            self.requests = 0;
        }
        self.children.control(now, command)
    }

    fn telemetry(&self) -> Telemetry {
        Telemetry { queued: self.parents.len() + self.immediate.len(), ..self.children.telemetry() }
    }
}

impl Reporting for Array {
    fn report(&self, into: &mut Report) {
        let children = self.children.report(into);
        into.add(&self.name, composite_report(KIND.name, self.capacity(), self.requests, children));
    }
}

/// The report of a composite device; how busy its parts were stands with each child.
pub(crate) fn composite_report(
    kind: &str,
    capacity: Bytes,
    requests: u64,
    children: Vec<(String, u64)>,
) -> DeviceReport {
    let total = children.iter().map(|(_, requests)| requests).sum::<u64>().max(1) as f64;
    let share = |requests| ChildReport { share: requests as f64 / total, requests };
    DeviceReport {
        kind: kind.to_string(),
        capacity_bytes: capacity.0,
        requests,
        children: children.into_iter().map(|(name, requests)| (name, share(requests))).collect(),
        ..DeviceReport::default()
    }
}

#[cfg(test)]
mod tests;
