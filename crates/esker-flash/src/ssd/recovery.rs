//! Finding everything again after a power failure, step by step: the drive saves its protected buffer, looks for its data, makes
//! what room it needs, and brings the buffer's pages back.

use std::collections::VecDeque;

use esker_core::{LogicalPage, Nanos, PhysicalPage};
use esker_ftl::{Cells, LayerCapability};
use esker_nand::array::Waiter;
use esker_nand::state::{Cause, FlashOp, FlashOpKind, OpList, Scan, Transfer};
use esker_nand::{BlockIndex, Geometry, MultiPlane, Scheduling};
use esker_results::RecoveryWay;

use super::Ssd;
use super::power::Stage;

/// Reads that each die has before it while there are more. They are handed on when half as many have ended, whichever they are,
/// so that no die ever waits for its next one; the schedule is that of all of them handed on at once.
const READS_AHEAD: u32 = 256;

/// What is done once all before it has ended.
#[derive(Debug)]
enum Step {
    /// Of the buffer, with pages of a reserved place.
    Save(Vec<FlashOp>),
    Scan(Box<Scan>),
    /// What the translation layer needs to go on.
    Write(OpList),
    /// The buffer is read back, and its place is erased.
    Restore(Vec<FlashOp>),
}

/// How far it has come.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    steps: VecDeque<Step>,
    /// When power failed.
    failed: Nanos,
    /// When what dies were amid has ended, where the drive waits for that.
    off: Option<Nanos>,
    /// Operations under way.
    under_way: u32,
    /// The scan under way, with the place of its first read in the order of pushing.
    scan: Option<(Box<Scan>, u64)>,
    /// Reads that ended since some were handed on.
    ended: u32,
    /// In place of [`READS_AHEAD`].
    #[cfg(test)]
    pub(super) reads_ahead: Option<u32>,
}

impl Recovery {
    pub(super) fn next_event(&self) -> Nanos {
        self.off.unwrap_or(Nanos::NEVER)
    }

    #[cfg(not(test))]
    fn reads_ahead(&self) -> u32 {
        READS_AHEAD
    }
    #[cfg(test)]
    fn reads_ahead(&self) -> u32 {
        self.reads_ahead.unwrap_or(READS_AHEAD)
    }
}

impl Ssd {
    /// All that is not on flash is lost, and the translation layer starts from nothing. Power failed at `now`, and dies have ended
    /// what they end in spite of it at `off`. `before` is what [`Self::versions`] said then.
    pub(super) fn recover(&mut self, now: Nanos, off: Nanos, before: &[u64]) {
        let counts_before = *self.flash.counts();
        self.former.add(&self.ftl.counters());
        if let Some(wear) = self.ftl.wear() {
            self.former_wear.migrated += wear.migrated;
            self.former_wear.spared += wear.spared;
        }
        self.ftl = self.new_layer();
        let array = &self.settings.array;
        let by_plane = array.scheduling == Scheduling::OutOfOrder && array.multi_plane != MultiPlane::Off;
        let mut ops = OpList::with_scan(Scan::new(&self.geometry, by_plane));
        if let Err(error) = self.ftl.recover(&mut Cells::new(&mut self.flash, &mut ops)) {
            // All data are found by then; so many blocks have gone bad that there is no room for more.
            assert!(self.settings.wear.is_some(), "a drive with good blocks does not recover: {error}");
            self.read_only = true;
        }
        let counts = self.flash.counts().since(&counts_before);
        let scan = ops.take_scan().expect("reads are kept apart");
        let (mut found, mut older, mut returned, mut missing) = (0, 0, 0, 0);
        let buffer = self.buffer.as_ref();
        let saved = |page| buffer.is_some_and(|buffer| buffer.memory.holds(LogicalPage(page)));
        for ((page, before), after) in (0..).zip(before).zip(self.versions()) {
            found += u64::from(after > 0);
            if after < *before && saved(page) {
                continue;
            }
            older += u64::from(0 < after && after < *before);
            returned += u64::from(*before == 0 && after > 0);
            missing += u64::from(*before > 0 && after == 0);
        }
        let power = self.power.as_mut().expect("it has failed");
        let report = &mut power.report;
        (report.found_pages, report.older_pages) = (found, older);
        (report.returned_pages, report.missing_pages) = (returned, missing);
        report.at_s = now.0 as f64 / 1e9;
        (report.reads, report.programs, report.erases) =
            (counts.reads().total(), counts.programs().total(), counts.erases);
        let layer = esker_ftl::entry(&self.settings.layer()).expect("it was built from the same settings before");
        report.way = match (layer.can(LayerCapability::RecoverByMap), self.geometry.block_summary()) {
            (true, _) => RecoveryWay::Directory,
            (false, true) => RecoveryWay::Summaries,
            (false, false) => RecoveryWay::FullScan,
        };
        (report.spare_area_reads, report.summary_reads) = (scan.counts.spare_areas, scan.counts.summaries);
        (report.map_page_reads, report.scanned_blocks) = (scan.counts.map_pages, scan.counts.scanned_blocks);
        let (save, restore) = reserved_place(&self.geometry, report.saved_pages);
        let steps = [Step::Save(save), Step::Scan(scan), Step::Write(ops), Step::Restore(restore)];
        power.stage = Stage::Recovering;
        power.recovery.steps = VecDeque::from(steps);
        power.recovery.failed = now;
        power.recovery.off = (off > now).then_some(off);
        if off == now {
            self.next_step_of_recovery(now);
        }
    }

    /// The steps before have ended.
    pub(super) fn next_step_of_recovery(&mut self, now: Nanos) {
        loop {
            let power = self.power.as_mut().expect("it has failed");
            let recovery = &mut power.recovery;
            recovery.off = None;
            recovery.ended = 0;
            if let Some((scan, first)) = recovery.scan.take() {
                debug_assert_eq!(scan.left(), 0, "a read was forgotten");
                self.array.get_mut().go_to_place(first, scan.emitted());
            }
            let Some(step) = recovery.steps.pop_front() else { return self.power_is_back(now) };
            let under_way = match step {
                Step::Save(ops) | Step::Restore(ops) => self.push_recovery(now, &ops),
                Step::Scan(scan) => {
                    power.report.save_s = (now - recovery.failed).0 as f64 / 1e9;
                    recovery.scan = Some((scan, self.array.get_mut().next_place()));
                    self.hand_on_reads(now);
                    self.power.as_ref().map_or(0, |power| power.recovery.under_way)
                }
                Step::Write(ops) => match ops.as_slice() {
                    [] => 0,
                    _ => {
                        self.ops = ops;
                        let under_way = self.issue(now, Waiter::BACKGROUND, None);
                        self.ops = OpList::default();
                        under_way
                    }
                },
            };
            if under_way > 0 {
                self.power.as_mut().expect("it has failed").recovery.under_way = under_way;
                return;
            }
        }
    }

    /// Hands operations on to the array that no translation layer follows.
    fn push_recovery(&mut self, now: Nanos, ops: &[FlashOp]) -> u32 {
        if ops.is_empty() { 0 } else { self.array.get_mut().push(now, ops, &[], Waiter::BACKGROUND, None) }
    }

    /// Gives each die so many reads that it never waits for more.
    fn hand_on_reads(&mut self, now: Nanos) {
        let recovery = &mut self.power.as_mut().expect("it has failed").recovery;
        let enough = recovery.reads_ahead();
        let Some((mut scan, first)) = recovery.scan.take() else { return };
        let array = self.array.get_mut();
        let (mut reads, mut under_way) = (Vec::new(), 0);
        for die in 0..self.geometry.dies() {
            let mut waiting = if scan.left() > 0 { array.waiting(die) } else { enough };
            while waiting < enough {
                let Some(number) = scan.take(die, enough - waiting, &mut reads) else { break };
                if scan.keeps_order() {
                    array.go_to_place(first, number);
                }
                waiting += reads.len() as u32;
                let more_steps = self.ecc.as_mut().map_or(&[][..], |ecc| {
                    ecc.judge(now, &reads, None);
                    ecc.more_steps()
                });
                under_way += array.push(now, &reads, more_steps, Waiter::BACKGROUND, None);
            }
        }
        let recovery = &mut self.power.as_mut().expect("it has failed").recovery;
        recovery.under_way += under_way;
        recovery.scan = Some((scan, first));
    }

    /// An operation of recovery has ended.
    pub(super) fn recovered_some(&mut self, now: Nanos) {
        let recovery = &mut self.power.as_mut().expect("it has failed").recovery;
        recovery.under_way -= 1;
        recovery.ended += 1;
        if recovery.scan.is_some() && recovery.ended >= recovery.reads_ahead().div_ceil(2) {
            recovery.ended = 0;
            self.hand_on_reads(now);
        }
        if self.power.as_ref().is_some_and(|power| power.recovery.under_way == 0) {
            self.next_step_of_recovery(now);
        }
    }

    fn power_is_back(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it has failed");
        power.stage = Stage::Over;
        power.report.duration_s = (now - power.recovery.failed).0 as f64 / 1e9;
        let mut held = Vec::from(std::mem::take(&mut power.held));
        held.sort_by_key(|slot| self.slots.get(*slot).request.priority);
        for slot in held {
            self.dispatch(now, slot);
        }
        if self.buffer.is_some() {
            self.write_out(now);
        }
        self.look_idle(now);
    }
}

/// The programs that bring so many pages of the buffer to their reserved place, over all dies and planes in turn; and the reads
/// that bring them back, with the erases that make the place ready again. The blocks are beside those that the translation layer
/// has; they stand here under the numbers of such ones, which say where they lie.
fn reserved_place(geometry: &Geometry, pages: u64) -> (Vec<FlashOp>, Vec<FlashOp>) {
    let (dies, planes) = (u64::from(geometry.dies()), u64::from(geometry.planes() / geometry.dies()));
    let per_block = u64::from(geometry.data_pages_per_block());
    let blocks_of_plane = u64::from(geometry.blocks_per_die()) / planes;
    let place = |page: u64| {
        let (die, of_die) = (page % dies, page / dies);
        let (plane, of_plane) = (of_die % planes, of_die / planes);
        let block = die * u64::from(geometry.blocks_per_die())
            + plane * blocks_of_plane
            + of_plane / per_block % blocks_of_plane;
        let block = BlockIndex(block as u32);
        (block, PhysicalPage(geometry.first_page(block).0 + (of_plane % per_block) as u32))
    };
    let op = |kind| FlashOp { kind, cause: Cause::Recovery, after: None, awaited: false };
    let program = |page| op(FlashOpKind::Program { page: place(page).1, transfer: Transfer::Page });
    let read = |page| op(FlashOpKind::Read { page: place(page).1 });
    let of_blocks = (0..pages).map(place).filter(|(block, page)| geometry.first_page(*block) == *page);
    let erases = of_blocks.map(|(block, _)| op(FlashOpKind::Erase { block }));
    ((0..pages).map(program).collect(), (0..pages).map(read).chain(erases).collect())
}
