//! Traces like a given one: a model of what was counted, and records drawn from it.
//!
//! The trace is cut into at most 64 segments of equally many requests, so that what changes over time (load, working
//! set) changes in the generated trace as well. Within a segment and volume, requests come as *runs*: a request
//! somewhere, followed by requests that each begin where the one before ended. Runs are classed by operation, number of
//! followers, size and alignment; each class has the distributions of its starts, sizes and lengths. Volumes follow
//! each other as in the trace, and so do times between arrivals, by order of magnitude.
//!
//! Everything is drawn *without replacement*: as many requests as were fitted reproduce every count exactly, and
//! only the order and the combinations are left to chance. (With replacement, a third of all pages that were
//! touched once would be missing.) What is not modelled: what is used again within a segment, so that the
//! smallest caches (about 1 % of the footprint) miss more than on the trace, while curves as a whole stay within
//! 0.02; and measured response times.

mod deck;
mod fit;
mod gaps;
mod generate;
mod runs;
mod walk;

pub use fit::{TraceModel, TraceModelFitter};
pub use generate::GeneratedRecords;

#[cfg(test)]
mod tests;
