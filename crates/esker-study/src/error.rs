//! Why a study failed.

use esker_core::{Hint, ReplayError, Unsupported};
use esker_sim::{AssemblyError, ConfigError, RunError, WorkloadError};
use esker_trace::TraceError;
use thiserror::Error;

/// Why a study failed.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace has no reads or writes.
    #[error("{name} has no reads and no writes: there is nothing to study")]
    NothingToDo {
        /// The trace.
        name: String,
    },
    /// A trace spans more time than a run can.
    #[error("the last request of {name} comes {years} years after its first, but simulated time ends after 292 years")]
    TooLong {
        /// The trace.
        name: String,
        /// Its time from first to last request.
        years: u64,
    },
    /// A setting is invalid.
    #[error("{message}")]
    Settings {
        /// The setting and the reason.
        message: String,
    },
    /// A design could not be built.
    #[error("a design could not be simulated: {0}")]
    Design(Box<DesignFault>),
    /// The user stopped the study.
    #[error("interrupted")]
    Cancelled,
}

impl StudyError {
    pub(crate) fn design(fault: impl Into<DesignFault>) -> Self {
        match fault.into() {
            DesignFault::Run(RunError::Cancelled) => Self::Cancelled,
            fault => Self::Design(Box::new(fault)),
        }
    }
}

/// Why a design could not be simulated.
#[derive(Debug, Error)]
pub enum DesignFault {
    /// Its devices cannot be built.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// Its replay cannot go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The catalogue's settings of its product do not describe a device.
    #[error("the catalogue's settings do not make a device: {0}")]
    Settings(String),
    /// Its drive does not report its flash.
    #[error("a drive does not report its flash")]
    NoFlash,
    /// A policy of its cache cannot be built.
    #[error(transparent)]
    Policy(#[from] esker_cache::BuildError),
    /// There are too many accesses in the trace to compare the policies of caches.
    #[error(transparent)]
    Accesses(#[from] esker_cache::AccessLogError),
}

impl From<ConfigError> for DesignFault {
    fn from(error: ConfigError) -> Self {
        Self::Run(error.into())
    }
}
impl From<WorkloadError> for DesignFault {
    fn from(error: WorkloadError) -> Self {
        ConfigError::from(error).into()
    }
}
impl From<ReplayError> for DesignFault {
    fn from(error: ReplayError) -> Self {
        Self::Run(error.into())
    }
}
impl From<Unsupported> for DesignFault {
    fn from(error: Unsupported) -> Self {
        Self::Run(error.into())
    }
}

impl Hint for StudyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Trace(error) => error.hint(),
            Self::TooLong { .. } => Some(
                "are its times in the unit of its format? `esker trace filter --speed 1000` makes them shorter".into(),
            ),
            Self::NothingToDo { .. } => Some("`esker trace info` shows what was read".into()),
            _ => None,
        }
    }

    fn work_failed(&self) -> bool {
        match self {
            Self::Trace(error) => error.work_failed(),
            Self::Design { .. } => true,
            _ => false,
        }
    }
}
