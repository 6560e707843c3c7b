//! Losing power once, and finding everything again.
//!
//! Between requests, or at any moment: then each die has performed some of what it was given and is amid one thing more, the
//! write buffer loses what flash lacks, and requests under way end with an error.

use std::collections::VecDeque;

use esker_core::{DeviceError, Nanos, RecoveryReport};

use super::Ssd;
use crate::array::BACKGROUND;
use crate::ftl::{self, Ftl, FtlContext};
use crate::nand::Fate;
use crate::{Geometry, PowerFailureSettings, SsdError, SsdSettings};

/// When power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// So many requests have ended, and those under way as well.
    Requests(u64),
    /// At a time.
    At(Nanos),
    /// So many flash operations have ended.
    Operations(u64),
}

impl Moment {
    fn new(settings: &PowerFailureSettings) -> Result<Self, SsdError> {
        let PowerFailureSettings { after_requests, at, after_operations } = *settings;
        let mut given = [
            after_requests.map(|requests| (Self::Requests(requests), format!("`after_requests` = {requests}"))),
            at.map(|at| (Self::At(at), format!("`at` = {at}"))),
            after_operations.map(|count| (Self::Operations(count), format!("`after_operations` = {count}"))),
        ]
        .into_iter()
        .flatten();
        let remedy = "give one of `after_requests`, `at` and `after_operations`".to_string();
        match (given.next(), given.next()) {
            (Some((moment, _)), None) => Ok(moment),
            (Some((_, first)), Some((_, second))) => {
                let reason = "power fails once".to_string();
                Err(SsdError::Contradiction { first, second, reason, remedy })
            }
            (None, _) => Err(SsdError::Contradiction {
                first: "`power_failure`".to_string(),
                second: "a table without a moment".to_string(),
                reason: "power has to fail at some time".to_string(),
                remedy,
            }),
        }
    }
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ahead,
    /// Requests under way come to their end; new ones wait.
    Ending,
    /// So many operations of recovery have not ended; requests wait.
    Recovering(u32),
    Over,
}

/// A power failure during a run.
#[derive(Debug)]
pub(super) struct Power {
    moment: Moment,
    stage: Stage,
    /// Requests that came too late.
    held: VecDeque<u32>,
    began: Nanos,
    report: RecoveryReport,
}

/// Most pages of an array that recovery may have to look through one by one: each takes some 160 bytes of memory meanwhile.
const SCANNED_PAGES_MAX: u32 = 1 << 25;

impl Power {
    /// `None` where power does not fail. Refuses what is not modelled along with it.
    pub(super) fn new(settings: &SsdSettings, geometry: &Geometry, ftl: &dyn Ftl) -> Result<Option<Self>, SsdError> {
        let Some(power_failure) = &settings.power_failure else { return Ok(None) };
        let moment = Moment::new(power_failure)?;
        let contradiction = |first: &str, second: &str, reason: &str, remedy: &str| {
            let [first, second, reason, remedy] = [first, second, reason, remedy].map(str::to_string);
            Err(SsdError::Contradiction { first, second, reason, remedy })
        };
        let elsewhere = "use `power_failure.at`, or leave one of them out";
        if let Moment::Requests(requests) = moment {
            let first = format!("`power_failure.after_requests` = {requests}");
            let reason = "it goes on when the requests have ended, and power fails between requests";
            if settings.write_buffer.is_some() {
                return contradiction(&first, "`write_buffer`", reason, elsewhere);
            }
            if settings.cleaning.background.is_some() {
                return contradiction(&first, "`cleaning.background`", reason, elsewhere);
            }
        }
        if geometry.pages() > SCANNED_PAGES_MAX && !geometry.block_summary() {
            let pages = format!("`geometry` of {} flash pages", geometry.pages());
            let reason = format!(
                "recovery reads the spare area of each, and the simulator holds these reads in memory at once: at most {SCANNED_PAGES_MAX}"
            );
            let remedy = "state `block_summary = true`, with which one page of a block is read, or a smaller `geometry.blocks_per_plane`";
            return contradiction("`power_failure`", &pages, &reason, remedy);
        }
        if !ftl.recovers() {
            let layer = format!("`ftl` = `{}`", settings.ftl.kind);
            return contradiction("`power_failure`", &layer, "this layer has no recovery", "leave one of them out");
        }
        let report = RecoveryReport::default();
        Ok(Some(Self { moment, stage: Stage::Ahead, held: VecDeque::new(), began: Nanos::ZERO, report }))
    }

    /// How it went, once it is over.
    pub(super) fn report(&self) -> Option<RecoveryReport> {
        (self.stage == Stage::Over).then_some(self.report)
    }

    /// The same before it is over.
    #[cfg(test)]
    pub(super) fn so_far(&self) -> RecoveryReport {
        self.report
    }

    /// Whether it comes amid requests.
    pub(super) fn is_sudden(&self) -> bool {
        !matches!(self.moment, Moment::Requests(_))
    }
    /// Whether the array's changes are still followed for it.
    pub(super) fn is_ahead_and_sudden(&self) -> bool {
        self.is_sudden() && self.stage == Stage::Ahead
    }
    /// Whether the drive serves no requests.
    pub(super) fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Ending | Stage::Recovering(_))
    }
    pub(super) fn is_recovering(&self) -> bool {
        matches!(self.stage, Stage::Recovering(_))
    }

    pub(super) fn next_event(&self) -> Nanos {
        match (self.moment, self.stage) {
            (Moment::At(at), Stage::Ahead) => at,
            _ => Nanos::NEVER,
        }
    }

    /// Whether a request that comes now has to wait; then it is kept here.
    pub(super) fn holds(&mut self, slot: u32) -> bool {
        let holds = self.is_out();
        if holds {
            self.held.push_back(slot);
        }
        holds
    }
}

impl Ssd {
    /// Has the array follow what a sudden power failure is worked out from.
    pub(super) fn prepare_for_power_failure(&mut self) {
        if self.power.as_ref().is_some_and(Power::is_sudden) {
            let blocks = self.space.blocks_per_pool;
            self.array.get_mut().follow(&self.geometry, &self.timing, &self.settings, blocks);
            self.flash.settle_as_issued(false);
        }
    }

    /// Tells the array what the operations that it is given next have to wait for.
    #[cold]
    pub(super) fn tell_of_changes(&mut self) {
        if self.power.as_ref().is_some_and(Power::is_ahead_and_sudden) {
            let changes = self.ops.as_slice().iter().filter(|op| op.is_change()).count();
            self.array.get_mut().followed().expect_waits(self.flash.last_that_wait(changes));
        }
    }

    /// A request has ended: power may fail now.
    #[cold]
    pub(super) fn look_at_power(&mut self, now: Nanos) {
        let completed = self.completed;
        let power = self.power.as_mut().expect("it was asked for");
        if power.stage == Stage::Ahead && matches!(power.moment, Moment::Requests(after) if completed >= after) {
            power.stage = Stage::Ending;
        }
        if power.stage == Stage::Ending && self.slots.in_use() == power.held.len() {
            self.flash.lose_power();
            self.recover(now);
        }
    }

    /// All that is due at `now` has been done: power may fail now.
    #[cold]
    pub(super) fn look_at_sudden_power_failure(&mut self, now: Nanos) {
        let power = self.power.as_ref().expect("it was asked for");
        if !power.is_ahead_and_sudden() {
            return;
        }
        let array = self.array.get_mut().followed();
        let (pushed, performed) = array.changes();
        let fails = match power.moment {
            Moment::Requests(_) => false,
            Moment::At(at) => now == at,
            Moment::Operations(after) => array.operations() >= after,
        };
        if fails {
            return self.lose_power(now);
        }
        let issued_before = self.flash.issued_changes() - pushed;
        self.flash.settle_before(issued_before + performed);
    }

    /// What was under way is lost, but for what a protected buffer holds.
    fn lose_power(&mut self, now: Nanos) {
        let array = self.array.get_mut().followed();
        let (pushed, performed) = array.changes();
        let mut fates = array.cut();
        self.flash.settle_before(self.flash.issued_changes() - pushed + performed);
        let interrupted = fates.iter().filter(|fate| **fate == Fate::Interrupted).count();
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_protected()) {
            // What protects it also lets dies end what they are amid.
            fates.iter_mut().filter(|fate| **fate == Fate::Interrupted).for_each(|fate| *fate = Fate::Performed);
        }
        self.flash.power_failure_amid(&fates);
        let slots = self.slots.all_in_use();
        let oldest = slots.iter().map(|slot| self.slots.get(*slot).admitted).filter(|admitted| *admitted > 0).min();
        for slot in &slots {
            let state = self.slots.get_mut(*slot);
            state.result = Err(DeviceError::Interrupted);
            state.start = state.start.min(now);
            state.flushed = true;
            self.ready.push_back((now, *slot));
        }
        let geometry = self.geometry;
        let buffer = self.buffer.as_mut().map(|buffer| buffer.lose_power(oldest.unwrap_or(u64::MAX), &geometry));
        let (lost_pages, saved_pages) = buffer.unwrap_or_default();
        if let Some(link) = &mut self.link {
            link.lose_power(now);
        }
        if let Some(background) = &mut self.background {
            background.lose_power();
        }
        let power = self.power.as_mut().expect("it has failed");
        power.report = RecoveryReport {
            interrupted_requests: slots.len() as u64,
            interrupted_operations: interrupted as u64,
            lost_pages,
            saved_pages,
            ..RecoveryReport::default()
        };
        self.recover(now);
    }

    /// All that is not on flash is lost, and the translation layer starts from nothing.
    fn recover(&mut self, now: Nanos) {
        let before = *self.flash.counts();
        let context =
            FtlContext { geometry: &self.geometry, space: &self.space, settings: &self.settings, seed: self.seed };
        self.former.add(&self.ftl.counters());
        if let Some(wear) = self.ftl.wear() {
            self.former_wear.migrated += wear.migrated;
            self.former_wear.spared += wear.spared;
        }
        self.ftl = ftl::build(&context).expect("it was built from the same settings before");
        self.ops.clear();
        if let Err(error) = self.ftl.recover(&mut self.flash, &mut self.ops) {
            // All data are found by then; so many blocks have gone bad that there is no room for more.
            assert!(self.settings.wear.is_some(), "a drive with good blocks does not recover: {error}");
            self.read_only = true;
        }
        let counts = self.flash.counts().since(&before);
        let power = self.power.as_mut().expect("it has failed");
        power.began = now;
        power.stage = Stage::Recovering(0);
        let report = &mut power.report;
        report.at_s = now.0 as f64 / 1e9;
        (report.reads, report.programs, report.erases) =
            (counts.reads().total(), counts.programs().total(), counts.erases);
        let mut left = 0;
        if !self.ops.as_slice().is_empty() {
            left = self.issue(now, BACKGROUND, None);
        }
        self.ops = crate::nand::OpList::default();
        self.power.as_mut().expect("it has failed").stage = Stage::Recovering(left);
        if left == 0 {
            self.power_is_back(now);
        }
    }

    /// An operation of recovery has ended.
    pub(super) fn recovered_some(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it has failed");
        if let Stage::Recovering(left) = &mut power.stage {
            *left -= 1;
            if *left == 0 {
                self.power_is_back(now);
            }
        }
    }

    fn power_is_back(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it has failed");
        power.stage = Stage::Over;
        power.report.duration_s = (now - power.began).0 as f64 / 1e9;
        for slot in std::mem::take(&mut power.held) {
            self.dispatch(now, slot);
        }
        if self.buffer.is_some() {
            self.write_out(now);
        }
        self.look_idle(now);
    }
}
