//! What the caller of a run hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_flash::PreconditionedDrives;

/// Options for observing and stopping a run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Called regularly with the number of ended requests, and of all requests.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// Set to true to stop the run, which then returns [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub cancel: Option<&'a AtomicBool>,
    /// Whether results include the cost of the simulation itself, which differs from run to run.
    pub cost: bool,
    /// Drives of other runs. With them, a drive that is preconditioned like one of them takes a copy of it.
    pub drives: Option<&'a Arc<PreconditionedDrives>>,
}

impl RunOptions<'_> {
    /// Tells the caller that `ended` requests of `all` have ended. Returns false if the run should stop.
    pub(crate) fn go_on(&self, ended: u64, all: u64) -> bool {
        self.progress.inspect(|progress| progress(ended, all));
        !self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}
