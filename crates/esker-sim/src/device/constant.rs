//! The constant device: every request takes the same time, or one drawn from the exponential distribution. For theory
//! and tests. Its queue is first come, first served, and ignores priorities and streams.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;
use esker_core::{
    BusyTime, Bytes, Completion, Control, Device, DeviceError, Nanos, Request, ResourceKind, Rng, Tag, Telemetry,
    Unsupported,
};
use esker_results::{DeviceReport, Report, Reporting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `constant` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "constant",
    summary: "Every request takes the same time (or an exponential one), on servers with one queue; for theory",
    source: "queueing theory: M/D/c and M/M/c",
    parameters: ParameterSource::Schema(schema_of::<ConstantSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<ConstantSettings>(table),
        example: "[device.example]\nkind = \"constant\"\nservice_time = \"100us\"\nservers = 4\ncapacity = \"16GiB\"\n",
    },
};

/// Settings of a [`Constant`] device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantSettings {
    /// Service time of any request, including flushes and trims.
    #[schemars(extend("least" = "1ns", "most" = "365d"))]
    pub service_time: Nanos,
    /// Whether requests differ in that time.
    #[serde(default, skip_serializing_if = "ServiceTimes::are_fixed")]
    pub service: ServiceTimes,
    /// Servers that share the queue.
    #[schemars(range(min = 1, max = 65_536))]
    #[serde(default = "one")]
    pub servers: u32,
    /// Bytes that the host can address.
    #[schemars(extend("least" = "512B"))]
    pub capacity: Bytes,
    /// Most requests under way, including those in service (default: 32, or one per server if that is more).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

/// How the service times of requests are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceTimes {
    /// All are `service_time`.
    #[default]
    Fixed,
    /// Exponentially, with the mean `service_time`: with Poisson arrivals it is M/M/c.
    Exponential,
}

impl ServiceTimes {
    fn are_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

/// Every server takes memory, and no real device has more.
const SERVERS_MAX: u32 = 65_536;

/// Longer than for any real device; a few hundred such requests already take longer than a run can last.
const SERVICE_TIME_MAX: Nanos = Nanos::from_secs(365 * 86_400);

const fn one() -> u32 {
    1
}

impl ConstantSettings {
    fn queue_depth(&self) -> u32 {
        self.queue_depth.unwrap_or(self.servers.max(32))
    }
}

impl DeviceSettings for ConstantSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn resolved(&self) -> serde_json::Value {
        let resolved = Self { queue_depth: Some(self.queue_depth()), ..self.clone() };
        serde_json::to_value(resolved).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        let refuse = |key: &str, message: String| Err(DeviceFault::new(message).at([key]));
        if self.service_time == Nanos::ZERO {
            return refuse("service_time", "`service_time` is zero; a request takes at least 1ns".to_string());
        }
        if self.service_time > SERVICE_TIME_MAX {
            let message = format!("`service_time` is {}, longer than {SERVICE_TIME_MAX}", self.service_time);
            return refuse("service_time", message);
        }
        if self.servers == 0 {
            return refuse("servers", "`servers` is 0; a device needs at least one".to_string());
        }
        if self.servers > SERVERS_MAX {
            return refuse("servers", format!("`servers` is {}, more than {SERVERS_MAX}", self.servers));
        }
        if self.queue_depth() < self.servers {
            let (depth, servers) = (self.queue_depth(), self.servers);
            let message =
                format!("`queue_depth` is {depth}, less than its {servers} servers, so some could never work");
            return refuse("queue_depth", message);
        }
        if self.capacity < Bytes::SECTOR {
            let message = format!("`capacity` is {}, less than one sector of 512B", self.capacity);
            return refuse("capacity", message);
        }
        Ok(Box::new(Constant::new(&instance.name, self).with_seed(instance.seed)))
    }
}

/// A first-in-first-out station of equal servers: D or M in Kendall's notation. Flushes and trims occupy a server like
/// any other request. A request beyond the capacity fails at once, without a server. Priorities and streams are
/// ignored.
#[derive(Debug)]
pub struct Constant {
    name: String,
    service_time: Nanos,
    /// Draws service times; `None` if all are equal.
    rng: Option<Rng>,
    capacity: Bytes,
    queue_depth: usize,
    /// In order of completion; with equal service times that is the order of submission.
    jobs: VecDeque<Job>,
    /// With equal service times: how many of `jobs`, from the front, have begun.
    started: usize,
    /// When each server's last job ends. With equal service times, first in, first out, they become free in turn.
    free_at: Vec<Nanos>,
    /// With equal service times: the server that becomes free next.
    turn: usize,
    /// Requests that failed on submission, due at `failed_at`.
    failed: Vec<(Tag, DeviceError)>,
    failed_at: Nanos,
    busy: Vec<Nanos>,
    measured_from: Nanos,
    last_event: Nanos,
    ended: u64,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    tag: Tag,
    start: Nanos,
    end: Nanos,
    server: usize,
}

impl Constant {
    /// A device called `name`. Panics on invalid settings; configurations are checked earlier.
    pub fn new(name: &str, settings: &ConstantSettings) -> Self {
        assert!(settings.service_time > Nanos::ZERO && settings.servers > 0);
        Self {
            name: name.to_string(),
            service_time: settings.service_time,
            rng: (!settings.service.are_fixed()).then(|| Rng::new(0)),
            capacity: settings.capacity,
            queue_depth: settings.queue_depth() as usize,
            jobs: VecDeque::new(),
            started: 0,
            free_at: vec![Nanos::ZERO; settings.servers as usize],
            turn: 0,
            failed: Vec::new(),
            failed_at: Nanos::NEVER,
            busy: vec![Nanos::ZERO; settings.servers as usize],
            measured_from: Nanos::ZERO,
            last_event: Nanos::ZERO,
            ended: 0,
        }
    }

    /// Draws service times with another seed, if they differ.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.rng = self.rng.map(|_| Rng::derive(seed, &self.name));
        self
    }

    /// The server for the next request, and how long it takes there.
    #[inline]
    fn draw(&mut self) -> (usize, Nanos) {
        match &mut self.rng {
            None => {
                let server = self.turn;
                // A remainder would take longer than all the rest of a request here.
                self.turn = if server + 1 == self.free_at.len() { 0 } else { server + 1 };
                (server, self.service_time)
            }
            Some(rng) => {
                let first_free = (0..self.free_at.len()).min_by_key(|&server| self.free_at[server]);
                let time = Nanos((rng.exponential(self.service_time.0 as f64) as u64).max(1));
                (first_free.expect("there are servers"), time)
            }
        }
    }

    /// Returns the busy time of each server until `end`. Of requests under way, only what has been done counts.
    fn busy_until(&self, end: Nanos) -> Vec<Nanos> {
        let mut busy = self.busy.clone();
        match self.rng {
            None => {
                for job in self.jobs.iter().take(self.started) {
                    busy[job.server] = busy[job.server].saturating_sub(job.end.saturating_sub(end));
                }
            }
            // These count when they end.
            Some(_) => {
                for job in &self.jobs {
                    busy[job.server] += end.min(job.end).saturating_sub(job.start.max(self.measured_from));
                }
            }
        }
        busy
    }

    fn begin_due(&mut self, now: Nanos) {
        if self.rng.is_some() {
            return;
        }
        // A request may come at the same time at which another one ends, before that end is reported.
        while self.started < self.free_at.len()
            && let Some(job) = self.jobs.get(self.started).filter(|job| job.start == now)
        {
            self.busy[job.server] += self.service_time;
            self.started += 1;
        }
    }
}

impl Device for Constant {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn free_slots(&self) -> usize {
        self.queue_depth - self.jobs.len() - self.failed.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        assert!(self.free_slots() > 0, "the queue is full");
        self.last_event = now;
        if request.end_byte() > self.capacity.0 {
            self.failed.push((tag, DeviceError::OutOfRange { end: request.end_byte(), capacity: self.capacity }));
            self.failed_at = now;
            return;
        }
        let (server, time) = self.draw();
        let start = self.free_at[server].max(now);
        let end = start + time;
        self.free_at[server] = end;
        // With equal service times, nobody ends before those who came earlier.
        if self.jobs.back().is_none_or(|last| last.end <= end) {
            self.jobs.push_back(Job { tag, start, end, server });
        } else {
            let position = self.jobs.iter().rposition(|job| job.end <= end).map_or(0, |before| before + 1);
            self.jobs.insert(position, Job { tag, start, end, server });
        }
        self.begin_due(now);
    }

    fn next_event(&self) -> Nanos {
        self.failed_at.min(self.jobs.front().map_or(Nanos::NEVER, |job| job.end))
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        self.ended += self.failed.len() as u64;
        for (tag, error) in self.failed.drain(..) {
            done.push(Completion { tag, at: now, service_start: now, result: Err(error) });
        }
        self.failed_at = Nanos::NEVER;
        while let Some(job) = self.jobs.pop_front_if(|job| job.end == now) {
            done.push(Completion { tag: job.tag, at: now, service_start: job.start, result: Ok(()) });
            match self.rng {
                None => self.started -= 1,
                Some(_) => self.busy[job.server] += job.end - job.start.max(self.measured_from),
            }
            self.ended += 1;
        }
        self.begin_due(now);
    }

    /// Data have no influence on its times, so preconditioning does nothing.
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::Precondition(_) => {}
            Control::StartMeasuring => {
                self.busy.fill(Nanos::ZERO);
                // Of requests under way, such as copies in the background, the rest of their time counts.
                for job in self.jobs.iter().take(self.started) {
                    self.busy[job.server] += job.end.saturating_sub(now);
                }
                self.ended = 0;
                self.measured_from = now;
            }
            Control::RecordTimeline(_) => {}
            Control::PauseWearLevelling(_) => return Err(Unsupported("wear-levelling")),
        }
        Ok(())
    }

    fn telemetry(&self) -> Telemetry {
        let busy = BusyTime {
            kind: ResourceKind::Server,
            count: self.busy.len() as u32,
            busy: self.busy.iter().fold(Nanos::ZERO, |sum, &busy| sum + busy),
            busiest: self.busy.iter().copied().max().unwrap_or_default(),
        };
        Telemetry { queued: self.jobs.len() + self.failed.len(), busy: vec![busy], ..Telemetry::default() }
    }
}

impl Reporting for Constant {
    fn report(&self, into: &mut Report) {
        let elapsed = into.end(self.last_event).saturating_sub(self.measured_from);
        let mut report = DeviceReport {
            kind: KIND.name.to_string(),
            capacity_bytes: self.capacity.0,
            requests: self.ended,
            ..DeviceReport::default()
        };
        if elapsed > Nanos::ZERO {
            let busy = self.busy_until(self.measured_from + elapsed);
            let (sum, busiest) = busy.iter().fold((0, 0), |(sum, most), busy| (sum + busy.0, busy.0.max(most)));
            let share = |busy: u64, of: usize| busy as f64 / (elapsed.0 as f64 * of as f64);
            report.utilisation.insert("server".to_string(), share(sum, busy.len()));
            report.utilisation_busiest.insert("server".to_string(), share(busiest, 1));
        }
        into.add(&self.name, report);
    }
}
