//! A trace that was read, before it is combined with others.

use esker_trace::Spool;

/// A trace in memory.
#[derive(Debug)]
pub struct TraceInput {
    /// Prefix for names of its volumes if there are several traces.
    pub name: String,
    /// Its records.
    pub spool: Spool,
    /// Whether its format has arrival times.
    pub has_times: bool,
    /// Whether its times count from 1970, so that they tell when it was recorded.
    pub absolute: bool,
    /// What the reader says of its requests, in sentences.
    pub notes: Vec<String>,
}
