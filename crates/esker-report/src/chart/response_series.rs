//! When do requests take long?

use esker_results::SeriesPoint;
use esker_results::study::{Candidate, WorkloadStudy};

use super::{Axis, Chart, ChartEntry, Clock, Colour, Mark, Scale, Series, Shape, Source, Unit, close_steps};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "response-series", section: "performance", build };

/// Of fewer requests than this, the 99th percentile is a single request: it tells more about chance than about the
/// design.
const REQUESTS_MIN: u64 = 100;
/// Neighbouring intervals are merged until they hold this many requests on average.
const REQUESTS_MEAN_MIN: f64 = 250.0;
/// With more intervals than this the line would be a scribble.
const INTERVALS_MAX: usize = 120;

fn build(source: &Source<'_>) -> Option<Chart> {
    let mut help = "Of the requests that ended in an interval, 99 % took at most this long. Intervals with fewer than \
        100 requests are left out.";
    let mut series = lines(source.workload, REQUESTS_MIN);
    if series.is_empty() {
        help = "Of the requests that ended in an interval, 99 % took at most this long. The intervals have fewer than \
            100 requests, so that this is the slowest of them.";
        series = lines(source.workload, 1);
    }
    let y = Axis::new("p99 of the response time", Unit::Micros, Scale::Log);
    (!series.is_empty()).then(|| Chart {
        marks: source
            .study
            .budgets
            .p99_us
            .map(|value| Mark { axis: "y", value, label: "budget for the busiest hour".to_string() })
            .into_iter()
            .collect(),
        wide: true,
        ..Chart::over_time(source, Clock::Run, "When do requests take long?", help, y, series)
    })
}

/// One line for each design, over the intervals with at least this many requests.
fn lines(workload: &WorkloadStudy, requests_min: u64) -> Vec<Series> {
    let merged = workload.candidates.iter().map(|candidate| neighbours(&candidate.series)).max().unwrap_or(1);
    let line = |(index, candidate): (usize, &Candidate)| {
        let (starts, p99): (Vec<f64>, Vec<f64>) =
            candidate.series.chunks(merged).filter_map(|points| merge(points, requests_min)).unzip();
        let (starts, p99) = close_steps(&starts, &p99);
        let series = Series::new(&candidate.title, Colour::Category(index), Shape::Steps, starts, p99)?;
        Some(series.keyed(&candidate.name))
    };
    workload.candidates.iter().enumerate().filter_map(line).collect()
}

/// How many neighbouring intervals to merge, so that they hold enough requests on average.
fn neighbours(points: &[SeriesPoint]) -> usize {
    let requests: u64 = points.iter().map(|point| point.requests).sum();
    let filled = (REQUESTS_MEAN_MIN * points.len() as f64 / requests.max(1) as f64).ceil().clamp(1.0, 32.0) as usize;
    filled.max(points.len().div_ceil(INTERVALS_MAX))
}

/// Start and 99th percentile of merged intervals. The largest percentile of the parts serves for the whole: 99 % of all
/// requests took at most that long.
fn merge(points: &[SeriesPoint], requests_min: u64) -> Option<(f64, f64)> {
    let requests: u64 = points.iter().map(|point| point.requests).sum();
    let p99 = points.iter().map(|point| point.p99_us).fold(f64::NAN, f64::max);
    Some((points.first()?.start_s, if requests >= requests_min { p99 } else { f64::NAN }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_intervals_become_fewer_and_the_emptiest_are_left_out() {
        let point = |start: u32, requests: u64| SeriesPoint {
            start_s: start.into(),
            requests,
            p99_us: f64::from(10 * start),
            ..SeriesPoint::default()
        };
        let points: Vec<SeriesPoint> = (0..8).map(|start| point(start, if start < 4 { 90 } else { 10 })).collect();
        assert_eq!(neighbours(&points), 5);
        assert_eq!(merge(&points[..2], REQUESTS_MIN), Some((0.0, 10.0)));
        assert!(merge(&points[4..6], REQUESTS_MIN).unwrap().1.is_nan());
        assert_eq!(neighbours(&[]), 1);
    }
}
