//! What `esker reproduce` says: claims of papers, held against what was measured, and figures redrawn.

mod claim;
mod figure;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use claim::{Claim, ClaimVerdict, STAND_IN_FACTOR, Tally};
pub use figure::{Axis, Curve, Figure, Scale, Source};

/// What `esker reproduce` found: what its page is drawn from.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reproduction {
    /// Version of esker that found it.
    pub version: String,
    /// Seed of the runs.
    pub seed: u64,
    /// The command that repeats it.
    pub command: String,
    /// One entry per table or figure, in the order in which they ran.
    pub items: Vec<ReproducedItem>,
}

/// One table or figure, reproduced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReproducedItem {
    /// Its paper and its place there: "kim/figure-3.10".
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it stands in the paper.
    pub source: String,
    /// What it claims.
    pub claims: Vec<Claim>,
    /// What it draws.
    pub figures: Vec<Figure>,
}
