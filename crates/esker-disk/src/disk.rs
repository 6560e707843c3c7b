//! The disk as a device: controller, queue, arm and link.

use std::collections::VecDeque;

use esker_core::{
    BusyTime, Bytes, Completion, Control, Device, DeviceError, DeviceReport, DeviceState, DiskReport, EventQueue,
    Nanos, Report, Request, RequestKind, ResourceKind, Tag, Telemetry, Unsupported,
};

use crate::{Access, ByteRate, DiskError, DiskSettings, Mechanics, SCHEDULERS, Scheduler, Waiting};

/// A disk. A request passes the controller (requests one after another), a write's data the link, then it waits for the
/// arm in the order of the scheduler; one request at a time has the arm, until its last sector has passed. A read's data
/// follow on the link, while the arm may already serve the next. There is no cache: a write is on the medium when it
/// completes, so a flush has nothing to do but wait for writes that came before it.
pub struct Disk {
    name: String,
    capacity: Bytes,
    queue_depth: u32,
    read_overhead: Nanos,
    write_overhead: Nanos,
    bus_rate: Option<ByteRate>,
    mechanics: Mechanics,
    scheduler: Box<dyn Scheduler>,
    commands: Slots,
    /// Commands in the controller or on the link, by the time when they can have the arm.
    arriving: EventQueue<Waiting>,
    /// What ends, by time.
    ending: EventQueue<Ending>,
    flushes: VecDeque<PendingFlush>,
    controller_free: Nanos,
    /// The link, one direction each.
    link_in_free: Nanos,
    link_out_free: Nanos,
    /// End of the access under way, or of the last one.
    arm_free: Nanos,
    arm_busy: bool,
    in_flight: u32,
    writes_in_flight: u32,
    sequence: u64,
    next_event: Nanos,
    measured: Measured,
}

/// A command that needs the arm.
#[derive(Clone, Copy, Debug)]
struct Command {
    tag: Tag,
    submitted: Nanos,
    sectors: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    tag: Tag,
    service_start: Nanos,
    result: Result<(), DeviceError>,
    /// Sequence number, where it is a write.
    write: Option<u64>,
}

/// A flush that waits for the writes that came before it.
#[derive(Clone, Copy, Debug)]
struct PendingFlush {
    tag: Tag,
    submitted: Nanos,
    /// When the controller has looked at it.
    ready: Nanos,
    sequence: u64,
    writes_left: u32,
}

/// Sums since measuring started.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    since: Nanos,
    now: Nanos,
    requests: u64,
    accesses: u64,
    seeks: u64,
    cylinders: u64,
    seek: u64,
    rotation: u64,
    transfer: u64,
}

impl Disk {
    /// A disk called `name` in reports, idle, at time zero.
    ///
    /// # Errors
    /// The first setting that the model cannot represent, with what it expects.
    pub fn new(name: &str, settings: &DiskSettings) -> Result<Self, DiskError> {
        let mechanics = Mechanics::new(settings)?;
        let holds = Bytes(mechanics.geometry().sectors() * Bytes::SECTOR.0);
        let capacity = Bytes(settings.capacity.unwrap_or(holds).0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        if capacity > holds || capacity == Bytes::ZERO {
            return Err(DiskError::Capacity { capacity, holds });
        }
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        if !(1..=1 << 16).contains(&settings.queue_depth) {
            return refuse("queue_depth", "1 to 65,536", settings.queue_depth.to_string());
        }
        for (key, time) in [("read_overhead", settings.read_overhead), ("write_overhead", settings.write_overhead)] {
            if time > Nanos::from_secs(10) {
                return refuse(key, "at most 10s", time.to_string());
            }
        }
        if let Some(rate) = settings.bus_rate.filter(|rate| rate.0 < 1_000_000) {
            return refuse("bus_rate", "at least 1MB/s", rate.to_string());
        }
        let Some(scheduler) = SCHEDULERS.iter().find(|entry| entry.name == settings.scheduler) else {
            let expected = SCHEDULERS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            return Err(DiskError::Scheduler { found: settings.scheduler.clone(), expected });
        };
        Ok(Self {
            name: name.to_string(),
            capacity,
            queue_depth: settings.queue_depth,
            read_overhead: settings.read_overhead,
            write_overhead: settings.write_overhead,
            bus_rate: settings.bus_rate,
            mechanics,
            scheduler: (scheduler.build)(),
            commands: Slots::default(),
            arriving: EventQueue::default(),
            ending: EventQueue::default(),
            flushes: VecDeque::new(),
            controller_free: Nanos::ZERO,
            link_in_free: Nanos::ZERO,
            link_out_free: Nanos::ZERO,
            arm_free: Nanos::ZERO,
            arm_busy: false,
            in_flight: 0,
            writes_in_flight: 0,
            sequence: 0,
            next_event: Nanos::NEVER,
            measured: Measured::default(),
        })
    }

    /// The moving parts.
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Time of `bytes` on the link.
    #[inline]
    fn link_time(&self, bytes: u64) -> Nanos {
        self.bus_rate.map_or(Nanos::ZERO, |rate| rate.time(bytes))
    }

    /// Gives the arm to the next command, if it is free and one is ready.
    #[inline]
    fn start_next(&mut self, now: Nanos) {
        if self.arm_busy {
            return;
        }
        while let Some((_, waiting)) = self.arriving.pop_due(now) {
            self.scheduler.push(waiting);
        }
        if let Some(next) = self.scheduler.pop(now, &self.mechanics) {
            self.start(now, next);
        }
    }

    fn start(&mut self, now: Nanos, next: Waiting) {
        let command = self.commands.remove(next.slot);
        let access = self.mechanics.access(now, next.start, command.sectors, next.write);
        // What kept it from the arm was its own work, except while the arm served others.
        let service_start = command.submitted.max(self.arm_free);
        self.arm_free = now + access.total();
        self.arm_busy = true;
        self.measured.add(&access);
        let ends = if next.write { self.arm_free } else { self.data_out(&access, command.bytes) };
        let write = next.write.then_some(next.sequence);
        self.ending.schedule(ends, Ending { tag: command.tag, service_start, result: Ok(()), write });
    }

    /// When the data of a read whose access ends at `arm_free` have passed the link: behind the last sector, or later
    /// where the link is slower than the medium or still busy.
    fn data_out(&mut self, access: &Access, bytes: u64) -> Nanos {
        if self.bus_rate.is_none() {
            return self.arm_free;
        }
        let last_sector = self.arm_free + self.link_time(bytes.min(Bytes::SECTOR.0));
        let first_read = self.arm_free.saturating_sub(access.transfer) + access.sector;
        self.link_out_free = last_sector.max(first_read.max(self.link_out_free) + self.link_time(bytes));
        self.link_out_free
    }

    /// Counts a write that ended for the flushes that wait for it.
    fn write_ended(&mut self, sequence: u64, now: Nanos) {
        self.writes_in_flight -= 1;
        for flush in self.flushes.iter_mut().filter(|flush| sequence < flush.sequence) {
            flush.writes_left -= 1;
        }
        self.end_flushes(now);
    }

    /// Ends the flushes that wait for nothing more. A later one waits for all that an earlier one waits for.
    fn end_flushes(&mut self, now: Nanos) {
        while let Some(flush) = self.flushes.front().filter(|flush| flush.writes_left == 0).copied() {
            self.flushes.pop_front();
            let ending = Ending { tag: flush.tag, service_start: flush.submitted, result: Ok(()), write: None };
            self.ending.schedule(flush.ready.max(now), ending);
        }
    }

    #[inline]
    fn update_next_event(&mut self) {
        let arm = if self.arm_busy { self.arm_free } else { self.arriving.next() };
        self.next_event = arm.min(self.ending.next());
    }

    /// The sectors of `request`, if it lies within the disk.
    fn sectors(&self, request: &Request) -> Result<u64, DeviceError> {
        let sectors = request.length.sectors_ceil();
        let end = request.start.0.checked_add(sectors).and_then(|end| end.checked_mul(Bytes::SECTOR.0));
        match end {
            Some(end) if end <= self.capacity.0 => Ok(sectors),
            end => Err(DeviceError::OutOfRange { end: end.unwrap_or(u64::MAX), capacity: self.capacity }),
        }
    }
}

impl Device for Disk {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn free_slots(&self) -> usize {
        (self.queue_depth - self.in_flight) as usize
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(self.in_flight < self.queue_depth, "a request more than {} holds", self.name);
        assert!(now <= self.next_event, "an event of {} at {} was skipped at {now}", self.name, self.next_event);
        self.measured.now = now;
        self.in_flight += 1;
        let sequence = self.sequence;
        self.sequence += 1;
        let write = request.kind.is_write();
        let overhead = if write { self.write_overhead } else { self.read_overhead };
        let ready = self.controller_free.max(now) + overhead;
        self.controller_free = ready;
        match (request.kind, self.sectors(&request)) {
            (RequestKind::Flush, _) => {
                let writes_left = self.writes_in_flight;
                self.flushes.push_back(PendingFlush { tag, submitted: now, ready, sequence, writes_left });
                self.end_flushes(now);
            }
            (RequestKind::Read | RequestKind::Write { .. } | RequestKind::WriteZeroes { .. }, Ok(sectors @ 1..)) => {
                let bytes = if request.kind.has_data() { request.length.0 } else { 0 };
                let mut ready = ready;
                if write && bytes > 0 {
                    ready = ready.max(self.link_in_free) + self.link_time(bytes);
                    self.link_in_free = ready;
                }
                self.writes_in_flight += u32::from(write);
                let slot = self.commands.insert(Command { tag, submitted: now, sectors, bytes });
                let waiting = Waiting { start: request.start.0, write, sequence, slot };
                self.arriving.schedule(ready, waiting);
                self.start_next(now);
            }
            (_, inside) => {
                let ending = Ending { tag, service_start: now, result: inside.map(|_| ()), write: None };
                self.ending.schedule(ready, ending);
            }
        }
        self.update_next_event();
    }

    fn next_event(&self) -> Nanos {
        self.next_event
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert_eq!(now, self.next_event, "{} has no event now", self.name);
        self.measured.now = now;
        while let Some((at, ending)) = self.ending.pop_due(now) {
            self.in_flight -= 1;
            self.measured.requests += 1;
            if let Some(sequence) = ending.write {
                self.write_ended(sequence, now);
            }
            let Ending { tag, service_start, result, .. } = ending;
            done.push(Completion { tag, at, service_start, result });
        }
        if self.arm_busy && self.arm_free <= now {
            self.arm_busy = false;
        }
        self.start_next(now);
        self.update_next_event();
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            // Mechanics do not depend on what is written.
            Control::Precondition(_) => Ok(()),
            Control::StartMeasuring => {
                self.measured = Measured { since: now, now, ..Measured::default() };
                Ok(())
            }
            Control::PauseWearLevelling(_) => Err(Unsupported("wear-levelling")),
        }
    }

    fn telemetry(&self) -> Telemetry {
        let busy = self.measured.busy();
        Telemetry {
            state: DeviceState::Online,
            queued: self.in_flight as usize,
            busy: vec![BusyTime { kind: ResourceKind::Arm, count: 1, busy, busiest: busy }],
            ..Telemetry::default()
        }
    }

    fn report(&self, into: &mut Report) {
        let measured = &self.measured;
        let elapsed = measured.now.saturating_sub(measured.since).as_secs_f64();
        let busy = if elapsed > 0.0 { measured.busy().as_secs_f64() / elapsed } else { 0.0 };
        let utilisation = [("arm".to_string(), busy)];
        into.add(
            &self.name,
            DeviceReport {
                kind: "hdd".to_string(),
                capacity_bytes: self.capacity.0,
                requests: measured.requests,
                utilisation: utilisation.clone().into(),
                utilisation_busiest: utilisation.into(),
                disk: Some(measured.report()),
                ..DeviceReport::default()
            },
        );
    }
}

/// Commands that wait for the arm, by slot.
#[derive(Clone, Debug, Default)]
struct Slots {
    commands: Vec<Command>,
    free: Vec<u32>,
}

impl Slots {
    #[inline]
    fn insert(&mut self, command: Command) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.commands[slot as usize] = command;
            return slot;
        }
        self.commands.push(command);
        (self.commands.len() - 1) as u32
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> Command {
        self.free.push(slot);
        self.commands[slot as usize]
    }
}

impl Measured {
    #[inline]
    fn add(&mut self, access: &Access) {
        self.accesses += 1;
        self.seeks += u64::from(access.cylinders > 0);
        self.cylinders += u64::from(access.cylinders);
        self.seek += access.seek.0;
        self.rotation += access.rotation.0;
        self.transfer += access.transfer.0;
    }

    /// Busy time of the arm.
    fn busy(&self) -> Nanos {
        Nanos(self.seek + self.rotation + self.transfer)
    }

    fn report(&self) -> DiskReport {
        let per_access = |sum: u64| if self.accesses == 0 { 0.0 } else { sum as f64 / self.accesses as f64 };
        DiskReport {
            seeks: self.seeks,
            mean_seek_us: per_access(self.seek) / 1e3,
            mean_rotation_us: per_access(self.rotation) / 1e3,
            mean_transfer_us: per_access(self.transfer) / 1e3,
            mean_seek_cylinders: per_access(self.cylinders),
        }
    }
}
