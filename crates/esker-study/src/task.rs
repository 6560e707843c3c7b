//! What simulations are to find out.

use std::sync::atomic::{AtomicU64, Ordering};

use esker_results::study::Budgets;

use crate::busy::{Busy, work};
use crate::load::StudyWorkload;
use crate::strain::Limits;
use crate::{Hooks, StudySettings};

/// Traces with more work than this are replayed whole only where that is needed.
const WHOLE_WORK_MAX: u64 = 800_000;

/// What a simulation is to find out.
pub(crate) struct Task<'a> {
    pub(crate) workload: &'a StudyWorkload,
    pub(crate) settings: &'a StudySettings,
    /// The busy times of the trace, if it has times.
    pub(crate) busy: Option<&'a Busy>,
    pub(crate) budgets: &'a Budgets,
    /// What has to be kept under load, if the trace has times.
    pub(crate) limits: Option<Limits>,
    pub(crate) hooks: &'a Hooks<'a>,
    /// Designs simulated so far.
    pub(crate) done: &'a AtomicU64,
}

impl Task<'_> {
    /// Whether the trace is so large that it is replayed whole only where that is needed.
    pub(crate) fn is_large(&self) -> bool {
        let profile = &self.workload.profile;
        let work = work(profile.requests, profile.read_bytes + profile.write_bytes);
        work > WHOLE_WORK_MAX && !self.settings.thorough
    }

    /// Tells the user what is done now, and how many designs were simulated before.
    pub(crate) fn tell(&self, what: &str) {
        let done = self.done.load(Ordering::Relaxed);
        self.hooks.tell(&format!("{what} (done: {done})"), done, None);
    }
}
