//! The drive: takes requests, splits them into pages, asks the translation layer, schedules what it emits.

mod background;
mod buffer;
mod buffering;
mod link;
mod power;
mod probes;
mod report;
mod slots;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_array;
mod timeline;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use esker_core::{
    Bytes, Completion, Control, Device, DeviceError, LogicalPage, Nanos, PreconditionReport, Report, Request,
    RequestKind, Tag, Telemetry, Unsupported,
};

use crate::array::{Array, BACKGROUND, Cover, Ended};
use crate::ftl::{self, Ftl, FtlContext, FtlCounters, FtlError, Part};
use crate::nand::{FlashState, OpList, OperationCounts, Timing};
use crate::{Geometry, Placement, Space, SsdError, SsdSettings, precondition};
use background::Background;
use buffer::Rounding;
use buffering::{Buffering, covered};
use link::Link;
use power::Power;
use slots::Slots;
use timeline::Timeline;

/// Most requests that a drive may take at once.
const QUEUE_DEPTH_MAX: u32 = 1 << 20;
/// The array's name for operations that write out a page of the buffer: this, plus the buffer's entry.
const FIRST_ENTRY: u32 = QUEUE_DEPTH_MAX;

/// A solid-state drive.
///
/// A request is split into flash pages and ends with its last page operation. Its service begins when the first of its
/// own flash operations begins on its die; waiting for the die, for the link, and for cleaning that a write set off is
/// queueing. Reads of pages without data and trims need no flash operation. A write of a part of a page that has data
/// reads the page first. Zeroes are written by forgetting whole pages, which then read as zeroes, and by rewriting parts
/// of pages. Without a write buffer a write that completed is durable, and a flush completes when all writes that were
/// submitted before it have. With one, a flush also waits for what the buffer held then to reach flash, unless the buffer
/// is protected against power failures.
#[derive(Debug)]
pub struct Ssd {
    name: String,
    settings: SsdSettings,
    /// Whether the translation layer has to know how much work waits on each die.
    least_loaded: bool,
    seed: u64,
    geometry: Geometry,
    timing: Timing,
    space: Space,
    capacity: Bytes,
    page_shift: u32,
    /// Size of what is read alone of a logical page, as a shift; as large as the page where that is one flash page.
    part_shift: u32,
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    ops: OpList,
    /// Grants are decided late; telemetry, which may not change the drive, has them decided up to now.
    array: RefCell<Array>,
    slots: Slots,
    link: Option<Link>,
    buffer: Option<Buffering>,
    background: Option<Background>,
    /// Too many blocks have gone bad.
    read_only: bool,
    /// Requests that end at this instant.
    ready: VecDeque<(Nanos, u32)>,
    ended: Vec<Ended>,
    /// The first page of the write that will probably come next.
    expected: Cell<Option<LogicalPage>>,
    /// The last time that anything happened.
    now: Nanos,
    next: Nanos,
    /// Requests that ended, since new.
    completed: u64,
    host_page_writes: u64,
    measuring: Baseline,
    /// What the translation layers before this one counted: preconditioning builds a new one.
    former: FtlCounters,
    precondition: Option<PreconditionReport>,
    /// A power failure during the run, if there is to be one.
    power: Option<Power>,
    timeline: Option<Box<Timeline>>,
}

/// The counters when measuring began.
#[derive(Clone, Debug, Default)]
struct Baseline {
    at: Nanos,
    completed: u64,
    host_page_writes: u64,
    counts: OperationCounts,
    layer: FtlCounters,
}

impl Ssd {
    /// Builds a drive called `name` in reports. `seed` is for victim policies that draw.
    pub fn new(name: &str, settings: &SsdSettings, seed: u64) -> Result<Self, SsdError> {
        let flash_pages = Geometry::new(&settings.geometry, settings.block_summary)?;
        let timing = Timing::new(&settings.timing, &flash_pages)?;
        settings.check_array()?;
        let geometry = Geometry::new(&settings.seen(), settings.block_summary)?.with_stripe(&settings.array.stripe)?;
        let space = Space::new(settings, &geometry)?;
        for (key, value) in [
            ("queue_depth", u64::from(settings.queue_depth)),
            ("endurance_cycles", settings.endurance_cycles),
            ("link.rate", settings.link.map_or(1, |link| link.rate.0)),
        ] {
            if value == 0 {
                return Err(SsdError::Zero { key });
            }
        }
        if settings.queue_depth > QUEUE_DEPTH_MAX {
            let (found, limit) = (u64::from(settings.queue_depth), u64::from(QUEUE_DEPTH_MAX));
            return Err(SsdError::TooLarge { key: "queue_depth", found, limit });
        }
        let link = settings.link.as_ref().map(Link::new).transpose()?;
        let buffer = settings.write_buffer.as_ref().map(|buffer| Buffering::new(buffer, &geometry)).transpose()?;
        let background = Background::new(&settings.cleaning)?;
        let mut flash = FlashState::new(&geometry);
        if let Some(wear) = &settings.wear {
            let (found, limit) = (u64::from(wear.initial_erases), settings.endurance_cycles);
            if found >= limit {
                return Err(SsdError::BornWornOut { found, limit });
            }
            flash.set_wear(wear.initial_erases);
        }
        let ftl = ftl::build(&FtlContext { geometry: &geometry, space: &space, settings, seed })?;
        let power = Power::new(settings, &*ftl)?;
        if power.is_some() {
            flash.keep_journal_of_settled_changes(space.blocks_per_pool);
        }
        Ok(Self {
            name: name.to_string(),
            settings: settings.clone(),
            least_loaded: settings.array.placement == Placement::LeastLoaded,
            seed,
            geometry,
            timing,
            space,
            capacity: Bytes(u64::from(space.host_pages) * geometry.page_size().0),
            page_shift: geometry.page_size().0.trailing_zeros(),
            part_shift: settings.layout().0.page_size.0.trailing_zeros(),
            ftl,
            flash,
            power,
            ops: OpList::default(),
            array: RefCell::new(Array::new(&geometry, &timing, settings)),
            slots: Slots::new(settings.queue_depth),
            link,
            buffer,
            background,
            read_only: false,
            ready: VecDeque::new(),
            ended: Vec::new(),
            expected: Cell::new(None),
            now: Nanos::ZERO,
            next: Nanos::NEVER,
            completed: 0,
            host_page_writes: 0,
            measuring: Baseline::default(),
            former: FtlCounters::default(),
            precondition: None,
            timeline: None,
        })
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How the array's pages are shared out.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Asserts what must hold at any time: every mapped page is valid and says whose it is, nothing else is valid, and
    /// programs, erases and free space add up. Takes long.
    pub fn check(&self) {
        self.flash.check();
        self.ftl.check(&self.flash);
    }

    /// What the translation layer counted since the drive was new.
    fn layer_counters(&self) -> FtlCounters {
        let mut counters = self.former.clone();
        counters.add(&self.ftl.counters());
        counters
    }

    /// Hands a request on to flash.
    #[inline]
    fn dispatch(&mut self, now: Nanos, slot: u32) {
        if self.power.as_mut().is_some_and(|power| power.holds(slot)) {
            return;
        }
        let request = self.slots.get(slot).request;
        let mut ops = 0;
        if request.end_byte() > self.capacity.0 {
            let error = DeviceError::OutOfRange { end: request.end_byte(), capacity: self.capacity };
            self.slots.get_mut(slot).result = Err(error);
        } else if self.read_only && request.kind.is_write() {
            self.slots.get_mut(slot).result = Err(DeviceError::ReadOnly);
        } else if self.buffer.as_ref().is_some_and(|buffer| buffer.takes(request.kind)) && request.length > Bytes::ZERO
        {
            return self.admit_in_turn(now, slot);
        } else if request.length > Bytes::ZERO {
            match self.serve(now, slot, &request) {
                Ok(count) => ops = count,
                Err((count, error)) => {
                    self.slots.get_mut(slot).result = Err(error);
                    ops = count;
                }
            }
        }
        self.slots.get_mut(slot).remaining = ops;
        if ops == 0 {
            match &mut self.buffer {
                Some(buffer) if request.kind == RequestKind::Read => {
                    self.slots.get_mut(slot).start = now;
                    buffer.serve(now, slot);
                }
                _ => self.served(now, slot),
            }
        }
    }

    /// How much of `page` a request covers.
    #[inline(always)]
    fn part(&self, request: &Request, page: u64) -> Part {
        let (first, size) = (page << self.page_shift, 1u64 << self.page_shift);
        match request.start.byte_offset() <= first && first + size <= request.end_byte() {
            true => Part::Whole,
            false => Part::Some,
        }
    }

    /// Performs a request within the capacity, page by page. Says how many flash operations it waits for.
    #[inline]
    fn serve(&mut self, now: Nanos, slot: u32, request: &Request) -> Result<u32, (u32, DeviceError)> {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let mut count = 0;
        let pages = start >> self.page_shift..=(end - 1) >> self.page_shift;
        if matches!(request.kind, RequestKind::Write { .. }) {
            self.ftl.begin_request((pages.end() - pages.start() + 1) as u32);
        }
        for page in pages {
            let part = self.part(request, page);
            if self.buffer.is_some() && self.beside_flash(request, page, part) {
                continue;
            }
            let page = LogicalPage(page as u32);
            self.ops.clear();
            let written = match request.kind {
                RequestKind::Read => {
                    self.ftl.read(page, &mut self.flash, &mut self.ops);
                    Ok(())
                }
                RequestKind::Write { .. } => self.write(now, page, part),
                RequestKind::WriteZeroes { .. } if part == Part::Some => match self.ftl.find(page) {
                    Some(_) => self.write(now, page, part),
                    None => Ok(()),
                },
                RequestKind::Trim if part == Part::Some => Ok(()),
                RequestKind::WriteZeroes { .. } | RequestKind::Trim => {
                    self.ftl.trim(page, &mut self.flash, &mut self.ops);
                    Ok(())
                }
                RequestKind::Flush => Ok(()),
            };
            // What was emitted before an error was done to the cells, too.
            if !self.ops.as_slice().is_empty() {
                let first_byte = u64::from(page.0) << self.page_shift;
                let cover = (self.part_shift < self.page_shift)
                    .then(|| self.cover(request.kind, start.saturating_sub(first_byte), end - first_byte));
                count += self.array.get_mut().push(now, self.ops.as_slice(), slot, cover.as_ref());
            }
            if let Err(error) = written {
                return Err((count, self.refused(error)));
            }
        }
        Ok(count)
    }

    /// What the host is told of an error. A drive that is worn out says so at once from then on.
    #[cold]
    fn refused(&mut self, error: FtlError) -> DeviceError {
        match error {
            FtlError::NoSpace => DeviceError::NoSpace,
            FtlError::CannotRecover => DeviceError::Failed,
            FtlError::WornOut => {
                self.read_only = true;
                DeviceError::ReadOnly
            }
        }
    }

    /// What a request that goes to flash has to do with the buffer. Says whether that is all, and no flash is needed.
    fn beside_flash(&mut self, request: &Request, page: u64, part: Part) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        let logical = LogicalPage(page as u32);
        match request.kind {
            RequestKind::Read => {
                let has_data = self.ftl.find(logical).is_some();
                return buffer.read(logical, covered(request, page, &self.geometry, Rounding::Outward), has_data);
            }
            RequestKind::Write { .. } => {
                buffer.written_through(logical, covered(request, page, &self.geometry, Rounding::Inward));
            }
            RequestKind::WriteZeroes { .. } | RequestKind::Trim if part == Part::Whole => buffer.forget(logical),
            RequestKind::WriteZeroes { .. } | RequestKind::Trim | RequestKind::Flush => {}
        }
        false
    }

    /// Which flash pages of a logical page have to be read for the bytes from `start` to `end` of it: those to read, or
    /// those of which something stays.
    #[cold]
    fn cover(&self, kind: RequestKind, start: u64, end: u64) -> Cover {
        let end = end.min(1 << self.page_shift);
        let part = 1 << self.part_shift;
        let all = 1 << (self.page_shift - self.part_shift);
        if kind == RequestKind::Read {
            return Cover { needed: [(start / part) as u32..end.div_ceil(part) as u32, 0..0] };
        }
        let (first, last) = (start.div_ceil(part) as u32, (end / part) as u32);
        Cover { needed: if first < last { [0..first, last..all] } else { [0..all, 0..0] } }
    }

    /// Tells the translation layer how much work waits on each die, where it has to know.
    #[inline]
    fn look_at_backlog(&mut self, now: Nanos) {
        if self.least_loaded {
            self.array.get_mut().backlog(now, &mut self.flash.backlog);
        }
    }

    #[inline]
    fn write(&mut self, now: Nanos, page: LogicalPage, part: Part) -> Result<(), FtlError> {
        self.look_at_backlog(now);
        self.ftl.write(page, part, &mut self.flash, &mut self.ops)?;
        self.host_page_writes += 1;
        Ok(())
    }

    /// All flash operations of a request have ended.
    #[inline]
    fn served(&mut self, now: Nanos, slot: u32) {
        let state = self.slots.get_mut(slot);
        if state.start == Nanos::NEVER {
            state.start = now;
        }
        match &mut self.link {
            Some(link) if state.request.kind == RequestKind::Read && state.result.is_ok() => {
                link.send(now, slot, state.request.length);
            }
            _ if state.request.kind == RequestKind::Flush => self.flush_if_first(now),
            _ => self.ready.push_back((now, slot)),
        }
    }

    /// A flush completes once it is the oldest of all writes and flushes under way.
    fn flush_if_first(&mut self, now: Nanos) {
        let Some(first) = self.slots.first_in_order() else { return };
        let state = self.slots.get_mut(first);
        let served = state.start != Nanos::NEVER;
        if state.request.kind == RequestKind::Flush && served && !state.flushed {
            state.flushed = true;
            if self.buffer.as_mut().is_some_and(|buffer| buffer.hold_back(first)) {
                self.write_out(now);
            } else {
                self.ready.push_back((now, first));
            }
        }
    }

    /// A flash operation has ended that no request waits for.
    #[cold]
    fn ended_beside_requests(&mut self, now: Nanos, name: u32) {
        if name == BACKGROUND && self.power.is_some() {
            self.recovered_some(now);
        } else if name == BACKGROUND {
            self.cleaned_in_background(now);
        } else {
            self.left(now, name - FIRST_ENTRY);
            self.look_idle(now);
        }
    }

    /// A request leaves the drive.
    #[inline]
    fn complete(&mut self, now: Nanos, slot: u32, done: &mut Vec<Completion>) {
        self.completed += 1;
        let state = self.slots.get(slot);
        let completion = Completion { tag: state.tag, at: now, service_start: state.start, result: state.result };
        let ordered = state.ordered;
        if let Some(timeline) = &mut self.timeline {
            timeline.completed(slot, &completion);
        }
        done.push(completion);
        self.slots.release(slot);
        if ordered {
            self.flush_if_first(now);
        }
        self.look_idle(now);
        if self.power.is_some() {
            self.look_at_power(now);
        }
    }

    #[inline]
    fn update_next(&mut self) {
        let mut next = self.array.get_mut().next_event();
        if let Some((at, _)) = self.ready.front() {
            next = next.min(*at);
        }
        if let Some(link) = &self.link {
            next = next.min(link.next_event());
        }
        if let Some(buffer) = &self.buffer {
            next = next.min(buffer.next_event());
        }
        if let Some(background) = &self.background {
            next = next.min(background.next_event());
        }
        self.next = next;
    }
}

impl Device for Ssd {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    #[inline]
    fn free_slots(&self) -> usize {
        self.slots.free()
    }

    #[inline]
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now <= self.next, "an event at {} was skipped", self.next);
        self.now = now;
        let slot = self.slots.take(tag, request);
        if let Some(timeline) = &mut self.timeline {
            timeline.submitted(now, slot, &request);
        }
        if let Some(background) = &mut self.background {
            background.hold();
        }
        match &mut self.link {
            None => self.dispatch(now, slot),
            Some(link) => link.receive(now, slot, &request),
        }
        self.update_next();
    }

    #[inline]
    fn next_event(&self) -> Nanos {
        self.next
    }

    #[inline]
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next, "the next event is at {}, not at {now}", self.next);
        self.now = now;
        if let Some(page) = self.expected.take() {
            self.ftl.expect_write(page, &self.flash);
        }
        while let Some(slot) = self.link.as_mut().and_then(|link| link.received(now)) {
            self.dispatch(now, slot);
        }
        let array = self.array.get_mut();
        if array.next_event() == now {
            let mut ended = std::mem::take(&mut self.ended);
            array.advance(now, &mut ended);
            if let Some(timeline) = &mut self.timeline {
                timeline.performed(array.performed());
            }
            for Ended { request, start } in ended.drain(..) {
                if request >= FIRST_ENTRY {
                    self.ended_beside_requests(now, request);
                    continue;
                }
                let state = self.slots.get_mut(request);
                state.start = state.start.min(start);
                state.remaining -= 1;
                if state.remaining == 0 {
                    self.served(now, request);
                }
            }
            self.ended = ended;
        }
        while let Some(slot) = self.buffer.as_mut().and_then(|buffer| buffer.due(now)) {
            self.served(now, slot);
        }
        while let Some(slot) = self.link.as_mut().and_then(|link| link.sent(now)) {
            self.ready.push_back((now, slot));
        }
        if self.background.as_ref().is_some_and(|background| background.next_event() == now) {
            self.clean_in_background(now);
        }
        while let Some((at, slot)) = self.ready.pop_front() {
            debug_assert_eq!(at, now, "a request should have ended before");
            self.complete(now, slot, done);
        }
        self.update_next();
    }

    #[inline]
    fn expect(&self, request: &Request) {
        if request.end_byte() <= self.capacity.0 && request.length > Bytes::ZERO {
            let page = LogicalPage((request.start.byte_offset() >> self.page_shift) as u32);
            self.ftl.expect(page);
            self.expected.set(request.kind.is_write().then_some(page));
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        assert_eq!(self.slots.in_use(), 0, "control commands need an idle drive");
        self.now = self.now.max(now);
        match command {
            Control::Precondition(condition) => {
                let settings = &self.settings;
                let context = FtlContext { geometry: &self.geometry, space: &self.space, settings, seed: self.seed };
                let ftl = ftl::build(&context).expect("it was built from the same settings before");
                self.flash.format();
                if let Some(wear) = &self.settings.wear {
                    self.flash.set_wear(wear.initial_erases);
                }
                self.read_only = false;
                self.former.add(&self.ftl.counters());
                self.flash.backlog.clear();
                self.ftl = ftl;
                let (report, writes) = precondition::run(condition, &mut *self.ftl, &mut self.flash, &self.space);
                self.host_page_writes += writes;
                self.precondition = report;
                #[cfg(debug_assertions)]
                self.check();
                Ok(())
            }
            Control::StartMeasuring => {
                self.start_measuring(now);
                Ok(())
            }
            Control::RecordTimeline(length) => {
                assert_eq!(self.completed, 0, "a timeline begins before any request");
                self.array = RefCell::new(Array::recording(&self.geometry, &self.timing, &self.settings));
                self.timeline = Some(Box::new(Timeline::new(length)));
                Ok(())
            }
            Control::PauseWearLevelling(_) => Err(Unsupported("explicit wear-levelling")),
        }
    }

    fn telemetry(&self) -> Telemetry {
        self.telemetry_now()
    }

    fn report(&self, into: &mut Report) {
        #[cfg(debug_assertions)]
        self.check();
        into.add(&self.name, self.report_now());
    }
}
