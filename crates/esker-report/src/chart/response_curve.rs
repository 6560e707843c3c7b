//! How long do requests take, and what share of them?

use esker_results::LatencySummary;

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "response-curve", section: "performance", build };

/// The percentiles of a summary, each with its share. The maximum is left out: the scale never reaches 100 %.
fn percentiles(times: &LatencySummary) -> [(f64, f64); 4] {
    [(times.p50_us, 0.5), (times.p95_us, 0.95), (times.p99_us, 0.99), (times.p999_us, 0.999)]
}

fn build(source: &Source<'_>) -> Option<Chart> {
    let workload = source.workload;
    let (times, shares) =
        workload.measured.iter().flat_map(|measured| percentiles(&measured.all)).collect::<(Vec<f64>, Vec<f64>)>();
    let measured = Series::new("today, as measured", Colour::Measured, Shape::Line, times, shares);
    let simulated = workload.candidates.iter().enumerate().filter_map(|(index, candidate)| {
        let (times, shares) = candidate.response_curve.iter().map(|point| (point.time_us, point.share)).unzip();
        let series = Series::new(&candidate.title, Colour::Category(index), Shape::Line, times, shares)?;
        Some(series.keyed(&candidate.name))
    });
    let series: Vec<Series> = measured.into_iter().chain(simulated).collect();
    let x = Axis::new("response time", Unit::Micros, Scale::Log);
    let y = Axis::new("share of requests", Unit::Share, Scale::Nines);
    (!series.is_empty()).then(|| Chart {
        wide: true,
        ..Chart::new(
            "How long do requests take, and for how many?",
            "Each curve says which share of the requests (upwards) took at most how long (to the right): further left \
             is faster, and the upper half is the slowest 1 %.",
            x,
            y,
            series,
        )
    })
}
