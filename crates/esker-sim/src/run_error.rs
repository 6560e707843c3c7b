//! The error of a run, in a module of its own, since workloads are also opened and settled outside of runs.

use esker_config::ConfigError;
use esker_core::{Hint, Nanos, ReplayError};
use esker_trace::TraceError;
use thiserror::Error;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The replay cannot go on. Times out of bounds are errors of the configuration instead.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The device lost requests.
    #[error("the device stopped at {at} with {in_flight} requests under way; this is a bug in esker")]
    Stalled {
        /// Time at which it stopped.
        at: Nanos,
        /// Requests that never ended.
        in_flight: usize,
    },
    /// The device does not support a command that the run needs.
    #[error("the target cannot start measuring: {0}")]
    Unsupported(#[from] esker_core::Unsupported),
    /// The caller stopped the run.
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
