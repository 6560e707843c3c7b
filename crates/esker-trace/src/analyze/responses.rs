//! Response times of the traced system.

use esker_core::{LatencyHistogram, Nanos};
use esker_results::LatencySummary;
use esker_results::profile::MeasuredResponses;

use crate::Operation;

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

    /// Statistics of the response times; `None` if the trace has none.
    pub(super) fn finish(&self, busiest_hour: Option<&LatencyHistogram>) -> Option<MeasuredResponses> {
        let all = self.all();
        (all.count() > 0).then(|| MeasuredResponses {
            requests: all.count(),
            all: LatencySummary::of(&all),
            read: LatencySummary::of(&self.read),
            write: LatencySummary::of(&self.write),
            busiest_hour: busiest_hour.map(LatencySummary::of).unwrap_or_default(),
        })
    }
}
