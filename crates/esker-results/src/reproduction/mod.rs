//! What `esker reproduce` says: claims of papers, held against what was measured, and figures redrawn.

mod claim;
mod figure;

pub use claim::{Claim, ClaimVerdict, STAND_IN_FACTOR, Tally};
pub use figure::{Axis, Curve, Figure, Scale, Source};
