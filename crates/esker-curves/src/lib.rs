//! Miss-ratio curves: which share of accesses a least-recently-used cache would miss, for all sizes, computed in one
//! pass.
//!
//! Curves are exact ([`ExactCurve`]: the stack distances of Mattson et al. 1970), computed from a sample of the objects
//! ([`Shards`], Waldspurger et al., FAST 2015), or from reuse times ([`Aet`], Hu et al., ATC 2016). The caller chooses
//! what an object is; [`CurveBuilder`] derives objects from requests.

mod aet;
mod builder;
mod curve;
mod exact;
mod live_times;
mod objects;
mod shards;
mod stack;

pub use aet::Aet;
pub use builder::{CurveBuilder, CurveMethod, CurveSettings};
pub use curve::{CurvePoint, MissRatioCurve};
pub use exact::ExactCurve;
pub use objects::{CurveObjects, PAGE_BYTES, SECTOR_BYTES, piece_ids};
pub use shards::{SampleSize, Shards};
pub use stack::StackDistances;

/// Number of ids that are looked up together ahead of their use, so that their cache misses overlap.
const BATCH: usize = 64;
