//! Pushes a list of operations to the dies.

use esker_core::PhysicalPage;

use super::super::Waiter;
use super::super::register::{Register, Use};
use super::op::{DieOp, DieOpKind, NOBODY};
use super::{InRuns, Nanos};
use crate::state::{FlashOp, FlashOpKind, OpIndex, OpModes, Transfer};
use crate::{CopyBack, DieIndex};

/// The ties of an operation to others of its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The mark that it waits for, or [`NOBODY`].
    waits: u32,
    /// The first mark that its end fulfils, or [`NOBODY`].
    signals: u32,
    /// Whether its end is not reported, since a reported operation waits for it and reports for both.
    silent: bool,
    reports_both: bool,
    /// Whether it reads a page that the next operation of the list programs on the same die.
    pairs: bool,
}

impl Link {
    const NONE: Self = Self { waits: NOBODY, signals: NOBODY, silent: false, reports_both: false, pairs: false };

    /// Makes an operation of a die from `op` and its ties.
    #[inline(always)]
    fn apply(self, op: &FlashOp, more_steps: u8, waiter: Waiter) -> DieOp {
        let told = op.awaited && !self.silent || waiter == Waiter::BACKGROUND;
        DieOp {
            kind: DieOpKind::Read,
            cause: op.cause,
            more_steps,
            reports_both: self.reports_both,
            count: 1,
            waiter: if told { waiter } else { Waiter::NOBODY },
            waits: self.waits,
            signals: self.signals,
            sequence: 0,
            modes: op.modes,
        }
    }
}

impl InRuns {
    /// Takes the operations of one call of the translation layer at `now`, at least one. Those for the host belong to
    /// `waiter`. Returns how many operations will be reported as ended.
    #[inline]
    pub(in crate::array) fn push(&mut self, now: Nanos, ops: &[FlashOp], more_steps: &[u8], waiter: Waiter) -> u32 {
        let count = match ops {
            [op] => {
                let more = more_steps.first().copied().unwrap_or(0);
                u32::from(self.push_one(now.0, op, more, waiter, Link::NONE))
            }
            ops => self.push_list(now.0, ops, more_steps, waiter),
        };
        self.wake_pushed();
        self.pushed_to = NOBODY;
        count
    }

    /// Updates the wake times of the dies that were pushed to.
    #[inline]
    fn wake_pushed(&mut self) {
        while let Some(die) = self.pushed.pop() {
            self.wake(die as usize);
        }
    }

    fn push_list(&mut self, now: u64, ops: &[FlashOp], more_steps: &[u8], waiter: Waiter) -> u32 {
        let mut count = 0;
        let more = |index: usize| more_steps.get(index).copied().unwrap_or(0);
        if ops.iter().all(|op| op.after.is_none()) {
            for (index, op) in ops.iter().enumerate() {
                count += u32::from(self.push_one(now, op, more(index), waiter, Link::NONE));
            }
            return count;
        }
        self.link(ops, waiter);
        let mut index = 0;
        while let Some(op) = ops.get(index) {
            let link = self.links[index];
            if link.pairs {
                // An operation that waits for the program waits for both.
                let Link { signals, silent, .. } = self.links[index + 1];
                let modes = OpModes::new(op.modes.read(), ops[index + 1].modes.program());
                let both = DieOp { modes, ..Link { signals, silent, ..link }.apply(op, more(index), waiter) };
                let pages = [self.first_page(op), self.first_page(&ops[index + 1])];
                self.enqueue(now, self.first_die(op), DieOp { kind: DieOpKind::Rewrite, ..both }, pages);
                count += u32::from(both.waiter != Waiter::NOBODY);
                index += 2;
            } else {
                count += u32::from(self.push_one(now, op, more(index), waiter, link));
                index += 1;
            }
        }
        count
    }

    /// Finds the operations of a list that wait for operations on other dies.
    fn link(&mut self, ops: &[FlashOp], waiter: Waiter) {
        self.links.clear();
        self.links.resize(ops.len(), Link::NONE);
        for (index, op) in ops.iter().enumerate() {
            let Some(OpIndex(after)) = op.after else { continue };
            if matches!(op.kind, FlashOpKind::Erase { block } if !self.timing.erases(block)) {
                continue;
            }
            let after = after as usize;
            let first = &ops[after];
            let (from, to) = (self.last_die(first), self.first_die(op));
            let is_read = matches!(first.kind, FlashOpKind::Read { .. });
            let is_program = matches!(op.kind, FlashOpKind::Program { transfer: Transfer::Page, .. });
            let alike = (first.cause, first.awaited) == (op.cause, op.awaited);
            if after + 1 == index && is_read && is_program && alike && from == to {
                self.links[after].pairs = true;
                continue;
            }
            if std::mem::take(&mut self.links[after].pairs) {
                // Another operation waits for the read alone.
                self.tie(after, after + 1, ops, waiter);
            }
            self.tie(after, index, ops, waiter);
        }
    }

    /// Makes operation `index` of a list wait for operation `after`. On one die the order of pushing is enough, unless
    /// a page has to be decoded first.
    fn tie(&mut self, after: usize, index: usize, ops: &[FlashOp], waiter: Waiter) {
        let (first, op) = (&ops[after], &ops[index]);
        let die = self.last_die(first);
        let decodes = self.decodes && matches!(first.kind, FlashOpKind::Read { .. });
        if !decodes && die == self.first_die(op) {
            return;
        }
        let mark = self.marks.add(die.0, self.links[after].signals);
        self.links[after].signals = mark;
        self.links[index].waits = mark;
        // The host only needs the end of the last one.
        if waiter != Waiter::BACKGROUND && first.awaited && op.awaited {
            self.links[after].silent = true;
            self.links[index].reports_both = true;
        }
    }

    fn first_die(&self, op: &FlashOp) -> DieIndex {
        match op.kind {
            FlashOpKind::Read { page }
            | FlashOpKind::ReadSpare { page }
            | FlashOpKind::Program { page, .. }
            | FlashOpKind::Copy { from: page, .. }
            | FlashOpKind::CopyRun { from: page, .. } => self.geometry.die_of_page(page),
            FlashOpKind::Erase { block } => self.geometry.die_of(block),
        }
    }

    fn last_die(&self, op: &FlashOp) -> DieIndex {
        match op.kind {
            FlashOpKind::Copy { to, .. } | FlashOpKind::CopyRun { to, .. } => self.geometry.die_of_page(to),
            _ => self.first_die(op),
        }
    }

    /// Pushes one operation. Returns true if its end will be reported.
    #[inline(always)]
    fn push_one(&mut self, now: u64, op: &FlashOp, more_steps: u8, waiter: Waiter, link: Link) -> bool {
        let kind = match op.kind {
            FlashOpKind::Read { .. } => DieOpKind::Read,
            FlashOpKind::ReadSpare { .. } => DieOpKind::ReadSector,
            FlashOpKind::Program { transfer: Transfer::Page, .. } => DieOpKind::Program,
            FlashOpKind::Program { transfer: Transfer::Sector, .. } => DieOpKind::ProgramSector,
            FlashOpKind::Erase { block } if !self.timing.erases(block) => return false,
            FlashOpKind::Erase { .. } => DieOpKind::Erase,
            FlashOpKind::Copy { from, to } => {
                return self.push_copies(now, from, to, link.apply(op, more_steps, waiter));
            }
            FlashOpKind::CopyRun { from, to, count } => {
                return self.push_copies(now, from, to, DieOp { count, ..link.apply(op, more_steps, waiter) });
            }
        };
        let (die, page) = (self.first_die(op), self.first_page(op));
        let op = DieOp { kind, ..link.apply(op, more_steps, waiter) };
        self.enqueue(now, die, op, [page; 2]);
        op.waiter != Waiter::NOBODY
    }

    /// Pushes copies of consecutive pages. Returns true if the end of the last one will be reported.
    #[inline(never)]
    fn push_copies(&mut self, now: u64, from: PhysicalPage, to: PhysicalPage, copies: DieOp) -> bool {
        let (source, target) = (self.geometry.die_of_page(from), self.geometry.die_of_page(to));
        let inside_plane = self.copies.applies(&self.geometry, from, to);
        if source == target && !inside_plane {
            self.enqueue(now, source, DieOp { kind: DieOpKind::Copy, ..copies }, [from, to]);
            return copies.waiter != Waiter::NOBODY;
        }
        for index in 0..copies.count {
            // The first copy waits, and the last one reports: each die keeps their order.
            let DieOp { mut waits, mut signals, mut waiter, .. } = copies;
            if index > 0 {
                waits = NOBODY;
            }
            if index + 1 < copies.count {
                (signals, waiter) = (NOBODY, Waiter::NOBODY);
            }
            let copy = DieOp { count: 1, waits, signals, waiter, ..copies };
            if inside_plane {
                let kind =
                    if self.copies == CopyBack::Checked { DieOpKind::CopyBackChecked } else { DieOpKind::CopyBack };
                self.enqueue(now, source, DieOp { kind, ..copy }, [from; 2]);
            } else {
                let read = self.marks.add(source.0, NOBODY);
                self.enqueue(
                    now,
                    source,
                    DieOp { kind: DieOpKind::CopyOut, signals: read, waiter: Waiter::NOBODY, ..copy },
                    [from; 2],
                );
                self.enqueue(
                    now,
                    target,
                    DieOp { kind: DieOpKind::CopyIn, waits: read, more_steps: 0, ..copy },
                    [to; 2],
                );
            }
        }
        copies.waiter != Waiter::NOBODY
    }

    /// Returns the first page of `op`.
    #[inline(always)]
    fn first_page(&self, op: &FlashOp) -> PhysicalPage {
        match op.kind {
            FlashOpKind::Read { page }
            | FlashOpKind::ReadSpare { page }
            | FlashOpKind::Program { page, .. }
            | FlashOpKind::Copy { from: page, .. }
            | FlashOpKind::CopyRun { from: page, .. } => page,
            FlashOpKind::Erase { block } => self.geometry.first_page(block),
        }
    }

    /// Adds `op` to the queue of `die`. `pages` are the pages of its first and, if it has two parts, its second part.
    #[inline(always)]
    fn enqueue(&mut self, now: u64, die: DieIndex, mut op: DieOp, pages: [PhysicalPage; 2]) {
        // Most lists are for one die.
        if die.0 != self.pushed_to {
            self.push_to(now, die);
        }
        if !self.registers.is_empty() {
            op.kind = self.update_registers(now, die, &op, pages);
        }
        op.sequence = self.sequence;
        self.sequence += if op.kind.has_two_parts() { 2 * u64::from(op.count) } else { 1 };
        let index = die.0 as usize;
        let state = &mut self.dies[index];
        let planned = state.plan(&op, &self.parts, &self.timing);
        self.marks.plan(op.signals, planned);
        if state.is_idle() {
            state.free = state.free.max(now);
            self.begin(index, op);
        } else {
            state.queue(op);
        }
    }

    /// Updates the registers of the planes of `die` for `op`. Returns its kind: a shorter one if its flash page is in
    /// the register, which requires that `op` is pushed no later than the operation before it ends.
    #[inline(never)]
    fn update_registers(&mut self, now: u64, die: DieIndex, op: &DieOp, pages: [PhysicalPage; 2]) -> DieOpKind {
        let state = &self.dies[die.0 as usize];
        if state.is_idle() && state.free < now {
            let planes = self.registers.len() / self.dies.len();
            self.registers[die.0 as usize * planes..][..planes].fill(Register::Other);
        }
        let units = self.geometry.units_per_page();
        let [first, second] = pages.map(|page| self.geometry.plane_of(self.geometry.block_of(page)).0 as usize);
        let page = u64::from(pages[0].0 / units);
        let again = op.more_steps > 0;
        let (this, then) = match op.kind {
            DieOpKind::Read | DieOpKind::ReadSector => (Use::Read { page, copies: false, again }, None),
            DieOpKind::CopyOut => (Use::Read { page, copies: true, again }, None),
            DieOpKind::Copy => (Use::Read { page, copies: true, again }, Some(Use::CopyIn)),
            DieOpKind::Rewrite => (Use::Read { page, copies: false, again }, Some(Use::Other)),
            DieOpKind::CopyIn => (Use::CopyIn, None),
            _ => (Use::Other, None),
        };
        let serves = self.registers[first].serves(this);
        self.registers[first] = self.registers[first].after(this);
        if let Some(then) = then {
            self.registers[second] = self.registers[second].after(then);
        }
        op.kind.held().filter(|_| serves).unwrap_or(op.kind)
    }

    /// Prepares `die` for pushes: everything that asked for its bus before `now` is decided first.
    #[inline]
    fn push_to(&mut self, now: u64, die: DieIndex) {
        self.catch_up(self.dies[die.0 as usize].bus, now);
        self.pushed_to = die.0;
        if !self.pushed.contains(&die.0) {
            self.pushed.push(die.0);
        }
    }
}
