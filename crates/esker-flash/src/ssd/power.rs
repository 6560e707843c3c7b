//! Losing power once, and finding everything again.

use std::collections::VecDeque;

use esker_core::{Nanos, RecoveryReport};

use super::Ssd;
use crate::array::BACKGROUND;
use crate::ftl::{self, Ftl, FtlContext};
use crate::{PowerFailureSettings, SsdError, SsdSettings};

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// So many requests have to end first.
    Ahead(u64),
    /// Requests under way come to their end; new ones wait.
    Ending,
    /// So many operations of recovery have not ended; requests wait.
    Recovering(u32),
    Over,
}

/// A power failure during a run.
#[derive(Debug)]
pub(super) struct Power {
    stage: Stage,
    /// Requests that came too late.
    held: VecDeque<u32>,
    began: Nanos,
    report: Option<RecoveryReport>,
}

impl Power {
    /// `None` where power does not fail. Refuses what is not modelled along with it.
    pub(super) fn new(settings: &SsdSettings, ftl: &dyn Ftl) -> Result<Option<Self>, SsdError> {
        let Some(PowerFailureSettings { after_requests }) = settings.power_failure else { return Ok(None) };
        let contradiction = |second: &str, reason: &str| {
            Err(SsdError::Contradiction {
                first: format!("`power_failure.after_requests` = {after_requests}"),
                second: second.to_string(),
                reason: reason.to_string(),
                remedy: "leave one of them out".to_string(),
            })
        };
        if settings.write_buffer.is_some() {
            return contradiction("`write_buffer`", "what a buffer loses with the power is not modelled");
        }
        if settings.cleaning.background.is_some() {
            return contradiction("`cleaning.background`", "power fails while the drive has nothing under way");
        }
        if settings.wear.is_some() {
            return contradiction("`wear`", "which blocks are bad is not written to flash");
        }
        if !ftl.recovers() {
            return contradiction(&format!("`ftl` = `{}`", settings.ftl.kind), "this layer has no recovery");
        }
        Ok(Some(Self { stage: Stage::Ahead(after_requests), held: VecDeque::new(), began: Nanos::ZERO, report: None }))
    }

    /// How it went, once it is over.
    pub(super) fn report(&self) -> Option<RecoveryReport> {
        self.report.filter(|_| self.stage == Stage::Over)
    }

    /// Whether a request that comes now has to wait; then it is kept here.
    pub(super) fn holds(&mut self, slot: u32) -> bool {
        let holds = matches!(self.stage, Stage::Ending | Stage::Recovering(_));
        if holds {
            self.held.push_back(slot);
        }
        holds
    }
}

impl Ssd {
    /// A request has ended: power may fail now.
    #[cold]
    pub(super) fn look_at_power(&mut self, now: Nanos) {
        let completed = self.completed;
        let power = self.power.as_mut().expect("it was asked for");
        if matches!(power.stage, Stage::Ahead(after) if completed >= after) {
            power.stage = Stage::Ending;
        }
        if power.stage == Stage::Ending && self.slots.in_use() == power.held.len() {
            self.lose_power(now);
        }
    }

    /// What was under way has ended. All that is not on flash is lost, and the translation layer starts from nothing.
    fn lose_power(&mut self, now: Nanos) {
        let before = *self.flash.counts();
        self.flash.lose_power();
        let context =
            FtlContext { geometry: &self.geometry, space: &self.space, settings: &self.settings, seed: self.seed };
        self.former.add(&self.ftl.counters());
        self.ftl = ftl::build(&context).expect("it was built from the same settings before");
        self.ops.clear();
        self.ftl.recover(&mut self.flash, &mut self.ops).expect("all that was written has room");
        let counts = self.flash.counts().since(&before);
        let mut left = 0;
        if !self.ops.as_slice().is_empty() {
            left = self.issue(now, BACKGROUND, None);
        }
        self.ops = crate::nand::OpList::default();
        let power = self.power.as_mut().expect("it has failed");
        power.began = now;
        power.report = Some(RecoveryReport {
            at_s: now.0 as f64 / 1e9,
            duration_s: 0.0,
            reads: counts.reads().total(),
            programs: counts.programs().total(),
            erases: counts.erases,
        });
        power.stage = Stage::Recovering(left);
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
        if let Some(report) = &mut power.report {
            report.duration_s = (now - power.began).0 as f64 / 1e9;
        }
        for slot in std::mem::take(&mut power.held) {
            self.dispatch(now, slot);
        }
    }
}
