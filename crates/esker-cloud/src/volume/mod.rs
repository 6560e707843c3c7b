//! The volume as a device.

mod balance;
mod flushes;
mod gates;

use std::collections::VecDeque;

use esker_core::{
    BusyTime, Bytes, Completion, Control, Device, DeviceError, DeviceState, EventQueue, Nanos, Request, RequestKind,
    ResourceKind, Rng, Tag, Telemetry, Unsupported,
};
use esker_results::{CloudVolumeReport, DeviceReport, Report, Reporting};

use self::flushes::Flushes;
use self::gates::{Gates, Tokens};
use crate::{CloudError, CloudVolumeSettings, Cost, Counter, Limits, LogNormal, limits};

/// A block volume of a cloud provider.
///
/// The way of a request: it is counted, waits until every limit has tokens for it, and then takes a time drawn from the
/// distribution of latencies. Where the type has one for merged requests, a request that shares the unit of the one
/// before it takes a time drawn from that, but ends no earlier than the request that began the unit. Requests pass the
/// limits in the order in which they came, and may end in any order.
///
/// - **Reads and writes** count in operations and in bytes. A range of zeroes counts as a write.
/// - **Flushes** count nothing: what such a volume has acknowledged is durable. A flush ends with the last of the
///   writes that came before it, at once if there are none.
/// - **Trims** count nothing and end at once.
/// - **Priorities and streams** are ignored.
#[derive(Debug)]
pub struct CloudVolume {
    name: String,
    capacity: Bytes,
    queue_depth: u32,
    limits: Limits,
    counter: Counter,
    gates: Gates,
    read: LogNormal,
    write: LogNormal,
    merged: Option<LogNormal>,
    /// When the last request ends that began a unit: of reads, and of writes.
    unit_ends: [Nanos; 2],
    rng: Rng,
    /// Requests that wait for tokens, in the order of their arrival.
    waiting: VecDeque<Waiting>,
    /// Since when the first of `waiting` has been the first, and when it passes the limits.
    head_since: Nanos,
    head_passes: Nanos,
    /// Completions by time.
    ending: EventQueue<Ending>,
    flushes: Flushes,
    in_flight: u32,
    /// Numbers writes and flushes in the order of arrival.
    sequence: u64,
    next_event: Nanos,
    measured: Measured,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: Tag,
    submitted: Nanos,
    cost: Cost,
    /// The number of a write; `None` for a read.
    write: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    tag: Tag,
    service_start: Nanos,
    result: Result<(), DeviceError>,
    write: Option<u64>,
}

/// Counters since measuring started.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    now: Nanos,
    requests: u64,
    cost: Cost,
    throttled: u64,
}

impl CloudVolume {
    /// A volume called `name` in reports, idle, with full buckets, at time zero. `seed` is that of its latencies.
    ///
    /// # Errors
    /// The first setting that is not possible, with what would be.
    pub fn new(name: &str, settings: &CloudVolumeSettings, seed: u64) -> Result<Self, CloudError> {
        let limits = limits(settings)?;
        Ok(Self {
            name: name.to_string(),
            capacity: Bytes(settings.size().0 / Bytes::SECTOR.0 * Bytes::SECTOR.0),
            queue_depth: settings.queue_depth,
            limits,
            counter: Counter::new(settings),
            gates: Gates::new(&limits),
            read: LogNormal::new(&settings.latency.read),
            write: LogNormal::new(&settings.latency.write),
            merged: settings.latency.merged.as_ref().map(LogNormal::new),
            unit_ends: [Nanos::ZERO; 2],
            rng: Rng::derive(seed, "latency"),
            waiting: VecDeque::new(),
            head_since: Nanos::ZERO,
            head_passes: Nanos::NEVER,
            ending: EventQueue::default(),
            flushes: Flushes::default(),
            in_flight: 0,
            sequence: 0,
            next_event: Nanos::NEVER,
            measured: Measured::default(),
        })
    }

    /// Its limits, worked out from size and orders.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Lets the requests pass for which every limit has tokens by now.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        while self.head_passes <= now
            && let Some(request) = self.waiting.pop_front()
        {
            self.gates.spend(now, &request.cost, now - self.head_since);
            if request.submitted < now {
                self.gates.held_back();
                self.measured.throttled += 1;
            }
            self.measured.cost.operations += request.cost.operations;
            self.measured.cost.bytes += request.cost.bytes;
            let ends = self.ends(now, &request);
            let ending = Ending { tag: request.tag, service_start: now, result: Ok(()), write: request.write };
            self.ending.schedule(ends, ending);
            self.find_head(now);
        }
    }

    /// Works out when a request ends that passes now.
    #[inline]
    fn ends(&mut self, now: Nanos, request: &Waiting) -> Nanos {
        let write = request.write.is_some();
        let unit_ends = &mut self.unit_ends[usize::from(write)];
        match &self.merged {
            Some(merged) if request.cost.operations == 0 => (now + merged.draw(&mut self.rng)).max(*unit_ends),
            _ => {
                *unit_ends = now + (if write { &self.write } else { &self.read }).draw(&mut self.rng);
                *unit_ends
            }
        }
    }

    /// Works out when the first waiting request passes.
    #[inline]
    fn find_head(&mut self, now: Nanos) {
        self.head_since = now;
        self.head_passes = match self.waiting.front() {
            Some(request) => self.gates.ready(now, &request.cost),
            None => Nanos::NEVER,
        };
    }

    fn end_at_once(&mut self, now: Nanos, tag: Tag, result: Result<(), DeviceError>) {
        self.ending.schedule(now, Ending { tag, service_start: now, result, write: None });
    }

    /// An error if `request` does not lie within the volume.
    fn within(&self, request: &Request) -> Result<(), DeviceError> {
        let end = request.start.0.checked_mul(Bytes::SECTOR.0).and_then(|start| start.checked_add(request.length.0));
        match end {
            Some(end) if end <= self.capacity.0 => Ok(()),
            end => Err(DeviceError::OutOfRange { end: end.unwrap_or(u64::MAX), capacity: self.capacity }),
        }
    }

    #[inline]
    fn clock(&mut self, now: Nanos) {
        self.measured.now = now;
        self.gates.clock(now);
    }
}

impl Device for CloudVolume {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn free_slots(&self) -> usize {
        (self.queue_depth - self.in_flight) as usize
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(self.in_flight < self.queue_depth, "a request more than {} holds", self.name);
        assert!(now <= self.next_event, "an event of {} at {} was skipped at {now}", self.name, self.next_event);
        self.clock(now);
        self.in_flight += 1;
        let number = self.sequence;
        self.sequence += 1;
        match (request.kind, self.within(&request)) {
            (RequestKind::Flush, _) => {
                if !self.flushes.waits(now, tag, number) {
                    self.end_at_once(now, tag, Ok(()));
                }
            }
            (RequestKind::Read | RequestKind::Write { .. } | RequestKind::WriteZeroes { .. }, Ok(()))
                if request.length > Bytes::ZERO =>
            {
                let write = request.kind.is_write().then_some(number);
                if write.is_some() {
                    self.flushes.write_begins();
                }
                let cost = self.counter.count(&request);
                self.waiting.push_back(Waiting { tag, submitted: now, cost, write });
                if self.waiting.len() == 1 {
                    self.find_head(now);
                    self.pass(now);
                }
            }
            // Trims, requests of no bytes and requests beyond the end.
            (_, result) => self.end_at_once(now, tag, result),
        }
        self.next_event = self.head_passes.min(self.ending.next());
    }

    fn next_event(&self) -> Nanos {
        self.next_event
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert_eq!(now, self.next_event, "{} has no event now", self.name);
        self.clock(now);
        self.pass(now);
        let before = done.len();
        while let Some((at, Ending { tag, service_start, result, write })) = self.ending.pop_due(now) {
            done.push(Completion { tag, at, service_start, result });
            if let Some(number) = write {
                self.flushes.write_ends(number);
            }
        }
        while let Some((tag, submitted)) = self.flushes.pop_ended() {
            done.push(Completion { tag, at: now, service_start: submitted, result: Ok(()) });
        }
        let ended = done.len() - before;
        self.in_flight -= ended as u32;
        self.measured.requests += ended as u64;
        self.next_event = self.head_passes.min(self.ending.next());
    }

    /// Data have no influence on its times, so preconditioning does nothing. Measuring leaves credits as they are.
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::Precondition(_) | Control::RecordTimeline(_) => Ok(()),
            Control::StartMeasuring => {
                self.measured = Measured { now, ..Measured::default() };
                self.gates.start_measuring(now);
                Ok(())
            }
            Control::PauseWearLevelling(_) => Err(Unsupported("wear-levelling")),
        }
    }

    /// The busy time of a limit is the time in which it fills the tokens that were spent.
    fn telemetry(&self) -> Telemetry {
        let busy = |kind, tokens| {
            let busy = self.gates.busy(tokens);
            BusyTime { kind, count: 1, busy, busiest: busy }
        };
        Telemetry {
            state: DeviceState::Online,
            queued: self.in_flight as usize,
            busy: vec![
                busy(ResourceKind::Operations, Tokens::Operations),
                busy(ResourceKind::Throughput, Tokens::Bytes),
            ],
            ..Telemetry::default()
        }
    }
}

impl Reporting for CloudVolume {
    fn report(&self, into: &mut Report) {
        let now = into.end(self.measured.now);
        let limits = self.gates.report(now);
        // Several limits on the same thing are not several resources: the tightest one counts.
        let utilisation = [
            ("operations".to_string(), self.gates.used(Tokens::Operations, now)),
            ("throughput".to_string(), self.gates.used(Tokens::Bytes, now)),
        ];
        into.add(
            &self.name,
            DeviceReport {
                kind: "cloud-volume".to_string(),
                capacity_bytes: self.capacity.0,
                requests: self.measured.requests,
                utilisation: utilisation.clone().into(),
                utilisation_busiest: utilisation.into(),
                cloud_volume: Some(CloudVolumeReport {
                    operations: self.measured.cost.operations,
                    counted_bytes: self.measured.cost.bytes,
                    throttled_requests: self.measured.throttled,
                    throttled_s: self.gates.held().as_secs_f64(),
                    limits,
                    credits: self.gates.credits(now),
                }),
                ..DeviceReport::default()
            },
        );
    }
}
