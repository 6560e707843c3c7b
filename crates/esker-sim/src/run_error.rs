//! Why a run has no results: an error of its own, since workloads are opened and settled without a run, too.

use esker_core::{Hint, Nanos, ReplayError};
use esker_trace::TraceError;
use thiserror::Error;

use crate::config::ConfigError;

/// Why a run has no results.
#[derive(Debug, Error)]
pub enum RunError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The replay cannot go on. Times beyond all bounds are errors of the configuration instead.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The device forgot requests.
    #[error("the device stopped at {at} with {in_flight} requests under way; this is a bug in esker")]
    Stalled {
        /// When.
        at: Nanos,
        /// Requests that never ended.
        in_flight: usize,
    },
    /// The device does not know a command that the run needs.
    #[error("the target cannot start measuring: {0}")]
    Unsupported(#[from] esker_core::Unsupported),
    /// The caller ended the run.
    #[error("the run was cancelled")]
    Cancelled,
}

impl Hint for RunError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Trace(error) => error.hint(),
            _ => None,
        }
    }

    fn work_failed(&self) -> bool {
        match self {
            Self::Trace(error) => error.work_failed(),
            Self::Replay(_) | Self::Stalled { .. } => true,
            _ => false,
        }
    }
}
