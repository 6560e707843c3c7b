//! Generates traces like a given one: fits a model by counting, and draws records from it.
//!
//! The trace is cut into at most 64 segments of equally many requests, so that changes over time (load, working set)
//! are kept. Within a segment and volume, requests come as *runs*: a request somewhere, followed by requests that each
//! begin where the one before ended. Runs are classed by operation, number of followers, size and alignment. Each class
//! has its distributions of starts, sizes and lengths. The order of volumes follows the trace, and so does that of
//! times between arrivals, by order of magnitude.
//!
//! Everything is drawn *without replacement*: as many requests as were fitted reproduce every count exactly, and only
//! the order and the combinations are random. (With replacement, a third of all pages that were touched once would be
//! missing.)
//!
//! Not modelled are reuse within a segment, and measured response times. Without the former the smallest caches (about
//! 1 % of the footprint) miss more often than on the trace; curves as a whole stay within 0.02.

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
