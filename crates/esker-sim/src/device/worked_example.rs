//! A device at the far end of a wire: requests take a fixed time to reach it.

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;
use esker_core::{
    Bytes, Change, ChangeError, Children, Completion, Control, Device, Nanos, Request, Tag, Telemetry, Unsupported,
};
use esker_results::{DeviceReport, Report, Reporting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `wire` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "wire",
    summary: "A device at the far end of a wire",
    source: "none: an example",
    parameters: ParameterSource::Schema(schema_of::<WireSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<WireSettings>(table),
        example: "[device.far]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"1GiB\"\n\n\
                  [device.example]\nkind = \"wire\"\nchild = \"far\"\ndelay = \"20us\"\n",
    },
};

/// Settings of a [`Wire`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireSettings {
    /// The device at its far end.
    child: String,
    /// Time that a request takes to reach it.
    delay: Nanos,
}

impl DeviceSettings for WireSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn children(&self) -> Vec<ChildName> {
        vec![ChildName { key: "child".to_string(), device: self.child.clone(), count: None }]
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        if self.delay > Nanos::from_secs(60) {
            let message = format!("`delay` is {}, longer than a minute", self.delay);
            return Err(DeviceFault::new(message).at(["delay"]));
        }
        let children = Children::new(instance.children.into_iter().map(|child| child.device).collect());
        let slots = children.slots();
        let (on_the_way, ended) = (VecDeque::new(), Vec::new());
        Ok(Box::new(Wire { name: instance.name, delay: self.delay, children, slots, on_the_way, ended, requests: 0 }))
    }
}

struct Wire {
    name: String,
    delay: Nanos,
    /// One child. Its requests carry the tag of the original request.
    children: Children<dyn Reporting, Tag>,
    /// Free slots.
    slots: usize,
    /// Requests on the wire, in order of arrival at the far end.
    on_the_way: VecDeque<(Nanos, Tag, Request)>,
    /// Kept to reuse the allocation.
    ended: Vec<(Tag, Completion)>,
    requests: u64,
}

impl Device for Wire {
    fn capacity(&self) -> Bytes {
        self.children.device(0).capacity()
    }

    fn free_slots(&self) -> usize {
        self.slots
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(self.slots > 0, "the queue is full");
        assert!(now <= self.next_event(), "an event was skipped");
        self.slots -= 1;
        self.on_the_way.push_back((now + self.delay, tag, request));
    }

    fn next_event(&self) -> Nanos {
        let arrival = self.on_the_way.front().map_or(Nanos::NEVER, |(at, _, _)| *at);
        arrival.min(self.children.next_event())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        // At any time, a device's own events come before arrivals.
        if self.children.next_event() == now {
            self.children.advance(now, &mut self.ended);
            self.slots += self.ended.len();
            self.requests += self.ended.len() as u64;
            done.extend(self.ended.drain(..).map(|(tag, completion)| Completion { tag, ..completion }));
        } else {
            let (_, tag, request) = self.on_the_way.pop_front().expect("a request arrives");
            self.children.submit(now, 0, tag, request);
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        if command == Control::StartMeasuring {
            self.requests = 0;
        }
        self.children.control(now, command)
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        self.children.change(now, device, change)
    }

    fn telemetry(&self) -> Telemetry {
        let telemetry = self.children.telemetry();
        Telemetry { queued: telemetry.queued + self.on_the_way.len(), ..telemetry }
    }
}

impl Reporting for Wire {
    fn report(&self, into: &mut Report) {
        self.children.iter().for_each(|(device, _)| device.report(into));
        into.add(
            &self.name,
            DeviceReport {
                kind: KIND.name.to_string(),
                capacity_bytes: self.capacity().0,
                requests: self.requests,
                ..DeviceReport::default()
            },
        );
    }
}
