//! The general scheduler, one event at a time: dies may do operations out of order, together, or with suspensions.
//!
//! An operation is a row of phases on its die: cell work before a transfer, the transfer, cell work after it. At each
//! time, phases end first, in any order. Then each idle die picks an operation, and each free bus serves the die that
//! asked first, ties by the order in which operations were pushed. Since picking waits until all operations of that
//! time are known, it sees all of one request.
//!
//! In first-in, first-out order and without any of these extras it gives the times of [`super::in_runs`]; a property
//! test compares them.

mod bus;
mod control;
mod decide;
mod ends;
mod group;
mod layout;
#[cfg(test)]
mod naive;
mod op;
mod ops;
mod phases;
mod queue;
mod tracked;

use std::collections::BTreeMap;

use esker_core::{Nanos, PhysicalPage};

use super::audit::Audit;
use super::delivery::Deliveries;
use super::tally::{DieStep, STEPS, Tally};
use super::{Ended, Performed, Waiter};
use crate::array::Timing;
use crate::state::{Cause, Cover, FlashOp, FlashOpKind, OpIndex, Transfer, WRITE_MODES};
use crate::{CopyBack, FlashArraySettings, Gang, GangControl, Geometry, Rewrite, Scheduling};
use bus::Bus;
use control::Control;
use ends::Ends;
pub(super) use layout::Layout;
use op::{How, NO_CHANGE, Op, Touch};
use ops::Ops;
use phases::{Die, Shape};
use tracked::TrackedChanges;

/// The time of an event that is not scheduled.
const NEVER: u64 = u64::MAX;
/// Stands for no operation, or for no block.
const NOBODY: u32 = u32::MAX;

/// A notification that is due when the page that an operation read is decoded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    waiter: Waiter,
    start: u64,
    /// The first tie to an operation that waits for the decoded page.
    followers: u32,
}

/// The result of a decoder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decoded {
    Known(Known),
    /// The page has to be read again, by this operation.
    Failed(u32),
}

/// Dies and buses that decide as late as possible.
#[derive(Debug)]
pub(in crate::array) struct ByEvent {
    geometry: Geometry,
    layout: Layout,
    timing: Timing,
    shapes: [[Shape; STEPS]; WRITE_MODES],
    settings: FlashArraySettings,
    /// How packages share control lines, if they do.
    gang_control: Option<GangControl>,
    ops: Ops,
    dies: Vec<Die>,
    buses: Vec<Bus>,
    /// Per channel, the control lines of its gang.
    controls: Vec<Control>,
    ends: Ends,
    /// Channels where something may begin at [`Self::decide_at`], in any order; some of them may come twice.
    to_decide: Vec<u32>,
    decide_at: u64,
    sequence: u64,
    tally: Tally,
    audit: Audit,
    /// For each operation of the list that is being pushed, the resulting operation of each part. For a copy, its
    /// program.
    pushed: Vec<u32>,
    ended: Vec<Ended>,
    /// Pages in the decoder.
    decoded: Deliveries<Decoded>,
    /// Operations that ended, if they are recorded.
    performed: Option<Vec<Performed>>,
    tracked: Option<TrackedChanges>,
    /// For parts whose pages are decoded one by one, in the list that is being pushed: the key is the last read of a
    /// part, the value its other reads.
    beside: BTreeMap<u32, Vec<u32>>,
    /// Number of the change that is being pushed, and whether it waits for earlier ones.
    change: (u64, bool),
    /// Scratch memory for short lists, to save allocations.
    some_ops: Vec<u32>,
}

impl ByEvent {
    pub(in crate::array) fn new(
        geometry: &Geometry,
        layout: Layout,
        timing: &Timing,
        settings: &FlashArraySettings,
    ) -> Self {
        let dies = layout.dies() as usize;
        let channels = layout.channels() as usize;
        let shared_control = settings.gang == Gang::SharedControl;
        let registers = if geometry.units_per_page() == 1 { 0 } else { layout.planes_per_die() };
        let blocks = geometry.blocks() * layout.parts();
        let shapes = Shape::of_modes(timing);
        let buses = if shared_control { layout.packages() as usize } else { channels };
        Self {
            geometry: *geometry,
            timing: *timing,
            shapes,
            settings: settings.clone(),
            gang_control: shared_control.then_some(settings.gang_control),
            ops: Ops::new(if settings.scheduling == Scheduling::Fifo { 0 } else { blocks as usize }),
            dies: (0..dies).map(|die| Die::new(&layout, settings.gang, die as u32, registers)).collect(),
            buses: vec![Bus::default(); buses],
            controls: vec![Control::default(); channels],
            ends: Ends::new(shapes.iter().flatten().flat_map(Shape::lengths).collect()),
            to_decide: Vec::new(),
            decide_at: NEVER,
            sequence: 0,
            tally: Tally::default(),
            audit: Audit::new(dies, buses, channels),
            pushed: Vec::new(),
            ended: Vec::new(),
            decoded: Deliveries::new(),
            performed: None,
            tracked: None,
            beside: BTreeMap::new(),
            change: (NO_CHANGE, false),
            some_ops: Vec::new(),
            layout,
        }
    }

    /// Starts to record operations for [`Self::performed`].
    pub(in crate::array) fn record(&mut self) {
        self.performed = Some(Vec::new());
    }

    /// Takes the operations that ended since the last call.
    pub(in crate::array) fn performed(&mut self) -> Option<Vec<Performed>> {
        self.performed.as_mut().map(std::mem::take)
    }

    /// Returns the time of the next event.
    #[inline]
    pub(in crate::array) fn next_event(&self) -> Nanos {
        Nanos(self.ends.next().min(self.decide_at).min(self.decoded.next()))
    }

    /// See [`super::Array::push`].
    pub(in crate::array) fn push(
        &mut self,
        now: Nanos,
        ops: &[FlashOp],
        more_steps: &[u8],
        waiter: Waiter,
        cover: Option<&Cover>,
    ) -> u32 {
        let mut count = 0;
        let parts = self.layout.parts();
        let flash_pages = (parts * self.layout.depth()) as usize;
        self.beside.clear();
        self.pushed.clear();
        self.pushed.resize(ops.len() * parts as usize, NOBODY);
        for (index, op) in ops.iter().enumerate() {
            if self.is_read_in_plane(ops, index) {
                continue;
            }
            // A read and program done as one wait for what the read would wait for.
            let old = self.rewritten(ops, index);
            let waits_for = old.map_or(op.after, |read| read.after);
            let awaited = (op.awaited || waiter == Waiter::BACKGROUND) && waiter != Waiter::NOBODY;
            let waiter = if awaited { waiter } else { Waiter::NOBODY };
            let more = more_steps.get(index * flash_pages..(index + 1) * flash_pages).unwrap_or_default();
            if let Some(tracked) = self.tracked.as_mut().filter(|_| op.is_change()) {
                self.change = tracked.push(parts);
            }
            for part in 0..parts {
                let after = waits_for.map_or(NOBODY, |OpIndex(after)| self.pushed[(after * parts + part) as usize]);
                let last = self.push_part(now.0, op, old, part, more, waiter, after, cover);
                self.pushed[index * parts as usize + part as usize] = last;
                if last != NOBODY && waiter != Waiter::NOBODY {
                    count += 1 + self.beside.get(&last).map_or(0, Vec::len) as u32;
                }
            }
        }
        count
    }

    /// Returns the read of an old page that the program at `index` includes, inside a plane.
    fn rewritten<'a>(&self, ops: &'a [FlashOp], index: usize) -> Option<&'a FlashOp> {
        if self.settings.rewrite == Rewrite::Controller {
            return None;
        }
        let (FlashOpKind::Program { page, transfer: Transfer::Page }, Cause::Host) =
            (ops[index].kind, ops[index].cause)
        else {
            return None;
        };
        let after = ops[index].after?;
        let read = &ops[after.0 as usize];
        let FlashOpKind::Read { page: old } = read.kind else { return None };
        let plane = |page: PhysicalPage| self.geometry.plane_of(self.geometry.block_of(page));
        let alone = ops.iter().filter(|op| op.after == Some(after)).count() == 1;
        (read.cause == Cause::Host && plane(old) == plane(page) && alone).then_some(read)
    }

    /// Returns true if the operation at `index` is a read that a later program includes.
    fn is_read_in_plane(&self, ops: &[FlashOp], index: usize) -> bool {
        let follows = |later: &usize| ops[*later].after == Some(OpIndex(index as u32));
        self.settings.rewrite == Rewrite::InPlane
            && (index + 1..ops.len()).filter(follows).any(|later| self.rewritten(ops, later).is_some())
    }

    /// Pushes one part of `op`, which may include the read `old`. Returns the operation of the die that ends it.
    #[expect(clippy::too_many_arguments, reason = "all of them differ from part to part or from list to list")]
    fn push_part(
        &mut self,
        now: u64,
        op: &FlashOp,
        old: Option<&FlashOp>,
        part: u32,
        more_steps: &[u8],
        waiter: Waiter,
        after: u32,
        cover: Option<&Cover>,
    ) -> u32 {
        let geometry = self.geometry;
        let depth = self.layout.depth();
        let at = |layout: &Layout, block| layout.place(&geometry, block, part);
        // Pages of a part that have to be read for the host.
        let needed = || cover.map_or(depth, |cover| self.layout.pages_of_part(part, &cover.needed));
        if let (FlashOpKind::Program { page, .. }, Some(FlashOpKind::Read { page: old })) =
            (op.kind, old.map(|old| old.kind))
            && needed() > 0
        {
            let place = at(&self.layout, geometry.block_of(page));
            let source = at(&self.layout, geometry.block_of(old));
            let also = Some(Touch { block: source.block, page: old.0, how: How::Read });
            let rewrite = Op { also, ..Op::new(DieStep::Rewrite, place, page.0, depth, op.cause, waiter) };
            return self.enqueue(now, rewrite, after);
        }
        match op.kind {
            FlashOpKind::Read { page } => {
                let pages = if op.cause == Cause::Host { needed() } else { depth };
                if pages == 0 {
                    return NOBODY;
                }
                let place = at(&self.layout, geometry.block_of(page));
                let mode = op.modes.read();
                let read = Op { mode, ..Op::new(DieStep::Read, place, page.0, pages, op.cause, waiter) };
                let needed = cover.filter(|_| op.cause == Cause::Host);
                self.enqueue_read(now, read, part, needed, more_steps, after)
            }
            FlashOpKind::ReadSpare { page } => {
                let place = at(&self.layout, geometry.block_of(page));
                self.enqueue(now, Op::new(DieStep::ReadSector, place, page.0, 1, op.cause, waiter), after)
            }
            FlashOpKind::Program { page, transfer } => {
                let place = at(&self.layout, geometry.block_of(page));
                let (step, pages) = match transfer {
                    Transfer::Page => (DieStep::Program, depth),
                    Transfer::Sector => (DieStep::ProgramSector, 1),
                };
                let mode = op.modes.program();
                self.enqueue(now, Op { mode, ..Op::new(step, place, page.0, pages, op.cause, waiter) }, after)
            }
            FlashOpKind::Copy { from, to } if self.settings.copy_back.applies(&geometry, from, to) => {
                let step = match self.settings.copy_back {
                    CopyBack::Checked => DieStep::CopyBackChecked,
                    _ => DieStep::CopyBack,
                };
                let target = at(&self.layout, geometry.block_of(to));
                let source = at(&self.layout, geometry.block_of(from));
                let also = Some(Touch { block: source.block, page: from.0, how: How::Read });
                let copy = Op { also, ..Op::new(step, target, to.0, depth, op.cause, waiter) };
                self.enqueue(now, copy, after)
            }
            FlashOpKind::Copy { from, to } => {
                let source = at(&self.layout, geometry.block_of(from));
                let target = at(&self.layout, geometry.block_of(to));
                let (mode, programs) = (op.modes.read(), op.modes.program());
                let read = Op { mode, ..Op::new(DieStep::CopyOut, source, from.0, depth, op.cause, Waiter::NOBODY) };
                let read = self.enqueue_read(now, read, part, None, more_steps, after);
                let program = Op::new(DieStep::CopyIn, target, to.0, depth, op.cause, waiter);
                self.enqueue(now, Op { source: source.block, mode: programs, ..program }, read)
            }
            FlashOpKind::CopyRun { .. } => unreachable!("what is planned page by page is given page by page"),
            FlashOpKind::Erase { block } if !self.timing.erases(block) => NOBODY,
            FlashOpKind::Erase { block } => {
                let place = at(&self.layout, block);
                self.enqueue(now, Op::new(DieStep::Erase, place, NOBODY, 1, op.cause, waiter), after)
            }
        }
    }

    /// Adds reads of a part's pages: all of them, or those in `cover`. Returns the last one. If each is decoded on its
    /// own (`more_steps` has a number for each flash page), the others are kept in [`Self::beside`].
    fn enqueue_read(
        &mut self,
        now: u64,
        read: Op,
        part: u32,
        cover: Option<&Cover>,
        more_steps: &[u8],
        after: u32,
    ) -> u32 {
        if more_steps.len() < 2 {
            return self.enqueue(now, Op { more_steps: more_steps.first().copied().unwrap_or(0), ..read }, after);
        }
        let mut others = Vec::new();
        let mut last = NOBODY;
        for page in (part..more_steps.len() as u32).step_by(self.layout.parts() as usize) {
            if cover.is_some_and(|cover| !cover.needed.iter().any(|range| range.contains(&page))) {
                continue;
            }
            let single = Op { pages: 1, more_steps: more_steps[page as usize], ..read.clone() };
            let op = self.enqueue(now, single, after);
            others.extend((last != NOBODY).then_some(last));
            last = op;
        }
        if !others.is_empty() {
            self.beside.insert(last, others);
        }
        last
    }

    /// Processes everything due at `now`, which is [`Self::next_event`], and appends the host operations that ended.
    pub(in crate::array) fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        let last = self.advance_before(now, ended);
        debug_assert_eq!(last, now, "the next event is at another time");
    }

    /// See [`super::Array::advance_before`]. What is due at [`Self::next_event`] is processed even if `limit` is no
    /// later.
    pub(in crate::array) fn advance_before(&mut self, limit: Nanos, ended: &mut Vec<Ended>) -> Nanos {
        let mut now = self.next_event();
        loop {
            self.process(now.0);
            let next = self.next_event();
            if !self.ended.is_empty() || next >= limit {
                ended.append(&mut self.ended);
                return now;
            }
            now = next;
        }
    }

    /// Processes everything due at `now`, which is [`Self::next_event`].
    #[inline(always)]
    fn process(&mut self, now: u64) {
        while self.ends.next() == now {
            self.ends.come_due(now);
            while let Some(die) = self.ends.take_due() {
                self.end_phase(die as usize, now);
            }
        }
        while let Some(decoded) = self.decoded.take(now) {
            match decoded {
                Decoded::Known(known) => self.known(now, known),
                Decoded::Failed(again) => self.release(again, now),
            }
        }
        while let Some(channel) = self.to_decide.pop() {
            self.decide(channel, now);
        }
        self.decide_at = NEVER;
    }

    /// Returns the busy times so far of all dies.
    pub(in crate::array) fn die_busy(&self) -> impl Iterator<Item = Nanos> {
        self.dies.iter().map(|die| Nanos(die.busy))
    }

    /// Returns the busy times so far of all buses.
    pub(in crate::array) fn bus_busy(&self) -> impl Iterator<Item = Nanos> {
        self.buses.iter().map(|bus| Nanos(bus.busy))
    }

    /// Returns the steps since measuring began, by kind and cause.
    pub(in crate::array) fn tally(&self) -> Tally {
        self.tally
    }

    /// Fills `into` with one time per die of the translation layer: how long after `now` its operations will keep it
    /// busy, not counting waits.
    pub(in crate::array) fn backlog(&self, now: Nanos, into: &mut Vec<u64>) {
        into.clear();
        into.resize(self.geometry.dies() as usize, 0);
        for (index, backlog) in into.iter_mut().enumerate() {
            let work = |die: u32| {
                let die = &self.dies[die as usize];
                die.queued + die.rest(now.0)
            };
            *backlog = self.layout.dies_of(index as u32).map(work).max().unwrap_or(0);
        }
    }

    /// See [`super::Array::waiting`].
    pub(in crate::array) fn waiting(&self, die: u32) -> u32 {
        let dies = self.layout.dies_of(die).map(|die| self.dies[die as usize].queue.len());
        dies.min().unwrap_or(0)
    }

    /// See [`super::Array::next_in_order`].
    pub(in crate::array) fn next_in_order(&self) -> u64 {
        self.sequence
    }

    /// See [`super::Array::continue_order`].
    pub(in crate::array) fn continue_order(&mut self, place: u64, reads: u64) {
        self.sequence = place + reads * u64::from(self.layout.parts());
    }

    /// Resets busy times.
    pub(in crate::array) fn reset_busy(&mut self) {
        self.dies.iter_mut().for_each(|die| (die.busy, die.is_counted) = (0, false));
        self.buses.iter_mut().for_each(|bus| bus.busy = 0);
        self.tally = Tally::default();
    }
}
