//! How long do requests take, and for how many?

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit, candidates, key};
use crate::json::{column, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "response-curve", section: "performance", build };

/// Percentiles that a summary has, with their share. The maximum has no place on a scale that never reaches 100 %.
const SUMMARY: &[(&str, f64)] = &[("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99), ("p999_us", 0.999)];

fn build(source: &Source<'_>) -> Option<Chart> {
    let workload = source.workload;
    let (times, shares): (Vec<f64>, Vec<f64>) = SUMMARY
        .iter()
        .filter_map(|(field, share)| Some((number(workload, &format!("measured.all.{field}"))?, *share)))
        .unzip();
    let measured = Series::new("today, as measured", Colour::Measured, Shape::Line, times, shares);
    let simulated = candidates(workload).filter_map(|(index, candidate, title)| {
        let times = column(candidate, "response_curve", "time_us");
        let shares = column(candidate, "response_curve", "share");
        Some(Series::new(title, Colour::Category(index), Shape::Line, times, shares)?.keyed(key(candidate)))
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
