//! Steps and energy of a flash array.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zero::is_zero;

/// Energy in picojoules, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
    #[serde(skip_serializing_if = "is_zero", default)]
    pub recovery_pj: u64,
    /// For pages written again because of bit errors.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub refresh_pj: u64,
    /// Pages programmed again in another write mode.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub re_encoding_pj: u64,
}

impl EnergyByCause {
    /// Energy of all causes, in picojoules.
    pub fn total_pj(&self) -> u64 {
        let background = self.cleaning_pj + self.mapping_pj + self.wear_levelling_pj;
        self.host_pj + background + self.recovery_pj + self.refresh_pj + self.re_encoding_pj
    }
}

/// Energy used by the flash array in the measured phase, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyReport {
    /// Reads of cells.
    pub read: EnergyByCause,
    /// Programs of cells.
    pub program: EnergyByCause,
    /// Erases of blocks.
    pub erase: EnergyByCause,
    /// Transfers over buses.
    pub transfer: EnergyByCause,
    /// Idle dies.
    pub idle_pj: u64,
    /// All components together.
    pub total_pj: u64,
}

/// Work of each die and bus in the measured phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayReport {
    /// Busy share of each die.
    pub die_utilisation: Vec<f64>,
    /// Busy share of each bus.
    pub bus_utilisation: Vec<f64>,
    /// Work of the dies, by kind and cause. The times add up to those of all dies and buses.
    pub steps: Vec<StepReport>,
}

/// Work of the dies of one kind for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepReport {
    /// "read", "program", "erase", "copy-out" and "copy-in" (a copy over the bus), "copy-back", "checked-copy-back",
    /// "rewrite" (a part of a page replaced in the register), "read-again" (for a later decoding step), "read-sector"
    /// and "program-sector" (spare areas and block summaries), and "read-from-register", "copy-out-from-register" and
    /// "read-sector-from-register" (units of a flash page that the register already held).
    pub kind: String,
    /// "host", "cleaning", "mapping" or "wear-levelling".
    pub cause: String,
    /// Number of operations.
    pub count: u64,
    /// Time of cell work.
    pub cells_ns: u64,
    /// Time of transfers, without waiting for the bus.
    pub transfers_ns: u64,
    /// Time of suspending and resuming.
    pub interruptions_ns: u64,
}
