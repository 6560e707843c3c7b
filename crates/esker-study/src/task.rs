//! What simulations have to find out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_results::study::Budgets;
use esker_sim::PreconditionedDrives;

use crate::busy::{Busy, work};
use crate::load::StudyWorkload;
use crate::strain::Limits;
use crate::{Hooks, StudySettings};

/// A trace with more work than this is large: it is replayed in full only where that is needed.
const WHOLE_WORK_MAX: u64 = 800_000;
/// The work of all full replays of a large trace together.
const WORK_OF_WHOLE: u64 = 4_800_000;
/// At least this many designs replay a large trace in full...
const WHOLE_MIN: u64 = 2;
/// ... and at most this many: in the user's market, and in each other one.
const WHOLE_MAX: [u64; 2] = [6, 2];
/// The work of all designs together that are simulated only for comparison: beside an answer, and for a trace without
/// times, which has no answer.
const WORK_OF_OTHERS: [u64; 2] = [300_000, 800_000];

/// What a simulation has to find out.
pub(crate) struct Task<'a> {
    pub(crate) workload: &'a StudyWorkload,
    pub(crate) settings: &'a StudySettings,
    /// The busy times of the trace, if it has times.
    pub(crate) busy: Option<&'a Busy>,
    pub(crate) budgets: &'a Budgets,
    /// What has to be kept under load; `None` if the trace has no times.
    pub(crate) limits: Option<Limits>,
    pub(crate) hooks: &'a Hooks<'a>,
    /// Number of designs simulated.
    pub(crate) done: &'a AtomicU64,
    /// The drives of all simulations: those that begin alike are preconditioned once.
    pub(crate) drives: &'a Arc<PreconditionedDrives>,
}

impl Task<'_> {
    /// Returns true if the trace is so large that it is replayed in full only where that is needed.
    pub(crate) fn is_large(&self) -> bool {
        self.work() > WHOLE_WORK_MAX && !self.settings.thorough
    }

    /// Returns how many designs replay a large trace in full if nothing needs more.
    pub(crate) fn replayed_whole(&self, is_first_market: bool) -> usize {
        let most = WHOLE_MAX[usize::from(!is_first_market)];
        (WORK_OF_WHOLE / self.work().max(1)).clamp(WHOLE_MIN, most) as usize
    }

    /// Returns how many designs of other classes are simulated for comparison: at most `most`, and at least one if no
    /// design keeps the budgets.
    pub(crate) fn others(&self, most: usize, any_keeps: bool) -> usize {
        if self.settings.thorough {
            return most;
        }
        let most_work = WORK_OF_OTHERS[usize::from(!self.workload.has_times())];
        let few = (most_work / self.work().max(1)) as usize;
        few.max(usize::from(!any_keeps)).min(most)
    }

    fn work(&self) -> u64 {
        let profile = &self.workload.profile;
        work(profile.requests, profile.read_bytes + profile.write_bytes)
    }

    /// Tells the user what is being done, and how many designs have been simulated.
    pub(crate) fn tell(&self, what: &str) {
        let done = self.done.load(Ordering::Relaxed);
        self.hooks.tell(&format!("{what} (done: {done})"), done, None);
    }
}
