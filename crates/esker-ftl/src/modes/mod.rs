//! Policies that choose in which write mode pages are programmed. One file per policy.
//!
//! A policy is told of every page that the host reads from flash or writes to it. It is asked for the mode of each
//! program of data, and whether a page that the host has read should be programmed again in another mode. It knows
//! neither times nor places: those of the modes are settings of the drive, and [`esker_nand::state::FlashState`] keeps
//! the mode of each page.
//!
//! # How to add a policy
//!
//! Add one file, such as `modes/normal.rs`, the shortest one:
//!
#![doc = "```ignore"]
#![doc = include_str!("normal.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod normal;`, and `normal::ENTRY` in [`WRITE_MODE_POLICIES`]. The tests that walk the registry
//! then hold it to the modes that its entry names, and `write_modes = { policy = "normal" }` selects it. The random
//! drives of esker-flash list policies by name: add it to `write_modes()` of `tests/device/random_configurations.rs`.

mod agcr;
mod differentiated;
mod normal;
mod separator;
#[cfg(test)]
mod tests;

use esker_core::registry::{self, Capability, Entry};
use esker_nand::state::{ModePolicy, WriteMode};

use crate::{BuildError, Choice, Parameters};

pub use separator::{Hotness, Separator};

/// Every policy, in the order in which lists show them.
pub static WRITE_MODE_POLICIES: &[WriteModeEntry] = &[normal::ENTRY, agcr::ENTRY, differentiated::ENTRY];

/// Builds a policy with its parameters, for a drive with this many host pages.
pub type BuildModePolicy = fn(Parameters<'_>, u32) -> Box<dyn ModePolicy>;

/// A policy in the registry.
pub type WriteModeEntry = Entry<BuildModePolicy, ModeCapability>;

/// Something that some policies do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeCapability {
    /// Programs pages at low cost.
    LowCost,
    /// Programs pages at medium cost.
    MediumCost,
    /// Programs pages at high cost.
    HighCost,
    /// Programs pages again in another mode when the host reads them.
    ReEncode,
}

impl Capability for ModeCapability {
    const ALL: &'static [Self] = &[Self::LowCost, Self::MediumCost, Self::HighCost, Self::ReEncode];

    fn name(self) -> &'static str {
        match self {
            Self::LowCost => "low-cost",
            Self::MediumCost => "medium-cost",
            Self::HighCost => "high-cost",
            Self::ReEncode => "re-encode",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::LowCost => "programs pages at low cost (`write_modes.low_cost`)",
            Self::MediumCost => "programs pages at medium cost (`write_modes.medium_cost`)",
            Self::HighCost => "programs pages at high cost (`write_modes.high_cost`)",
            Self::ReEncode => "programs pages again in another mode when the host reads them",
        }
    }
}

impl ModeCapability {
    /// Returns the mode that a policy with this capability uses; `None` if the capability is not about a mode.
    pub fn mode(self) -> Option<WriteMode> {
        match self {
            Self::LowCost => Some(WriteMode::LowCost),
            Self::MediumCost => Some(WriteMode::MediumCost),
            Self::HighCost => Some(WriteMode::HighCost),
            Self::ReEncode => None,
        }
    }
}

/// Returns the registry entry that `choice` names.
pub fn find(choice: &Choice) -> Result<&'static WriteModeEntry, BuildError> {
    registry::find(WRITE_MODE_POLICIES, "policy of write modes", &choice.kind)
        .map_err(|name| BuildError::UnknownKind { key: "write_modes.policy", name })
}

/// Builds the policy that `choice` names, for a drive with `host_pages` host pages.
pub fn build(choice: &Choice, host_pages: u32) -> Result<Box<dyn ModePolicy>, BuildError> {
    let entry = find(choice)?;
    let parameters = Parameters::new(choice, &entry.parameters);
    let parameters = parameters.map_err(|error| BuildError::of_choice("write_modes.policy", error))?;
    Ok((entry.build)(parameters, host_pages))
}
