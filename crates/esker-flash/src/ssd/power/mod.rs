//! One power failure during the run. The recovery that follows is in `recovery`.
//!
//! Power fails between requests, or at any moment (a sudden failure). At a sudden failure each die has performed some
//! of its operations and is in the middle of one more. The write buffer loses the data that flash lacks, and requests
//! under way end with an error.

mod recovery;

use std::collections::VecDeque;

use esker_core::{LogicalPage, Nanos};
use esker_ftl::LayerCapability;
use esker_nand::ValueError;
use esker_nand::state::ChangeFate;
use esker_results::RecoveryReport;

use super::Ssd;
use crate::{PowerFailureSettings, SsdError, SsdSettings};
use recovery::Recovery;

/// When power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Once this many requests have ended, and the requests still under way as well.
    Requests(u64),
    /// At this time of the run.
    At(Nanos),
    /// As soon as this many flash operations have ended.
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

/// A power failure during a run.
#[derive(Debug)]
pub(super) struct PowerFailure {
    moment: Moment,
    /// Whether operations may be under way when power fails.
    sudden: bool,
    stage: Stage,
    /// Number of scan reads that each die always has pending while the drive looks for its data.
    pub(super) reads_ahead: u32,
}

/// Stages of a power failure.
#[derive(Debug)]
enum Stage {
    /// The moment of the failure has not come yet.
    Pending,
    /// The moment of the failure has come. Requests under way are completed first; new requests, in these slots, wait.
    Ending(VecDeque<u32>),
    /// Power has failed and the drive looks for its data. Requests wait.
    Recovering(Box<Recovery>),
    /// The drive has recovered.
    Over(RecoveryReport),
}

impl PowerFailure {
    /// Returns `None` if power does not fail. Refuses settings that are not modelled together with a power failure.
    pub(super) fn new(settings: &SsdSettings) -> Result<Option<Self>, SsdError> {
        let Some(power_failure) = &settings.power_failure else { return Ok(None) };
        let moment = Moment::new(power_failure)?;
        if !esker_ftl::entry(&settings.ftl)?.can(LayerCapability::Recover) {
            return Err(ValueError::Contradiction {
                keys: vec!["power_failure", "ftl"],
                first: "`power_failure`".to_string(),
                second: format!("`ftl` = `{}`", settings.ftl.kind),
                reason: "this layer has no recovery".to_string(),
                remedy: LayerCapability::Recover.remedy("`power_failure`"),
            }
            .into());
        }
        let work_of_its_own = settings.write_buffer.is_some() || settings.cleaning.background.is_some();
        Ok(Some(Self {
            moment,
            sudden: work_of_its_own || !matches!(moment, Moment::Requests(_)),
            stage: Stage::Pending,
            reads_ahead: recovery::READS_AHEAD,
        }))
    }

    /// Returns the report of the recovery, once it is over.
    pub(super) fn report(&self) -> Option<RecoveryReport> {
        match &self.stage {
            Stage::Over(report) => Some(*report),
            _ => None,
        }
    }

    /// Returns the report of recovery as it stands now.
    #[cfg(test)]
    pub(super) fn report_so_far(&self) -> RecoveryReport {
        match &self.stage {
            Stage::Pending | Stage::Ending(_) => RecoveryReport::default(),
            Stage::Recovering(recovery) => recovery.report,
            Stage::Over(report) => *report,
        }
    }

    /// Returns true if operations may be under way when power fails.
    pub(super) fn is_sudden(&self) -> bool {
        self.sudden
    }
    /// Returns true if the moment of the power failure is still to come.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self.stage, Stage::Pending)
    }
    /// Returns true if power has not failed yet.
    #[cfg(test)]
    pub(super) fn has_not_failed(&self) -> bool {
        matches!(self.stage, Stage::Pending | Stage::Ending(_))
    }
    /// Returns true if the drive serves no new requests: from the moment of the failure until recovery ends.
    pub(super) fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Ending(_) | Stage::Recovering(_))
    }
    pub(super) fn is_recovering(&self) -> bool {
        matches!(self.stage, Stage::Recovering(_))
    }

    /// Returns when power fails or recovery continues, unless that depends on the end of operations.
    pub(super) fn next_event(&self) -> Nanos {
        match (&self.stage, self.moment) {
            (Stage::Pending, Moment::At(at)) => at,
            (Stage::Recovering(recovery), _) => recovery.next_event(),
            _ => Nanos::NEVER,
        }
    }

    /// Holds a request until recovery ends, if the drive serves no requests now. Returns false if it may be served.
    pub(super) fn hold_request(&mut self, slot: u32) -> bool {
        match &mut self.stage {
            Stage::Ending(held) => held.push_back(slot),
            Stage::Recovering(recovery) => recovery.held.push_back(slot),
            Stage::Pending | Stage::Over(_) => return false,
        }
        true
    }

    /// Returns the number of requests that wait for power.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Ending(held) => held.len(),
            Stage::Recovering(recovery) => recovery.held.len(),
            Stage::Pending | Stage::Over(_) => 0,
        }
    }

    fn recovery(&mut self) -> &mut Recovery {
        match &mut self.stage {
            Stage::Recovering(recovery) => recovery,
            stage => unreachable!("the drive does not recover: {stage:?}"),
        }
    }
}

impl Ssd {
    /// Makes the array track its changes if a sudden power failure may need them.
    pub(super) fn prepare_for_power_failure(&mut self) {
        if self.power.as_ref().is_some_and(PowerFailure::is_sudden) {
            self.back.track_changes(&self.settings);
        }
    }

    /// Makes power fail if that depends on the number of completed requests, the number is reached, and no request is
    /// under way.
    #[cold]
    pub(super) fn check_power_failure(&mut self, now: Nanos) {
        let power = self.power.as_mut().expect("it was asked for");
        if power.is_pending() && matches!(power.moment, Moment::Requests(after) if self.front.completed >= after) {
            power.stage = Stage::Ending(VecDeque::new());
        }
        let Stage::Ending(held) = &mut power.stage else { return };
        if self.front.slots.in_use() == held.len() {
            let held = std::mem::take(held);
            match power.sudden {
                true => self.lose_power(now, held),
                false => {
                    let versions: Vec<u64> = self.versions().collect();
                    self.back.flash.lose_power();
                    let recovery = Recovery::new(held, now, now, RecoveryReport::default());
                    self.recover(now, recovery, &versions);
                }
            }
        }
    }

    /// Makes power fail if its moment has come, or begins recovery if that is due. Called after all other events of
    /// `now`.
    #[cold]
    pub(super) fn check_sudden_power_failure(&mut self, now: Nanos) {
        let power = self.power.as_ref().expect("it was asked for");
        if power.next_event() == now && power.is_recovering() {
            return self.next_step_of_recovery(now);
        }
        if !self.back.tracks_changes {
            return;
        }
        let array = self.back.array.get_mut();
        let (pushed, performed) = array.changes();
        let fails = match power.moment {
            Moment::Requests(_) => false,
            Moment::At(at) => now == at,
            Moment::Operations(after) => array.operations() >= after,
        };
        if fails {
            return self.lose_power(now, VecDeque::new());
        }
        let issued_before = self.back.flash.issued_changes() - pushed;
        self.back.flash.settle_before(issued_before + performed);
    }

    /// Makes power fail suddenly: all operations and requests under way are lost, except for the content of a protected
    /// buffer. The requests in the slots `held` wait for power.
    fn lose_power(&mut self, now: Nanos, held: VecDeque<u32>) {
        let versions: Vec<u64> = self.versions().collect();
        let (array, flash) = (self.back.array.get_mut(), &mut self.back.flash);
        let (pushed, performed) = array.changes();
        let rest = array.rest(now);
        let mut fates = array.lose_power();
        self.back.tracks_changes = false;
        flash.settle_before(flash.issued_changes() - pushed + performed);
        let count = |fate: ChangeFate| fates.iter().filter(|other| **other == fate).count() as u64;
        let (interrupted, dropped) = (count(ChangeFate::Interrupted), count(ChangeFate::NotBegun));
        let mut off = now;
        if self.front.buffer.as_ref().is_some_and(|buffer| buffer.is_protected()) {
            // The capacitors that protect the buffer also let dies complete the operations that they have begun.
            fates
                .iter_mut()
                .filter(|fate| **fate == ChangeFate::Interrupted)
                .for_each(|fate| *fate = ChangeFate::Performed);
            off = now + rest;
        }
        let (torn_pages, torn_blocks) = flash.power_failure_with_fates(&fates);
        let losses = self.front.lose_power(now, &held);
        if let Some(background) = &mut self.background {
            background.lose_power();
        }
        let report = RecoveryReport {
            interrupted_requests: losses.requests,
            interrupted_writes: losses.writes,
            interrupted_operations: interrupted,
            dropped_operations: dropped,
            torn_pages,
            torn_blocks,
            lost_pages: losses.lost_pages,
            saved_pages: losses.saved_pages,
            ..RecoveryReport::default()
        };
        self.recover(now, Recovery::new(held, now, off, report), &versions);
    }

    /// Returns, for each host page, the number of the write whose data the drive finds for it; 0 if it finds none.
    pub(super) fn versions(&self) -> impl Iterator<Item = u64> {
        let Self { back, .. } = self;
        (0..back.space.host_pages).map(|page| back.ftl.find(LogicalPage(page)).map_or(0, |at| back.flash.version(at)))
    }
}
