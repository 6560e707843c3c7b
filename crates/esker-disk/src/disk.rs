//! The disk as a device: controller, queue, arm, buffer and link.

mod by_firmware;
mod destaging;
mod flushes;
mod link;
mod measured;
mod spindle;
mod timeline;

use esker_core::registry;
use esker_core::{
    BusyTime, Bytes, Completion, Control, Device, DeviceError, DeviceState, EventQueue, Nanos, Priority, Request,
    RequestKind, ResourceKind, Stretch, Tag, Telemetry, Unsupported, WaitingLine,
};
use esker_results::{Report, Reporting};

use self::by_firmware::Controller;
use self::destaging::Destaging;
use self::flushes::{Flush, Flushes};
use self::link::Link;
use self::measured::Measured;
pub(crate) use self::measured::report_of;
use self::spindle::Spindle;
use self::timeline::Timeline;
use crate::cache::Cache;
use crate::scheduler::ByPriority;
use crate::split::sectors_of;
use crate::{Access, DiskError, DiskSettings, Mechanics, SCHEDULERS, Waiting};

/// A disk with one arm.
///
/// A request goes to the controller, which takes one after another. Then it waits for the arm, in the order of the
/// scheduler, user requests before background ones. One request at a time has the arm, until its last sector has
/// passed.
///
/// - **Writes** receive their data over the link meanwhile; the head waits for the data if necessary.
/// - **Reads** send their data over the link afterwards, while the arm may already serve the next request.
/// - **With a buffer** reads may be answered from it, and writes may complete in it. Without one a write is on the
///   medium when it completes.
/// - **Flushes** complete when all earlier writes are on the medium.
pub struct Disk {
    name: String,
    capacity: Bytes,
    queue_depth: u32,
    read_overhead: Nanos,
    write_overhead: Nanos,
    /// The controller of a particular drive, in place of the two overheads.
    firmware: Option<Controller>,
    write_back: u64,
    mechanics: Mechanics,
    /// Commands that the host waits for.
    scheduler: ByPriority,
    destaging: Destaging,
    cache: Option<Cache>,
    link: Link,
    flushes: Flushes,
    /// Power and standby, if the settings have them.
    spindle: Option<Spindle>,
    commands: Slots,
    /// Commands in the controller or on the link, by the time at which they can have the arm.
    arriving: EventQueue<Waiting>,
    /// Completions by time.
    ending: EventQueue<Ending>,
    controller_free: Nanos,
    /// The access under way.
    serving: Option<Serving>,
    /// When the access under way ends, or when the last one ended.
    arm_free: Nanos,
    /// Bytes in the buffer that are not on the medium yet.
    dirty: u64,
    /// Writes that wait for room in the buffer. In order of arrival while a flush waits, because the flush may wait for
    /// any of them.
    full: WaitingLine<Waiting>,
    in_flight: u32,
    sequence: u64,
    next_event: Nanos,
    measured: Measured,
    /// A recording of the first accesses, if one was asked for.
    timeline: Option<Box<Timeline>>,
}

/// A command that needs the arm.
#[derive(Clone, Copy, Debug)]
struct Command {
    tag: Tag,
    priority: Priority,
    submitted: Nanos,
    /// When the head may begin to write, since the data are in the buffer then.
    data: Nanos,
    /// When a write that completes in the buffer has completed. With firmware settings: for other writes, when the
    /// drive has given the bus away; for reads, when data can first be sent.
    bus: Nanos,
    /// With firmware settings: time to get the bus back once a write is on the medium.
    reselect: Nanos,
    sectors: u64,
    bytes: u64,
    /// Whether this is a write that has completed in the buffer: the host no longer waits for it.
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Serving {
    waiting: Waiting,
    sectors: u64,
    /// Number of sectors before those of a read that come into the buffer with it.
    before: u64,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    tag: Tag,
    service_start: Nanos,
    result: Result<(), DeviceError>,
}

impl Disk {
    /// Creates a disk called `name` in reports, idle, at time zero.
    ///
    /// # Errors
    /// The first setting that the model cannot represent, with the accepted values. Disks with several arms and
    /// shingled ones are built by [`crate::build`].
    pub fn new(name: &str, settings: &DiskSettings) -> Result<Self, DiskError> {
        settings.check_plain()?;
        let mechanics = Mechanics::new(settings)?;
        let holds = Bytes(mechanics.geometry().sectors() * Bytes::SECTOR.0);
        let capacity = Bytes(settings.capacity.unwrap_or(holds).0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        if capacity > holds || capacity == Bytes::ZERO {
            return Err(DiskError::Capacity { capacity, holds });
        }
        let scheduler = registry::find(SCHEDULERS, "scheduler", &settings.scheduler).map_err(DiskError::Scheduler)?;
        let sectors = capacity.0 / Bytes::SECTOR.0;
        Ok(Self {
            name: name.to_string(),
            capacity,
            queue_depth: settings.queue_depth,
            read_overhead: settings.read_overhead,
            write_overhead: settings.write_overhead,
            firmware: settings.firmware.as_ref().map(Controller::new).transpose()?,
            write_back: settings.cache.map_or(0, |cache| cache.write_back.0),
            mechanics,
            scheduler: ByPriority::new(scheduler.build, settings.wait_limit, settings.priority_aging),
            destaging: Destaging::new(
                (scheduler.build)(),
                settings.wait_limit,
                settings.cache.and_then(|cache| cache.write_batch).map(|batch| batch.0),
            ),
            cache: settings.cache.map(|cache| Cache::new(&cache, settings.firmware.as_ref(), sectors)).transpose()?,
            link: Link::new(settings.bus_rate, settings.write_bus_rate.or(settings.bus_rate)),
            flushes: Flushes::default(),
            spindle: settings.power.map(Spindle::new),
            commands: Slots::default(),
            arriving: EventQueue::default(),
            ending: EventQueue::default(),
            controller_free: Nanos::ZERO,
            serving: None,
            arm_free: Nanos::ZERO,
            dirty: 0,
            full: WaitingLine::new(settings.priority_aging),
            in_flight: 0,
            sequence: 0,
            next_event: Nanos::NEVER,
            measured: Measured::default(),
            timeline: None,
        })
    }

    /// Returns the arm, heads and platters.
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Takes the commands that have passed the controller, and gives the arm to the next one if it is free.
    #[inline]
    fn proceed(&mut self, now: Nanos) {
        if self.serving.is_some() && self.cache.is_none() {
            return;
        }
        while let Some((_, waiting)) = self.arriving.pop_due(now) {
            if self.cache.is_none() {
                self.wait_for_arm(waiting);
            } else if waiting.write && self.commands.get(waiting.slot).ended {
                self.keep(&waiting);
                self.destaging.push(waiting);
            } else if self.hits_wait() || !self.answered_from_buffer(now, &waiting) {
                self.wait_for_arm(waiting);
            }
        }
        while self.serving.is_none() {
            let Some(next) = self.choose(now) else { return };
            // The sectors may have come into the buffer while the command waited.
            if !self.answered_from_buffer(now, &next) {
                self.start(now, next);
            }
        }
    }

    #[inline]
    fn wait_for_arm(&mut self, waiting: Waiting) {
        let priority = self.commands.get(waiting.slot).priority;
        self.scheduler.push(priority, waiting);
    }

    #[inline]
    fn choose(&mut self, now: Nanos) -> Option<Waiting> {
        let flush_waits = self.flushes.any_waits();
        let mechanics = &self.mechanics;
        if self.cache.is_none() {
            return self.scheduler.pop(now, mechanics, flush_waits);
        }
        let (no_room, flush_since) = (!self.full.is_empty(), self.flushes.waits_since());
        // Commands that have waited too long get every other turn.
        let goes_first =
            self.destaging.goes_first(flush_waits, no_room) && !(self.destaging.served && self.scheduler.overdue(now));
        let (next, from_buffer) = if goes_first {
            match self.destaging.pop(now, mechanics, false, no_room, flush_since) {
                Some(next) => (next, true),
                None => (self.scheduler.pop(now, mechanics, flush_waits)?, false),
            }
        } else {
            match self.scheduler.pop(now, mechanics, flush_waits) {
                Some(next) => (next, false),
                None => (self.destaging.pop(now, mechanics, true, no_room, flush_since)?, true),
            }
        };
        self.destaging.served = from_buffer;
        Some(next)
    }

    /// Keeps the sectors of a write in the buffer for later reads.
    fn keep(&mut self, waiting: &Waiting) {
        if let Some(cache) = &mut self.cache {
            cache.keep(waiting.start, waiting.start + self.commands.get(waiting.slot).sectors);
        }
    }

    /// Answers a read whose sectors are all in the buffer.
    #[inline]
    fn answered_from_buffer(&mut self, now: Nanos, waiting: &Waiting) -> bool {
        let Some(cache) = self.cache.as_mut().filter(|_| !waiting.write) else { return false };
        let command = self.commands.get(waiting.slot);
        let read = cache.follow(&mut self.mechanics, now);
        // Read-ahead does not begin on platters that have stopped.
        let turns = self.spindle.as_mut().is_none_or(|spindle| {
            spindle.read_ahead(read);
            spindle.turns(now)
        });
        let geometry = self.mechanics.geometry();
        let arm_free = self.serving.is_none() && turns;
        if !cache.hits(geometry, waiting.start, waiting.start + command.sectors, now, arm_free) {
            return false;
        }
        self.commands.remove(waiting.slot);
        let mut ends = self.link.data_out(now, command.bytes);
        if let Some(firmware) = &self.firmware {
            ends += firmware.read_completion();
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.buffered(now, &command, ends);
        }
        self.ending.schedule(ends, Ending { tag: command.tag, service_start: command.submitted, result: Ok(()) });
        true
    }

    fn start(&mut self, now: Nanos, next: Waiting) {
        let command = self.commands.remove(next.slot);
        // The command waited for the arm only while the arm served other commands. Before that, its own overhead kept
        // it.
        let service_start = command.submitted.max(self.arm_free);
        let (begin, access) = match self.taken_over(now, &next, command.sectors) {
            Some(access) => (now, access),
            None => {
                let begin = self.spindle.as_mut().map_or(now, |spindle| spindle.ready(now));
                (begin, self.position(begin, &next, &command))
            }
        };
        self.arm_free = begin + access.total();
        if let Some(spindle) = &mut self.spindle {
            spindle.access(now, begin, &access);
        }
        let before = self.passed_before(&next, &access);
        self.serving = Some(Serving { waiting: next, sectors: command.sectors, before, ended: command.ended });
        self.measured.access(&access, self.arm_free);
        let mut ends = self.arm_free;
        if !command.ended {
            ends = if self.firmware.is_some() {
                self.ends_by_firmware(&next, &command, &access)
            } else if next.write {
                self.arm_free
            } else {
                self.link.data_out_behind(&access, self.arm_free, command.bytes)
            };
            self.ending.schedule(ends, Ending { tag: command.tag, service_start, result: Ok(()) });
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.access(begin, (&next, &command), &access, ends, self.mechanics.cylinder());
        }
    }

    /// Returns the rest of a read that read-ahead has already begun. If it has not, returns `None`, and read-ahead
    /// stops.
    fn taken_over(&mut self, now: Nanos, next: &Waiting, sectors: u64) -> Option<Access> {
        let cache = self.cache.as_mut()?;
        let read = cache.follow(&mut self.mechanics, now);
        if let Some(spindle) = &mut self.spindle {
            spindle.read_ahead(read);
        }
        let end = next.start + sectors;
        let (from, at) = cache.take_over(next.start, end).filter(|_| !next.write)?;
        let access = self.mechanics.access(at, at, from, end - from, false);
        // Only the sectors that still lie ahead count. They all pass under the head in one stream.
        let transfer = (at + access.total()).saturating_sub(now);
        Some(Access { seek: Nanos::ZERO, rotation: Nanos::ZERO, transfer, ..access })
    }

    /// Called when the last sector of the current access has passed.
    fn access_ended(&mut self, now: Nanos, served: Serving) {
        let end = served.waiting.start + served.sectors;
        if served.waiting.write {
            self.flushes.write_ends(served.waiting.sequence);
            if served.ended {
                let bytes = served.sectors * Bytes::SECTOR.0;
                self.dirty -= bytes;
                self.destaging.written(bytes);
                self.admit_writes(now);
            }
            self.end_flushes(now);
        }
        let Some(cache) = &mut self.cache else { return };
        if served.ended {
            return;
        }
        if !served.waiting.write {
            let segment = cache.keep_read(served.waiting.start - served.before, served.waiting.start, end);
            cache.read_ahead_from(self.mechanics.geometry(), segment, end, now);
        } else {
            cache.keep(served.waiting.start, end);
        }
    }

    fn end_flushes(&mut self, now: Nanos) {
        while let Some(flush) = self.flushes.pop_ended() {
            let ending = Ending { tag: flush.tag, service_start: flush.submitted, result: Ok(()) };
            self.ending.schedule(flush.ready.max(now), ending);
        }
    }

    #[inline]
    fn update_next_event(&mut self) {
        let arm = match (self.serving.is_some(), self.cache.is_some()) {
            (true, false) => self.arm_free,
            (true, true) => self.arm_free.min(self.arriving.next()),
            (false, _) => self.arriving.next().min(self.destaging.next_event()),
        };
        self.next_event = arm.min(self.ending.next());
    }

    /// Takes a read or write that the controller passes on at `ready`.
    #[inline]
    fn take(&mut self, now: Nanos, ready: Nanos, tag: Tag, request: &Request, sectors: u64, sequence: u64) {
        let bytes = if request.kind.has_data() { request.length.0 } else { 0 };
        let write = request.kind.is_write();
        if self.firmware.is_some() {
            return self.take_by_firmware(now, tag, request, sectors, sequence);
        }
        let mut data = Nanos::ZERO;
        if write {
            data = self.link.data_in(ready, bytes);
            self.flushes.write_begins();
        }
        let slot = self.commands.insert(Command {
            tag,
            priority: request.priority,
            submitted: now,
            data,
            bus: data,
            reselect: Nanos::ZERO,
            sectors,
            bytes,
            ended: false,
        });
        let waiting = Waiting { start: request.start.0, write, sequence, came: now, slot };
        if write && self.ends_in_buffer(request, sectors) {
            self.full.push(now, request.priority, waiting);
            self.admit_writes(now);
        } else {
            self.arriving.schedule(ready, waiting);
        }
        self.proceed(now);
    }

    /// Returns true if a write completes in the buffer as soon as there is room.
    fn ends_in_buffer(&self, request: &Request, sectors: u64) -> bool {
        let durable = matches!(request.kind, RequestKind::Write { fua: true } | RequestKind::WriteZeroes { fua: true });
        !durable && sectors * Bytes::SECTOR.0 <= self.write_back
    }

    /// Completes waiting writes in the buffer while there is room.
    fn admit_writes(&mut self, now: Nanos) {
        loop {
            let in_order = self.flushes.any_waits();
            let next = if in_order { self.full.peek_oldest() } else { self.full.peek(now) };
            let Some(&waiting) = next else { return };
            let command = self.commands.get_mut(waiting.slot);
            let size = command.sectors * Bytes::SECTOR.0;
            let waits =
                self.dirty > 0 && self.firmware.as_ref().is_some_and(|firmware| !firmware.appends(waiting.start));
            if self.dirty + size > self.write_back || waits {
                return;
            }
            command.ended = true;
            let waited = now > command.submitted && self.firmware.is_some();
            let ready = if waited { now + command.reselect } else { command.bus.max(now) };
            if let Some(firmware) = &mut self.firmware {
                firmware.admitted(waiting.start + command.sectors);
            }
            self.ending.schedule(ready, Ending { tag: command.tag, service_start: now, result: Ok(()) });
            self.arriving.schedule(ready, waiting);
            self.dirty += size;
            if in_order {
                self.full.pop_oldest();
            } else {
                self.full.pop(now);
            }
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
        self.measured.clock(now);
        self.in_flight += 1;
        self.destaging.command_came(now);
        if let Some(spindle) = &mut self.spindle {
            spindle.command_came(now);
        }
        let sequence = self.sequence;
        self.sequence += 1;
        // With firmware settings, the overhead depends on what the command finds in the buffer.
        let overhead = match &self.firmware {
            Some(_) => Nanos::ZERO,
            None if request.kind.is_write() => self.write_overhead,
            None => self.read_overhead,
        };
        let ready = self.controller_free.max(now) + overhead;
        self.controller_free = ready;
        match (request.kind, sectors_of(&request, self.capacity)) {
            (RequestKind::Flush, _) => {
                self.flushes.push(Flush { tag, submitted: now, ready, sequence });
                self.end_flushes(now);
                // On an idle disk, what it waits for is written now.
                self.proceed(now);
            }
            (RequestKind::Read | RequestKind::Write { .. } | RequestKind::WriteZeroes { .. }, Ok(sectors @ 1..)) => {
                self.take(now, ready, tag, &request, sectors, sequence);
            }
            // Trims and empty requests complete at once.
            (_, inside) => {
                self.ending.schedule(ready, Ending { tag, service_start: now, result: inside.map(|_| ()) });
            }
        }
        self.update_next_event();
    }

    fn next_event(&self) -> Nanos {
        self.next_event
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert_eq!(now, self.next_event, "{} has no event now", self.name);
        self.measured.clock(now);
        if self.arm_free <= now
            && let Some(served) = self.serving.take()
        {
            self.access_ended(now, served);
        }
        self.proceed(now);
        while let Some((at, Ending { tag, service_start, result })) = self.ending.pop_due(now) {
            self.in_flight -= 1;
            self.measured.request();
            done.push(Completion { tag, at, service_start, result });
        }
        self.update_next_event();
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            // The mechanics do not depend on the data.
            Control::Precondition(_) => Ok(()),
            Control::StartMeasuring => {
                self.measured = Measured::since(now);
                if let Some(timeline) = &mut self.timeline {
                    timeline.start();
                }
                if let Some(spindle) = &mut self.spindle {
                    spindle.start_measuring(now);
                }
                Ok(())
            }
            Control::RecordTimeline(Stretch::First(most)) => {
                self.timeline = Some(Box::new(Timeline::new(most)));
                Ok(())
            }
            Control::RecordTimeline(Stretch::Last(_)) => Ok(()),
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
}

impl Reporting for Disk {
    fn report(&self, into: &mut Report) {
        let report = report_of(self.capacity, self.measured.requests(), &[self], into);
        into.add(&self.name, report);
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
    fn get(&self, slot: u32) -> Command {
        self.commands[slot as usize]
    }

    #[inline]
    fn get_mut(&mut self, slot: u32) -> &mut Command {
        &mut self.commands[slot as usize]
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> Command {
        self.free.push(slot);
        self.commands[slot as usize]
    }
}
