//! Requests that fail because somebody wants it.

use serde::{Deserialize, Serialize};

/// Which requests fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failing {
    /// None but those that the simulated device itself fails.
    #[default]
    None,
    /// All but reads.
    Writes,
    /// All.
    All,
}
