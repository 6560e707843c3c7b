//! Losing power once. What follows is in `recovery`.
//!
//! Between requests, or at any moment: then each die has performed some of what it was given and is amid one thing more, the
//! write buffer loses what flash lacks, and requests under way end with an error.

use std::collections::{BTreeSet, VecDeque};

use esker_core::{DeviceError, LogicalPage, Nanos};
use esker_ftl::LayerCapability;
use esker_nand::ValueError;
use esker_nand::state::Fate;
use esker_results::RecoveryReport;

use super::Ssd;
use super::recovery::Recovery;
use crate::{PowerFailureSettings, SsdError, SsdSettings};

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

const AFTER_REQUESTS: &str = "power_failure.after_requests";
const AT: &str = "power_failure.at";
const AFTER_OPERATIONS: &str = "power_failure.after_operations";

impl Moment {
    fn new(settings: &PowerFailureSettings) -> Result<Self, SsdError> {
        let PowerFailureSettings { after_requests, at, after_operations } = *settings;
        let mut given = [
            after_requests.map(|count| (Self::Requests(count), AFTER_REQUESTS, format!("`after_requests` = {count}"))),
            at.map(|at| (Self::At(at), AT, format!("`at` = {at}"))),
            after_operations
                .map(|count| (Self::Operations(count), AFTER_OPERATIONS, format!("`after_operations` = {count}"))),
        ]
        .into_iter()
        .flatten();
        let remedy = "give one of `after_requests`, `at` and `after_operations`".to_string();
        match (given.next(), given.next()) {
            (Some((moment, ..)), None) => Ok(moment),
            (Some((_, one, first)), Some((_, other, second))) => {
                let reason = "power fails once".to_string();
                let keys = vec![other, one];
                Err(ValueError::Contradiction { keys, first, second, reason, remedy }.into())
            }
            (None, _) => Err(ValueError::Contradiction {
                keys: vec!["power_failure"],
                first: "`power_failure`".to_string(),
                second: "a table without a moment".to_string(),
                reason: "power has to fail at some time".to_string(),
                remedy,
            }
            .into()),
        }
    }
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Ahead,
    /// Requests under way come to their end; new ones wait.
    Ending,
    /// Something of recovery has not ended; requests wait.
    Recovering,
    Over,
}

/// A power failure during a run.
#[derive(Debug)]
pub(super) struct Power {
    moment: Moment,
    /// Whether something may be under way when it comes.
    sudden: bool,
    pub(super) stage: Stage,
    /// Requests that came too late.
    pub(super) held: VecDeque<u32>,
    pub(super) recovery: Recovery,
    pub(super) report: RecoveryReport,
}

impl Power {
    /// `None` where power does not fail. Refuses what is not modelled along with it.
    pub(super) fn new(settings: &SsdSettings) -> Result<Option<Self>, SsdError> {
        let Some(power_failure) = &settings.power_failure else { return Ok(None) };
        let moment = Moment::new(power_failure)?;
        if !esker_ftl::entry(&settings.layer())?.can(LayerCapability::Recover) {
            return Err(ValueError::Contradiction {
                keys: vec!["power_failure", "ftl"],
                first: "`power_failure`".to_string(),
                second: format!("`ftl` = `{}`", settings.ftl.kind),
                reason: "this layer has no recovery".to_string(),
                remedy: "leave one of them out".to_string(),
            }
            .into());
        }
        let work_of_its_own = settings.write_buffer.is_some() || settings.cleaning.background.is_some();
        Ok(Some(Self {
            moment,
            sudden: work_of_its_own || !matches!(moment, Moment::Requests(_)),
            stage: Stage::Ahead,
            held: VecDeque::new(),
            recovery: Recovery::default(),
            report: RecoveryReport::default(),
        }))
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

    /// Whether something may be under way when it comes.
    pub(super) fn is_sudden(&self) -> bool {
        self.sudden
    }
    /// Whether the array's changes are still followed for it.
    pub(super) fn is_followed(&self) -> bool {
        self.sudden && matches!(self.stage, Stage::Ahead | Stage::Ending)
    }
    /// Whether the drive serves no requests.
    pub(super) fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Ending | Stage::Recovering)
    }
    pub(super) fn is_recovering(&self) -> bool {
        self.stage == Stage::Recovering
    }

    pub(super) fn next_event(&self) -> Nanos {
        match (self.moment, self.stage) {
            (Moment::At(at), Stage::Ahead) => at,
            (_, Stage::Recovering) => self.recovery.next_event(),
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
            self.array.get_mut().follow(&self.geometry, &self.timing, &self.settings.wiring(), blocks);
            self.flash.settle_as_issued(false);
        }
    }

    /// Tells the array what the operations that it is given next have to wait for.
    #[cold]
    pub(super) fn tell_of_changes(&mut self) {
        if self.power.as_ref().is_some_and(Power::is_followed) {
            let changes = self.ops.as_slice().iter().filter(|op| op.is_change()).count();
            self.array.get_mut().expect_waits(self.flash.last_that_wait(changes));
        }
    }

    /// A request has ended, or has to wait: power may fail now.
    #[cold]
    pub(super) fn look_at_power(&mut self, now: Nanos) {
        let completed = self.completed;
        let power = self.power.as_mut().expect("it was asked for");
        if power.stage == Stage::Ahead && matches!(power.moment, Moment::Requests(after) if completed >= after) {
            power.stage = Stage::Ending;
        }
        if power.stage == Stage::Ending && self.slots.in_use() == power.held.len() {
            match power.sudden {
                true => self.lose_power(now),
                false => {
                    let versions: Vec<u64> = self.versions().collect();
                    self.flash.lose_power();
                    self.recover(now, now, &versions);
                }
            }
        }
    }

    /// All that is due at `now` has been done: power may fail now, or the drive that has lost it may go on.
    #[cold]
    pub(super) fn look_at_sudden_power_failure(&mut self, now: Nanos) {
        let power = self.power.as_ref().expect("it was asked for");
        if power.next_event() == now && power.is_recovering() {
            return self.next_step_of_recovery(now);
        }
        if !power.is_followed() {
            return;
        }
        let array = self.array.get_mut();
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
        let versions: Vec<u64> = self.versions().collect();
        let array = self.array.get_mut();
        let (pushed, performed) = array.changes();
        let rest = array.rest(now);
        let mut fates = array.cut();
        self.flash.settle_before(self.flash.issued_changes() - pushed + performed);
        let count = |fate: Fate| fates.iter().filter(|other| **other == fate).count() as u64;
        let (interrupted, dropped) = (count(Fate::Interrupted), count(Fate::Ahead));
        let mut off = now;
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_protected()) {
            // What protects it also lets dies end what they are amid.
            fates.iter_mut().filter(|fate| **fate == Fate::Interrupted).for_each(|fate| *fate = Fate::Performed);
            off = now + rest;
        }
        let (torn_pages, torn_blocks) = self.flash.power_failure_amid(&fates);
        let power = self.power.as_mut().expect("it has failed");
        let held: BTreeSet<u32> = power.held.iter().copied().collect();
        let mut slots = self.slots.all_in_use();
        slots.retain(|slot| !held.contains(slot));
        let oldest = slots.iter().map(|slot| self.slots.get(*slot).admitted).filter(|admitted| *admitted > 0).min();
        for slot in &slots {
            let state = self.slots.get_mut(*slot);
            state.result = Err(DeviceError::Interrupted);
            state.start = state.start.min(now);
            state.flushed = true;
            power.report.interrupted_writes += u64::from(state.request.kind.is_write());
            self.ready.push_back((now, *slot));
        }
        let buffer = self.buffer.as_mut().map(|buffer| buffer.lose_power(oldest.unwrap_or(u64::MAX)));
        let (lost_pages, saved_pages) = buffer.unwrap_or_default();
        if let Some(link) = &mut self.link {
            link.lose_power(now);
        }
        if let Some(background) = &mut self.background {
            background.lose_power();
        }
        power.report = RecoveryReport {
            interrupted_requests: slots.len() as u64,
            interrupted_operations: interrupted,
            dropped_operations: dropped,
            torn_pages,
            torn_blocks,
            lost_pages,
            saved_pages,
            ..power.report
        };
        self.recover(now, off, &versions);
    }

    /// Which write brought the data of each host page, as far as the drive knows; zero where it has none.
    pub(super) fn versions(&self) -> impl Iterator<Item = u64> {
        (0..self.space.host_pages).map(|page| self.ftl.find(LogicalPage(page)).map_or(0, |at| self.flash.version(at)))
    }
}
