//! When is the load high? Once in requests, once in bytes.

use serde_json::Value;

use super::{Axis, Chart, ChartEntry, Clock, Colour, Scale, Series, Shape, Source, Unit, close_steps};
use crate::json::{list, number};

pub(super) const REQUESTS: ChartEntry =
    ChartEntry { name: "load-requests", section: "workload", build: |source| build(source, &PER_REQUEST) };
pub(super) const BYTES: ChartEntry =
    ChartEntry { name: "load-bytes", section: "workload", build: |source| build(source, &PER_BYTE) };

struct What {
    title: &'static str,
    help: &'static str,
    axis: &'static str,
    unit: Unit,
    read: &'static str,
    write: &'static str,
}

const PER_REQUEST: What = What {
    title: "When is the load high?",
    help: "Requests per second, mean over each interval; single seconds can be far busier.",
    axis: "requests per second",
    unit: Unit::PerSecond,
    read: "read_requests",
    write: "write_requests",
};
const PER_BYTE: What = What {
    title: "When is much data moved?",
    help: "Bytes per second, mean over each interval: many bytes in few requests are large, often sequential requests.",
    axis: "bytes per second",
    unit: Unit::BytesPerSecond,
    read: "read_bytes",
    write: "write_bytes",
};

fn build(source: &Source<'_>, what: &What) -> Option<Chart> {
    let width = number(source.workload, "profile.load_interval_s").filter(|width| *width > 0.0)?;
    let load = list(source.workload, "profile.load");
    let starts = super::starts(load);
    let rate = |field: &str| -> Vec<f64> {
        load.iter().map(|interval: &Value| number(interval, field).unwrap_or(f64::NAN) / width).collect()
    };
    let line = |index, label: &str, field| {
        let (x, y) = close_steps(&starts, &rate(field));
        Series::new(label, Colour::Category(index), Shape::Area, x, y)
    };
    let series: Vec<Series> =
        [line(0, "reads", what.read), line(1, "writes", what.write)].into_iter().flatten().collect();
    let y = Axis::new(what.axis, what.unit, Scale::Linear);
    (!series.is_empty()).then(|| Chart::over_time(source, Clock::Trace, what.title, what.help, y, series))
}
