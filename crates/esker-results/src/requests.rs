//! Results of requests: how many there were, and how long they took.

use esker_core::{Completion, LatencyHistogram, Nanos, RequestKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a distribution of times, in microseconds. Mean, deviation and maximum are exact, percentiles within
/// 0.1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Standard deviation.
    pub stddev_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Longest.
    pub max_us: f64,
}

impl LatencySummary {
    /// Summary of the times in `histogram`.
    pub fn of(histogram: &LatencyHistogram) -> Self {
        let micros = |time: Nanos| time.as_micros_f64();
        Self {
            mean_us: histogram.mean() / 1e3,
            stddev_us: histogram.stddev() / 1e3,
            p50_us: micros(histogram.quantile(0.50)),
            p95_us: micros(histogram.quantile(0.95)),
            p99_us: micros(histogram.quantile(0.99)),
            p999_us: micros(histogram.quantile(0.999)),
            max_us: micros(histogram.max()),
        }
    }
}

/// One class of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestClass {
    /// Requests that completed without error.
    pub count: u64,
    /// Time from arrival to completion.
    pub response_time: LatencySummary,
    /// Time from the begin of service to completion.
    pub device_time: LatencySummary,
    /// Time from arrival to the begin of service.
    pub queue_time: LatencySummary,
}

/// Completed requests by class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResults {
    /// Requests of all kinds, including trims and flushes.
    pub all: RequestClass,
    /// Reads.
    pub read: RequestClass,
    /// Writes.
    pub write: RequestClass,
    /// Requests that ended with an error.
    pub errors: u64,
}

#[derive(Clone, Debug, Default)]
struct Class {
    response: LatencyHistogram,
    device: LatencyHistogram,
    queue: LatencyHistogram,
}

impl Class {
    fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.device.merge(&other.device);
        self.queue.merge(&other.queue);
    }
    fn results(&self) -> RequestClass {
        RequestClass {
            count: self.response.count(),
            response_time: LatencySummary::of(&self.response),
            device_time: LatencySummary::of(&self.device),
            queue_time: LatencySummary::of(&self.queue),
        }
    }
}

/// Statistics of completed requests. Response time is queue time plus device time. Kept for reads, writes, and others
/// (trims, flushes).
#[derive(Clone, Debug, Default)]
pub struct RequestStatistics {
    read: Class,
    write: Class,
    other: Class,
    errors: u64,
}

impl RequestStatistics {
    /// Adds a completed request that had arrived at `arrival`. Failed requests are counted, not timed.
    #[inline]
    pub fn record(&mut self, arrival: Nanos, kind: RequestKind, completion: &Completion) {
        if completion.result.is_err() {
            self.errors += 1;
            return;
        }
        let class = match kind {
            RequestKind::Read => &mut self.read,
            kind if kind.is_write() => &mut self.write,
            _ => &mut self.other,
        };
        class.response.record(completion.at - arrival);
        class.queue.record(completion.service_start - arrival);
        class.device.record(completion.at - completion.service_start);
    }

    /// Response times of all requests.
    pub fn response(&self) -> LatencyHistogram {
        let mut all = self.read.response.clone();
        all.merge(&self.write.response);
        all.merge(&self.other.response);
        all
    }

    /// Response times of reads.
    pub fn read_response(&self) -> &LatencyHistogram {
        &self.read.response
    }

    /// Response times of writes.
    pub fn write_response(&self) -> &LatencyHistogram {
        &self.write.response
    }

    /// Requests that ended with an error.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The statistics as part of results.
    pub fn results(&self) -> RequestResults {
        let mut all = self.read.clone();
        all.merge(&self.write);
        all.merge(&self.other);
        RequestResults {
            all: all.results(),
            read: self.read.results(),
            write: self.write.results(),
            errors: self.errors,
        }
    }
}
