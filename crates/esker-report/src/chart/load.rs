//! When is the load high? Once in requests, once in bytes.

use esker_results::profile::LoadInterval;

use super::{Axis, Chart, ChartEntry, Clock, Colour, Scale, Series, Shape, Source, Unit, close_steps};

pub(super) const REQUESTS: ChartEntry =
    ChartEntry { name: "load-requests", section: "workload", build: |source| build(source, &PER_REQUEST) };
pub(super) const BYTES: ChartEntry =
    ChartEntry { name: "load-bytes", section: "workload", build: |source| build(source, &PER_BYTE) };

struct What {
    title: &'static str,
    help: &'static str,
    axis: &'static str,
    unit: Unit,
    read: fn(&LoadInterval) -> u64,
    write: fn(&LoadInterval) -> u64,
}

const PER_REQUEST: What = What {
    title: "When is the load high?",
    help: "Requests per second, mean over each interval; single seconds can be far busier.",
    axis: "requests per second",
    unit: Unit::PerSecond,
    read: |interval| interval.read_requests,
    write: |interval| interval.write_requests,
};
const PER_BYTE: What = What {
    title: "When is much data moved?",
    help: "Bytes per second, mean over each interval: many bytes in few requests are large, often sequential requests.",
    axis: "bytes per second",
    unit: Unit::BytesPerSecond,
    read: |interval| interval.read_bytes,
    write: |interval| interval.write_bytes,
};

fn build(source: &Source<'_>, what: &What) -> Option<Chart> {
    let profile = &source.workload.profile;
    let width = Some(profile.load_interval_s).filter(|width| *width > 0.0)?;
    let starts: Vec<f64> = profile.load.iter().map(|interval| interval.start_s).collect();
    let line = |index, label: &str, count: fn(&LoadInterval) -> u64| {
        let rates: Vec<f64> = profile.load.iter().map(|interval| count(interval) as f64 / width).collect();
        let (x, y) = close_steps(&starts, &rates);
        Series::new(label, Colour::Category(index), Shape::Area, x, y)
    };
    let series: Vec<Series> =
        [line(0, "reads", what.read), line(1, "writes", what.write)].into_iter().flatten().collect();
    let y = Axis::new(what.axis, what.unit, Scale::Linear);
    (!series.is_empty()).then(|| Chart::over_time(source, Clock::Trace, what.title, what.help, y, series))
}
