//! Recovery from a power failure, in steps: the drive saves its protected buffer, scans flash for its data, makes the
//! room that it needs, and reads the buffer back.

use std::collections::VecDeque;

use esker_core::{LogicalPage, Nanos, PhysicalPage};
use esker_ftl::LayerCapability;
use esker_nand::array::Waiter;
use esker_nand::state::{Cause, FlashOp, FlashOpKind, OpList, OpModes, Scan, Transfer};
use esker_nand::{BlockIndex, Geometry, MultiPlane, Scheduling};
use esker_results::{RecoveryReport, RecoveryWay};

use super::{Ssd, Stage};

/// Number of scan reads that are issued to each die ahead of time. More are issued whenever half this number have ended
/// on all dies together, so that no die runs out of reads. The schedule is the same as if all were issued at once.
pub(super) const READS_AHEAD: u32 = 256;

/// A step of recovery. It begins once all operations of the previous step have ended.
#[derive(Debug)]
enum RecoveryStep {
    /// Saves the buffer to a reserved place in flash.
    Save(Vec<FlashOp>),
    /// Reads the spare areas and pages from which the translation layer finds its data.
    Scan(Box<Scan>),
    /// Performs the programs and erases that the translation layer needs to go on.
    Write(OpList),
    /// Reads the buffer back and erases its reserved place.
    Restore(Vec<FlashOp>),
}

/// A recovery under way.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Slots of the requests that wait until it ends.
    pub(super) held: VecDeque<u32>,
    /// When power failed.
    pub(super) failed: Nanos,
    /// When dies have completed the operations that the capacitors let them complete after the failure.
    pub(super) off: Nanos,
    pub(super) report: RecoveryReport,
    /// Whether the steps have begun.
    begun: bool,
    /// Steps that have not begun.
    steps: VecDeque<RecoveryStep>,
    /// Operations of the current step that have not ended.
    under_way: u32,
    /// The scan under way, and the number of its first read in the order in which the array receives operations.
    scan: Option<(Box<Scan>, u64)>,
    /// Reads that ended since reads were last issued.
    ended: u32,
}

impl Recovery {
    /// Creates a recovery that has not begun.
    pub(super) fn new(held: VecDeque<u32>, failed: Nanos, off: Nanos, report: RecoveryReport) -> Self {
        Self { held, failed, off, report, ..Self::default() }
    }

    pub(super) fn next_event(&self) -> Nanos {
        if self.begun { Nanos::NEVER } else { self.off }
    }
}

impl Ssd {
    /// Begins recovery: everything that is not in flash is lost, and a new translation layer finds its data. `before`
    /// is what [`Self::versions`] returned when power failed.
    pub(super) fn recover(&mut self, now: Nanos, mut recovery: Recovery, before: &[u64]) {
        let counts_before = *self.back.flash.counts();
        let array = &self.settings.array;
        let by_plane = array.scheduling == Scheduling::OutOfOrder && array.multi_plane != MultiPlane::Off;
        let mut ops = OpList::with_scan(Scan::new(&self.back.geometry, by_plane));
        if let Err(error) = self.back.recover_layer(&mut ops) {
            // The layer has found all data by then. It only lacks room for more, because too many blocks have gone bad.
            assert!(self.settings.wear.is_some(), "a drive with good blocks does not recover: {error}");
            self.back.read_only = true;
        }
        let counts = self.back.flash.counts().since(&counts_before);
        let scan = ops.take_scan().expect("reads are kept apart");
        let (mut found, mut older, mut returned, mut missing) = (0, 0, 0, 0);
        let buffer = self.front.buffer.as_ref();
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
        let report = &mut recovery.report;
        (report.found_pages, report.older_pages) = (found, older);
        (report.returned_pages, report.missing_pages) = (returned, missing);
        report.at_s = now.0 as f64 / 1e9;
        (report.reads, report.programs, report.erases) =
            (counts.reads().total(), counts.programs().total(), counts.erases);
        let layer = esker_ftl::entry(&self.settings.ftl).expect("it was built from the same settings before");
        let geometry = &self.back.geometry;
        report.way = match (layer.can(LayerCapability::RecoverByMap), geometry.block_summary()) {
            (true, _) => RecoveryWay::Directory,
            (false, true) => RecoveryWay::Summaries,
            (false, false) => RecoveryWay::FullScan,
        };
        (report.spare_area_reads, report.summary_reads) = (scan.counts.spare_areas, scan.counts.summaries);
        (report.map_page_reads, report.scanned_blocks) = (scan.counts.map_pages, scan.counts.scanned_blocks);
        let (save, restore) = reserved_place(geometry, report.saved_pages);
        recovery.steps = VecDeque::from([
            RecoveryStep::Save(save),
            RecoveryStep::Scan(scan),
            RecoveryStep::Write(ops),
            RecoveryStep::Restore(restore),
        ]);
        let off = recovery.off;
        self.power.as_mut().expect("it has failed").stage = Stage::Recovering(Box::new(recovery));
        if off == now {
            self.next_step_of_recovery(now);
        }
    }

    fn recovery(&mut self) -> &mut Recovery {
        self.power.as_mut().expect("it has failed").recovery()
    }

    /// Begins the next step of recovery after the previous one has ended, or ends recovery after the last step.
    pub(super) fn next_step_of_recovery(&mut self, now: Nanos) {
        loop {
            let recovery = self.recovery();
            recovery.begun = true;
            recovery.ended = 0;
            let (scanned, step) = (recovery.scan.take(), recovery.steps.pop_front());
            if let Some((scan, first)) = scanned {
                debug_assert_eq!(scan.left(), 0, "a read was not issued");
                self.back.array.get_mut().continue_order(first, scan.emitted());
            }
            let Some(step) = step else { return self.end_recovery(now) };
            let under_way = match step {
                RecoveryStep::Save(ops) | RecoveryStep::Restore(ops) => self.push_recovery(now, &ops),
                RecoveryStep::Scan(scan) => {
                    let first = self.back.array.get_mut().next_in_order();
                    let recovery = self.recovery();
                    recovery.report.save_s = (now - recovery.failed).0 as f64 / 1e9;
                    recovery.scan = Some((scan, first));
                    self.issue_reads(now);
                    self.recovery().under_way
                }
                RecoveryStep::Write(ops) => self.back.issue_list(now, ops, Waiter::BACKGROUND).awaited,
            };
            if under_way > 0 {
                self.recovery().under_way = under_way;
                return;
            }
        }
    }

    /// Issues operations that do not come from the translation layer. Returns the number of operations that have to
    /// end.
    fn push_recovery(&mut self, now: Nanos, ops: &[FlashOp]) -> u32 {
        if ops.is_empty() { 0 } else { self.back.array.get_mut().push(now, ops, &[], Waiter::BACKGROUND, None) }
    }

    /// Issues enough reads to each die that it does not run out of them.
    fn issue_reads(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it has failed");
        let enough = power.reads_ahead;
        let recovery = power.recovery();
        let Some((scan, first)) = &mut recovery.scan else { return };
        let (array, ecc) = (self.back.array.get_mut(), &mut self.back.ecc);
        let mut reads = Vec::new();
        for die in 0..self.back.geometry.dies() {
            let mut waiting = if scan.left() > 0 { array.waiting(die) } else { enough };
            while waiting < enough {
                let Some(number) = scan.take(die, enough - waiting, &mut reads) else { break };
                if scan.keeps_order() {
                    array.continue_order(*first, number);
                }
                waiting += reads.len() as u32;
                let more_steps = ecc.as_mut().map_or(&[][..], |ecc| {
                    ecc.judge(now, &reads, None);
                    ecc.more_steps()
                });
                recovery.under_way += array.push(now, &reads, more_steps, Waiter::BACKGROUND, None);
            }
        }
    }

    /// Handles the end of a recovery operation.
    pub(in crate::ssd) fn recovery_operation_ended(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it has failed");
        let enough = power.reads_ahead;
        let recovery = power.recovery();
        recovery.under_way -= 1;
        recovery.ended += 1;
        if recovery.scan.is_some() && recovery.ended >= enough.div_ceil(2) {
            recovery.ended = 0;
            self.issue_reads(now);
        }
        if self.recovery().under_way == 0 {
            self.next_step_of_recovery(now);
        }
    }

    fn end_recovery(&mut self, now: Nanos) {
        let Recovery { held, failed, mut report, .. } = std::mem::take(self.recovery());
        report.duration_s = (now - failed).0 as f64 / 1e9;
        self.power.as_mut().expect("it has failed").stage = Stage::Over(report);
        let mut held = Vec::from(held);
        held.sort_by_key(|slot| self.front.slots.get(*slot).request.priority);
        for slot in held {
            self.dispatch(now, slot);
        }
        if self.front.buffer.is_some() {
            self.front.write_out(now, &mut self.back);
        }
        self.check_idle(now);
    }
}

/// Returns the operations that save `pages` pages of the buffer, and the operations that restore them. The programs go
/// to a reserved place, over all dies and planes in turn. To restore the pages, reads bring them back and erases clear
/// the place. The blocks of the reserved place do not belong to the translation layer. Its block numbers only serve
/// here to name the dies and planes of these operations.
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
    let op = |kind| FlashOp { kind, cause: Cause::Recovery, after: None, awaited: false, modes: OpModes::default() };
    let program = |page| op(FlashOpKind::Program { page: place(page).1, transfer: Transfer::Page });
    let read = |page| op(FlashOpKind::Read { page: place(page).1 });
    let of_blocks = (0..pages).map(place).filter(|(block, page)| geometry.first_page(*block) == *page);
    let erases = of_blocks.map(|(block, _)| op(FlashOpKind::Erase { block }));
    ((0..pages).map(program).collect(), (0..pages).map(read).chain(erases).collect())
}
