//! Changes of devices in the middle of a run.

use thiserror::Error;

use crate::{Bytes, Hint, Nanos, Ratio};

/// What changes at a device. Made by [`crate::Device::change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// From now on the device's clock runs at `1 / factor` of its speed, so that everything in it takes `factor` times
    /// as long as its settings say. Work under way goes on at the new speed. Factors do not multiply: one restores the
    /// speed of the settings. Of a composite device it changes each device below.
    Slow {
        /// Greater than zero.
        factor: Ratio,
    },
    /// The device, a child that was left out so far, is used by its parent from now on.
    Join,
    /// The parent of the device moves all data away from it, in the background.
    Drain,
    /// The parent of the device takes it for failed from now on: what it had acknowledged may be lost.
    Fail,
    /// The device moves nothing in the background from now on, or does so again.
    Pause {
        /// Whether nothing moves.
        paused: bool,
    },
    /// Another number of bytes may move in the device in any 24 hours.
    MoveBudget {
        /// That number.
        moved_bytes_per_day: Bytes,
    },
    /// The parent of the device, a cache, uses less of it from now on: what lies beyond leaves.
    Shrink {
        /// What is used of it.
        capacity: Bytes,
    },
}

/// A change, and when it is made to which device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledChange {
    /// Time since the start of the run.
    pub at: Nanos,
    /// The device's name in reports.
    pub device: String,
    /// What changes.
    pub change: Change,
}

/// Why a device does not make a change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ChangeError {
    message: String,
    hint: Option<String>,
}

impl ChangeError {
    /// For this reason.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Sets what would work instead.
    #[must_use]
    pub fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

impl Hint for ChangeError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
