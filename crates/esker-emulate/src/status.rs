//! What an emulated device says of itself.

use esker_serve::ServingStatus;
use serde::{Deserialize, Serialize};

use crate::failing::Failing;
use crate::figures::{Punctuality, ResponseTimes};

/// What an emulated device says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulationStatus {
    /// The name of the simulated device.
    pub device: String,
    /// Bytes that clients can address.
    pub capacity_bytes: u64,
    /// Whether it has power.
    pub has_power: bool,
    /// How often that was cut.
    pub power_cuts: u64,
    /// Which requests fail.
    pub failing: Failing,
    /// How many times as long everything takes as the settings say.
    pub slow: f64,
    /// Whether what was not flushed is lost with the power, in part.
    pub has_volatile_cache: bool,
    /// Bytes that would be lost now, at most.
    pub volatile_bytes: u64,
    /// Response times of the simulated device.
    pub response_times: ResponseTimes,
    /// How punctual the answers were.
    pub punctuality: Punctuality,
}

/// What the server of an emulated device says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmulationServerStatus {
    /// The device.
    #[serde(flatten)]
    pub emulation: EmulationStatus,
    /// Its clients.
    #[serde(flatten)]
    pub serving: ServingStatus,
}
