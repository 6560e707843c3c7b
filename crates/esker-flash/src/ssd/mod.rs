//! The drive. Its front takes requests, splits them into pages and buffers writes. Its back holds the translation layer
//! and the array. Other modules add cleaning in idle time, power failures and reports.

mod back;
mod background;
mod cache;
mod front;
mod own;
mod power;
mod preconditioned;
mod probes;
mod report;
#[cfg(test)]
mod tests;
mod timeline;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use esker_core::{
    Bytes, Completion, Control, Device, LogicalPage, Nanos, Ownable, Request, Tag, Telemetry, Unsupported,
};
use esker_ftl::{FtlCounters, Space};
use esker_nand::Geometry;
use esker_nand::array::{Array, Ended, Waiter, WaiterKind};
use esker_nand::state::OperationCounts;
use esker_results::{PreconditionReport, Report, Reporting};

use crate::{SsdError, SsdSettings};
use back::Back;
use background::Background;
pub use cache::{CacheCleaning, HostManagedCache};
use front::Front;
use power::PowerFailure;
pub use preconditioned::PreconditionedDrives;
use timeline::Timeline;

/// A solid-state drive.
///
/// A request is split into pages and ends with its last page operation. Its service begins when the first of its own
/// flash operations begins on its die. Waiting for the die, for the link, and for cleaning that a write caused counts
/// as queueing.
///
/// - **Reads** of pages without data need no flash operation.
/// - **Writes** of a part of a page that has data read the page first. Without a write buffer a write that completed is
///   durable. When writes wait for room in the buffer, those of users go before background ones.
/// - **Trims** need no flash operation. **Zeroes** unmap whole pages, which then read as zeroes, and rewrite pages that
///   they cover in part.
/// - **Flushes** complete when all writes that were submitted before them have completed. With a write buffer they also
///   wait until the data it held at that time are in flash, unless the buffer is protected against power failures.
/// - **Power failures**: of the requests that came while power was out, those of users are served before background
///   ones.
///
/// Flash operations have no priority: dies do not distinguish whose request they belong to.
#[derive(Debug)]
pub struct Ssd {
    name: String,
    settings: SsdSettings,
    front: Front,
    back: Back,
    background: Option<Background>,
    /// The power failure of the run, if the settings ask for one.
    power: Option<PowerFailure>,
    timeline: Option<Box<Timeline>>,
    /// Scratch memory for the operations that end at this instant, kept to avoid allocations.
    ended: Vec<Ended>,
    /// First page of the write that will probably come next, whose map entries are prefetched.
    expected: Cell<Option<LogicalPage>>,
    /// Time of the last call that changed the drive.
    now: Nanos,
    next: Nanos,
    measuring: Baseline,
    precondition: Option<PreconditionReport>,
    /// Where preconditioning finds equal drives.
    others: Option<Arc<PreconditionedDrives>>,
}

/// Pages up to which builds with assertions check a drive that is preconditioned or reports. Studies simulate larger
/// ones by the dozen; checking them took a fifth of the time.
#[cfg(debug_assertions)]
const CHECKED_PAGES: u32 = 1 << 20;

/// The counters at the time when measuring began.
#[derive(Clone, Debug, Default)]
struct Baseline {
    at: Nanos,
    completed: u64,
    pages: PageCounts,
    operations: OperationCounts,
    layer: FtlCounters,
    /// Pages that were moved out of blocks under cleaning.
    half_cleaned: u64,
}

/// Counts of host pages since the drive was new.
#[derive(Clone, Copy, Debug, Default)]
struct PageCounts {
    writes: u64,
    /// Number of pages that reads asked for.
    reads: u64,
    /// Number of these pages that had no data.
    unwritten_reads: u64,
}

impl Ssd {
    /// Builds a drive called `name` in reports. `seed` is for victim policies that choose at random.
    pub fn new(name: &str, settings: &SsdSettings, seed: u64) -> Result<Self, SsdError> {
        let mut back = Back::new(settings, seed)?;
        let front = Front::new(settings, &back)?;
        let background = Background::new(&settings.cleaning)?;
        let power = PowerFailure::new(settings)?;
        match power.as_ref().map(PowerFailure::is_sudden) {
            Some(true) => back.flash.keep_journal(back.space.blocks_per_pool),
            Some(false) => back.flash.keep_journal_of_settled_changes(back.space.blocks_per_pool),
            None => {}
        }
        let mut ssd = Self {
            name: name.to_string(),
            settings: settings.clone(),
            front,
            back,
            background,
            power,
            timeline: None,
            ended: Vec::new(),
            expected: Cell::new(None),
            now: Nanos::ZERO,
            next: Nanos::NEVER,
            measuring: Baseline::default(),
            precondition: None,
            others: None,
        };
        ssd.prepare_for_power_failure();
        ssd.back.choose_operations(ssd.power.is_some());
        ssd.update_next();
        Ok(ssd)
    }

    /// Returns the shape of the array.
    pub fn geometry(&self) -> &Geometry {
        &self.back.geometry
    }

    /// Returns how the array's pages are divided: host pages, pools, reserve.
    pub fn space(&self) -> &Space {
        &self.back.space
    }

    /// Asserts the invariants that hold at any time: every mapped page is valid and names its owner, no other page is
    /// valid, and programs, erases and free space add up. Slow.
    pub fn check(&self) {
        self.back.check();
        self.front.check();
    }

    /// Asserts them unless the drive has more than [`CHECKED_PAGES`].
    #[cfg(debug_assertions)]
    fn check_if_small(&self) {
        if self.back.geometry.pages() <= CHECKED_PAGES {
            self.check();
        }
    }

    /// Serves a request that has crossed the link. While power is out, the request waits instead.
    #[inline]
    fn dispatch(&mut self, now: Nanos, slot: u32) {
        if self.power.as_mut().is_some_and(|power| power.hold_request(slot)) {
            return self.check_power_failure(now);
        }
        self.front.dispatch(now, slot, &mut self.back);
    }

    /// Continues all requests whose flash operations have ended, and does everything else that is due at `now`.
    #[inline]
    fn go_on(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        if !self.ended.is_empty() {
            self.operations_ended(now);
        }
        self.front.advance(now, &mut self.back);
        if self.background.as_ref().is_some_and(|background| background.next_event() == now) {
            self.clean_in_background(now);
        }
        while let Some(slot) = self.front.pop_ready(now) {
            self.complete(now, slot, done);
        }
        if self.power.is_some() {
            self.check_sudden_power_failure(now);
            while let Some(slot) = self.front.pop_ready(now) {
                self.complete(now, slot, done);
            }
        }
        self.update_next();
    }

    /// Prefetches what the layer will need for the write that will probably come next.
    #[inline]
    fn prefetch_expected(&mut self) {
        if let Some(page) = self.expected.take() {
            self.back.ftl.prefetch_write(page, &self.back.flash);
        }
    }

    /// Returns true if the drive does nothing but serve requests. In that case, only its front and its array can have
    /// something due.
    #[inline]
    fn only_serves(&self) -> bool {
        self.background.is_none() && self.power.is_none() && self.timeline.is_none()
    }

    /// Handles the ends of flash operations at this instant.
    #[inline]
    fn operations_ended(&mut self, now: Nanos) {
        let mut ended = std::mem::take(&mut self.ended);
        for Ended { waiter, start } in ended.drain(..) {
            match waiter.slot() {
                Some(slot) => self.front.operation_ended(now, slot, start, &mut self.back),
                None => self.internal_operation_ended(now, waiter),
            }
        }
        self.ended = ended;
    }

    /// Handles the end of a flash operation that no request waits for: of recovery, background cleaning or the buffer.
    #[cold]
    fn internal_operation_ended(&mut self, now: Nanos, waiter: Waiter) {
        match waiter.kind() {
            WaiterKind::Background if self.power.as_ref().is_some_and(PowerFailure::is_recovering) => {
                self.recovery_operation_ended(now);
            }
            WaiterKind::Background => self.cleaned_in_background(now),
            WaiterKind::Entry(entry) => {
                self.front.write_out_operation_ended(now, entry, &mut self.back);
                self.check_idle(now);
            }
            WaiterKind::Request(_) | WaiterKind::Nobody => {
                unreachable!("the end of an operation of {waiter:?} is handled elsewhere")
            }
        }
    }

    /// Completes a request, which leaves the drive.
    #[inline]
    fn complete(&mut self, now: Nanos, slot: u32, done: &mut Vec<Completion>) {
        let completion = self.front.complete(now, slot, &mut self.back);
        if let Some(timeline) = &mut self.timeline {
            timeline.completed(slot, &completion);
        }
        done.push(completion);
        self.check_idle(now);
        if self.power.is_some() {
            self.check_power_failure(now);
        }
    }

    #[inline]
    fn update_next(&mut self) {
        let mut next = self.back.array.get_mut().next_event().min(self.front.next_event());
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
        self.back.capacity()
    }

    #[inline]
    fn free_slots(&self) -> usize {
        self.front.slots.free()
    }

    #[inline]
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now <= self.next, "an event at {} was skipped", self.next);
        self.now = now;
        let (slot, came_in) = self.front.take(now, tag, request);
        if let Some(timeline) = &mut self.timeline {
            timeline.submitted(now, slot, &request);
        }
        if let Some(background) = &mut self.background {
            background.postpone();
        }
        if came_in {
            self.dispatch(now, slot);
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
        self.prefetch_expected();
        while let Some(slot) = self.front.pop_received(now) {
            self.dispatch(now, slot);
        }
        let array = self.back.array.get_mut();
        if array.next_event() == now {
            array.advance(now, &mut self.ended);
            if let Some(timeline) = &mut self.timeline {
                timeline.performed(array.performed());
            }
        }
        self.go_on(now, done);
    }

    #[inline]
    fn advance_before(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let array_only = limit.min(self.front.next_event());
        if self.next >= array_only || !self.only_serves() {
            let now = self.next;
            self.advance(now, done);
            return now;
        }
        self.prefetch_expected();
        self.now = self.back.array.get_mut().advance_before(array_only, &mut self.ended);
        self.go_on(self.now, done);
        self.now
    }

    #[inline]
    fn expect(&self, request: &Request) {
        if request.end_byte() <= self.back.capacity().0 && request.length > Bytes::ZERO {
            let page = LogicalPage(self.back.page_of(request.start.byte_offset()) as u32);
            self.back.ftl.prefetch(page);
            self.expected.set(request.kind.is_write().then_some(page));
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        // Measuring may start while a hybrid still copies, but the host's requests have ended by then.
        let needs_idle = !matches!(command, Control::StartMeasuring | Control::PauseWearLevelling(_));
        assert!(!needs_idle || self.front.slots.in_use() == 0, "this command needs an idle drive: {command:?}");
        self.now = self.now.max(now);
        match command {
            // The owner would not know of data that it has not written itself.
            Control::Precondition(_) if self.back.keeper.is_some() => Ok(()),
            Control::Precondition(condition) => {
                self.precondition(now, condition);
                Ok(())
            }
            Control::StartMeasuring => {
                self.start_measuring(now);
                Ok(())
            }
            Control::RecordTimeline(stretch) => {
                assert_eq!(self.front.completed, 0, "a timeline begins before any request");
                let Back { geometry, timing, .. } = &self.back;
                self.back.array = RefCell::new(Array::recording(geometry, timing, &self.settings.wiring()));
                self.prepare_for_power_failure();
                self.back.choose_operations(self.power.is_some());
                self.timeline = Some(Box::new(Timeline::new(stretch)));
                Ok(())
            }
            // What the layer has emitted goes on: a move is either made as a whole or not begun.
            Control::PauseWearLevelling(is_paused) => self.back.ftl.pause_levelling(is_paused),
        }
    }

    fn telemetry(&self) -> Telemetry {
        self.telemetry_now()
    }

    fn ownable(&mut self) -> Option<&mut dyn Ownable> {
        Some(self)
    }
}

impl Reporting for Ssd {
    fn report(&self, into: &mut Report) {
        #[cfg(debug_assertions)]
        self.check_if_small();
        let report = self.report_at(into.end(self.now));
        into.add(&self.name, report);
    }
}
