//! Fleets by counts: settings, where slices lie, what moves, what is written, what wears out.

mod clock;
mod copies;
mod draws;
mod drives;
mod load;
mod measure;
mod place;
mod settings;
mod simulation;
#[cfg(test)]
mod tests;

pub use settings::{
    CopySettings, DataSettings, ErasureCodeSettings, EventKind, EventSettings, FailureSettings, FleetSettings,
    GroupSettings, LoadSettings, ReplacementSettings, RequestSettings, RunSettings, RunUntil, TurnoverSettings,
};
pub use simulation::{FleetError, Simulation};

use esker_core::{Bytes, Nanos};

/// Pages in which writes are counted.
const PAGE: Bytes = Bytes::kib(4);
const DAY: Nanos = Nanos::from_secs(86_400);
const YEAR: Nanos = Nanos::from_secs(365 * 86_400);

/// To a millionth, so that results are short.
fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
