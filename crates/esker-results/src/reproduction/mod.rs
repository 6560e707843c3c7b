//! Results of `esker reproduce`: claims of papers compared with measurements, and figures drawn again.

mod claim;
mod figure;
mod tally;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use claim::{Claim, ClaimVerdict, STAND_IN_FACTOR};
pub use figure::{Axis, Curve, Figure, Scale, Source};
pub use tally::Tally;

/// Result of `esker reproduce`. Its page is drawn from this.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reproduction {
    /// Version of esker that wrote it.
    pub version: String,
    /// Seed of the runs.
    pub seed: u64,
    /// The command that repeats the runs.
    pub command: String,
    /// One entry per table or figure, in the order in which they ran.
    pub items: Vec<ReproducedItem>,
}

/// One table or figure, reproduced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReproducedItem {
    /// The paper and the table or figure: "kim/figure-3.10".
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it is in the paper.
    pub source: String,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The figures.
    pub figures: Vec<Figure>,
}
