//! How long did the traced system take?

use esker_core::{LatencyHistogram, LatencySummary, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Operation;

/// Response times that the trace itself recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredResponses {
    /// Requests that have one.
    pub requests: u64,
    /// All of them.
    pub all: LatencySummary,
    /// Reads.
    pub read: LatencySummary,
    /// Writes.
    pub write: LatencySummary,
    /// Requests that arrived in the busiest hour.
    pub busiest_hour: LatencySummary,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Responses {
    read: LatencyHistogram,
    write: LatencyHistogram,
    other: LatencyHistogram,
}

impl Responses {
    #[inline]
    pub(super) fn push(&mut self, operation: Operation, response: Nanos) {
        match operation {
            Operation::Read => self.read.record(response),
            Operation::Write => self.write.record(response),
            Operation::Trim | Operation::Flush => self.other.record(response),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.other.merge(&other.other);
    }

    pub(super) fn all(&self) -> LatencyHistogram {
        let mut all = self.read.clone();
        all.merge(&self.write);
        all.merge(&self.other);
        all
    }

    /// `None` where the trace has no response times.
    pub(super) fn finish(&self, busiest_hour: Option<&LatencyHistogram>) -> Option<MeasuredResponses> {
        let all = self.all();
        (all.count() > 0).then(|| MeasuredResponses {
            requests: all.count(),
            all: all.summary(),
            read: self.read.summary(),
            write: self.write.summary(),
            busiest_hour: busiest_hour.map(LatencyHistogram::summary).unwrap_or_default(),
        })
    }
}
