//! What the flash array did, step by step, and what energy that took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zero::is_zero;

/// Picojoules by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnergyByCause {
    /// For host requests.
    pub host_pj: u64,
    /// For cleaning.
    pub cleaning_pj: u64,
    /// For the map.
    pub mapping_pj: u64,
    /// For wear-levelling.
    pub wear_levelling_pj: u64,
    /// For recovery after a power failure.
    #[serde(skip_serializing_if = "is_zero")]
    pub recovery_pj: u64,
    /// For pages written again because of bit errors.
    #[serde(skip_serializing_if = "is_zero")]
    pub refresh_pj: u64,
}

impl EnergyByCause {
    /// All causes together, in picojoules.
    pub fn total_pj(&self) -> u64 {
        self.host_pj + self.cleaning_pj + self.mapping_pj + self.wear_levelling_pj + self.recovery_pj + self.refresh_pj
    }
}

/// Energy that the flash array took in the measured phase, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnergyReport {
    /// Reads of cells.
    pub read: EnergyByCause,
    /// Programs of cells.
    pub program: EnergyByCause,
    /// Erases of blocks.
    pub erase: EnergyByCause,
    /// Transfers over buses.
    pub transfer: EnergyByCause,
    /// Dies while they did nothing.
    pub idle_pj: u64,
    /// All of it.
    pub total_pj: u64,
}

/// What dies and buses did one by one in the measured phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArrayReport {
    /// Busy share of each die.
    pub die_utilisation: Vec<f64>,
    /// Busy share of each bus.
    pub bus_utilisation: Vec<f64>,
    /// What dies did, by kind and cause. Times add up to those of all dies and buses.
    pub steps: Vec<StepReport>,
}

/// What dies did of one kind for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StepReport {
    /// "read", "program", "erase", "copy-out" and "copy-in" (a copy over the bus), "copy-back", "checked-copy-back",
    /// "rewrite" (a part of a page replaced in the register), "read-again" (for a later decoding step),
    /// "read-sector" and "program-sector" (spare areas and block summaries), and "read-from-register",
    /// "copy-out-from-register" and "read-sector-from-register" (units of a flash page that the register held already).
    pub kind: String,
    /// "host", "cleaning", "mapping" or "wear-levelling".
    pub cause: String,
    /// How many.
    pub count: u64,
    /// Cell work.
    pub cells_ns: u64,
    /// Transfers, without waiting for the bus.
    pub transfers_ns: u64,
    /// Suspending and resuming.
    pub interruptions_ns: u64,
}
