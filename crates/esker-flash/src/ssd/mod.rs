//! The drive: takes requests, splits them into pages, asks the translation layer, schedules what it emits.

mod background;
mod buffer;
mod buffering;
mod departures;
mod link;
mod power;
mod probes;
mod recovery;
mod report;
mod serving;
mod slots;
#[cfg(test)]
mod tests;
mod timeline;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use esker_core::{
    Bytes, Completion, Control, Device, DeviceError, LogicalPage, Nanos, Request, RequestKind, Tag, Telemetry,
    Unsupported,
};
use esker_ftl::{Ftl, FtlContext, FtlCounters, Space, WearCounts, precondition};
use esker_nand::array::{Array, Ended, Timing, Waiter, WaiterKind};
use esker_nand::ecc::{self, Ecc};
use esker_nand::state::{FlashState, OpList, OperationCounts};
use esker_nand::{Geometry, Placement, ValueError};
use esker_results::{PreconditionReport, Report, Reporting};

use crate::{SsdError, SsdSettings};
use background::Background;
use buffering::Buffering;
use link::Link;
use power::Power;
use slots::Slots;
use timeline::Timeline;

/// Most requests that a drive may take at once.
const QUEUE_DEPTH_MAX: u32 = 1 << 20;

/// A solid-state drive.
///
/// A request is split into flash pages and ends with its last page operation. Its service begins when the first of its
/// own flash operations begins on its die; waiting for the die, for the link, and for cleaning that a write set off is
/// queueing. Reads of pages without data and trims need no flash operation. A write of a part of a page that has data
/// reads the page first. Zeroes are written by forgetting whole pages, which then read as zeroes, and by rewriting parts
/// of pages. Without a write buffer a write that completed is durable, and a flush completes when all writes that were
/// submitted before it have. With one, a flush also waits for what the buffer held then to reach flash, unless the buffer
/// is protected against power failures.
///
/// Writes that wait for room in the buffer, and requests that came while power was out, are served user before
/// background.
/// Flash operations do not know whose they are.
#[derive(Debug)]
pub struct Ssd {
    name: String,
    settings: SsdSettings,
    /// Whether the translation layer has to know how much work waits on each die.
    least_loaded: bool,
    seed: u64,
    geometry: Geometry,
    timing: Timing,
    /// Bit errors, where they are modelled.
    ecc: Option<Box<Ecc>>,
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
    /// Pages that reads asked for, and those of them without data.
    host_page_reads: u64,
    unwritten_page_reads: u64,
    measuring: Baseline,
    /// What the translation layers before this one counted: preconditioning builds a new one.
    former: FtlCounters,
    /// The same of what a power failure made them forget about wear.
    former_wear: WearCounts,
    precondition: Option<PreconditionReport>,
    /// A power failure during the run, if there is to be one.
    power: Option<Power>,
    timeline: Option<Box<Timeline>>,
    #[cfg(test)]
    shadow: tests::Shadow,
}

/// The counters when measuring began.
#[derive(Clone, Debug, Default)]
struct Baseline {
    at: Nanos,
    completed: u64,
    host_page_writes: u64,
    host_page_reads: u64,
    unwritten_page_reads: u64,
    counts: OperationCounts,
    layer: FtlCounters,
}

impl Ssd {
    /// Builds a drive called `name` in reports. `seed` is for victim policies that draw.
    pub fn new(name: &str, settings: &SsdSettings, seed: u64) -> Result<Self, SsdError> {
        let flash_pages = Geometry::new(&settings.geometry, settings.block_summary)?;
        let mut timing = Timing::new(&settings.timing, &flash_pages)?;
        settings.check_array()?;
        let wiring = settings.wiring();
        for transfer in [&mut timing.page_transfer, &mut timing.sector_transfer] {
            transfer.0 = transfer.0.saturating_mul(wiring.pages_in_turn());
        }
        let geometry = Geometry::new(&wiring.seen(), settings.block_summary)?.with_stripe(&settings.array.stripe)?;
        let layer = settings.layer();
        let space = Space::new(&layer, &geometry)?;
        for (key, value) in [
            ("queue_depth", u64::from(settings.queue_depth)),
            ("endurance_cycles", settings.endurance_cycles),
            ("link.rate", settings.link.map_or(1, |link| link.rate.0)),
        ] {
            if value == 0 {
                return Err(ValueError::Zero { key }.into());
            }
        }
        if settings.queue_depth > QUEUE_DEPTH_MAX {
            let (found, limit) = (u64::from(settings.queue_depth), u64::from(QUEUE_DEPTH_MAX));
            return Err(ValueError::TooLarge { key: "queue_depth", found, limit }.into());
        }
        let link = settings.link.as_ref().map(Link::new).transpose()?;
        let buffer = settings.write_buffer.as_ref();
        let buffer = buffer.map(|buffer| Buffering::new(buffer, &geometry, &space)).transpose()?;
        let background = Background::new(&settings.cleaning)?;
        let mut flash = FlashState::new(&geometry);
        if let Some(wear) = &settings.wear {
            let (found, limit) = (u64::from(wear.initial_erases), settings.endurance_cycles);
            if found >= limit {
                return Err(SsdError::BornWornOut { found, limit });
            }
            flash.set_wear(wear.initial_erases);
        }
        let mut decoder = None;
        if let Some(ecc) = &settings.ecc {
            timing.decoding = ecc::decoding(ecc, &timing)?;
            let mut judge = Ecc::new(ecc, &geometry, &Geometry::new(&wiring.layout().0, false)?, seed)?;
            judge.start(Nanos::ZERO, &flash);
            decoder = Some(Box::new(judge));
        }
        let ftl = esker_ftl::build(&FtlContext { geometry: &geometry, space: &space, settings: &layer, seed })?;
        let power = Power::new(settings)?;
        match power.as_ref().map(Power::is_sudden) {
            Some(true) => flash.keep_journal(space.blocks_per_pool),
            Some(false) => flash.keep_journal_of_settled_changes(space.blocks_per_pool),
            None => {}
        }
        let mut ssd = Self {
            name: name.to_string(),
            settings: settings.clone(),
            least_loaded: settings.array.placement == Placement::LeastLoaded,
            seed,
            geometry,
            timing,
            ecc: decoder,
            space,
            capacity: Bytes(u64::from(space.host_pages) * geometry.page_size().0),
            page_shift: geometry.page_size().0.trailing_zeros(),
            part_shift: wiring.layout().0.page_size.0.trailing_zeros(),
            ftl,
            flash,
            power,
            ops: OpList::default(),
            array: RefCell::new(Array::new(&geometry, &timing, &wiring)),
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
            host_page_reads: 0,
            unwritten_page_reads: 0,
            measuring: Baseline::default(),
            former: FtlCounters::default(),
            former_wear: WearCounts::default(),
            precondition: None,
            timeline: None,
            #[cfg(test)]
            shadow: tests::Shadow::default(),
        };
        ssd.prepare_for_power_failure();
        ssd.choose_operations();
        ssd.update_next();
        Ok(ssd)
    }

    /// A translation layer as it was built first.
    fn new_layer(&self) -> Box<dyn Ftl> {
        let settings = &self.settings.layer();
        let context = FtlContext { geometry: &self.geometry, space: &self.space, settings, seed: self.seed };
        esker_ftl::build(&context).expect("it was built from the same settings before")
    }

    /// Whether copies of pages side by side are one operation: nobody looks at single ones.
    fn choose_operations(&mut self) {
        let runs = self.array.get_mut().takes_runs() && self.ecc.is_none() && self.power.is_none();
        self.ops.take_runs(runs);
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
            if self.buffer.as_ref().is_some_and(Buffering::cannot_flush) {
                state.result = Err(if self.read_only { DeviceError::ReadOnly } else { DeviceError::NoSpace });
            }
            if self.buffer.as_mut().is_some_and(|buffer| buffer.hold_back(first)) {
                self.write_out(now);
            } else {
                self.ready.push_back((now, first));
            }
        }
    }

    /// A flash operation has ended that no request waits for.
    #[cold]
    fn ended_beside_requests(&mut self, now: Nanos, waiter: Waiter) {
        match waiter.kind() {
            WaiterKind::Background if self.power.as_ref().is_some_and(Power::is_recovering) => self.recovered_some(now),
            WaiterKind::Background => self.cleaned_in_background(now),
            WaiterKind::Entry(entry) => {
                self.left(now, entry);
                self.look_idle(now);
            }
            WaiterKind::Request(_) | WaiterKind::Nobody => unreachable!("{waiter:?} is told elsewhere"),
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
        if let Some(power) = &self.power {
            next = next.min(power.next_event());
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
            for Ended { waiter, start } in ended.drain(..) {
                let Some(slot) = waiter.slot() else {
                    self.ended_beside_requests(now, waiter);
                    continue;
                };
                let state = self.slots.get_mut(slot);
                state.start = state.start.min(start);
                state.remaining -= 1;
                if state.remaining == 0 {
                    self.served(now, slot);
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
        if self.power.is_some() {
            self.look_at_sudden_power_failure(now);
            while let Some((_, slot)) = self.ready.pop_front() {
                self.complete(now, slot, done);
            }
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
                let ftl = self.new_layer();
                self.flash.format();
                self.flash.settle_as_issued(true);
                if let Some(wear) = &self.settings.wear {
                    self.flash.set_wear(wear.initial_erases);
                }
                self.read_only = false;
                self.former.add(&self.ftl.counters());
                self.flash.backlog.clear();
                self.ftl = ftl;
                let (report, writes) = precondition::run(condition, &mut *self.ftl, &mut self.flash, &self.space);
                self.flash.settle_as_issued(self.power.as_ref().is_none_or(|power| !power.is_followed()));
                self.host_page_writes += writes;
                self.precondition = report;
                if let Some(ecc) = &mut self.ecc {
                    ecc.start(now, &self.flash);
                }
                #[cfg(debug_assertions)]
                self.check();
                Ok(())
            }
            Control::StartMeasuring => {
                self.start_measuring(now);
                Ok(())
            }
            Control::RecordTimeline(stretch) => {
                assert_eq!(self.completed, 0, "a timeline begins before any request");
                self.array = RefCell::new(Array::recording(&self.geometry, &self.timing, &self.settings.wiring()));
                self.prepare_for_power_failure();
                self.choose_operations();
                self.timeline = Some(Box::new(Timeline::new(stretch)));
                Ok(())
            }
            Control::PauseWearLevelling(_) => Err(Unsupported("explicit wear-levelling")),
        }
    }

    fn telemetry(&self) -> Telemetry {
        self.telemetry_now()
    }
}

impl Reporting for Ssd {
    fn report(&self, into: &mut Report) {
        #[cfg(debug_assertions)]
        self.check();
        into.add(&self.name, self.report_now());
    }
}
