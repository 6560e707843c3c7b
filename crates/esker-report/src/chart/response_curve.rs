//! How long do requests take, and for how many?

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit, candidates, drawable, key};
use crate::columns::Columns;
use crate::json::{column, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "response-curve", section: "performance", build };

/// Percentiles that a summary has, with their share. The maximum has no place on a scale that never reaches 100 %.
const SUMMARY: &[(&str, f64)] = &[("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99), ("p999_us", 0.999)];

fn build(source: &Source<'_>, columns: &mut Columns) -> Option<Chart> {
    let workload = source.workload;
    let mut series = Vec::new();
    let (times, shares): (Vec<f64>, Vec<f64>) = SUMMARY
        .iter()
        .filter_map(|(field, share)| Some((number(workload, &format!("measured.all.{field}"))?, *share)))
        .unzip();
    if drawable(&times, &shares) {
        series.push(Series {
            label: "today, as measured".to_string(),
            key: "measured".to_string(),
            colour: Colour::Measured,
            shape: Shape::Line,
            x: columns.exact(&times),
            y: columns.exact(&shares),
        });
    }
    for (index, candidate, title) in candidates(workload) {
        let times = column(candidate, "response_curve", "time_us");
        let shares = column(candidate, "response_curve", "share");
        if times.len() > 1 {
            series.push(Series {
                label: title.to_string(),
                key: key(candidate),
                colour: Colour::Category(index),
                shape: Shape::Line,
                x: columns.exact(&times),
                y: columns.exact(&shares),
            });
        }
    }
    let x = Axis::new("response time", Unit::Micros, Scale::Log);
    let y = Axis::new("share of requests", Unit::Share, Scale::Nines);
    (!series.is_empty()).then(|| Chart {
        wide: true,
        ..Chart::new(
            "How long do requests take, and for how many?",
            "Each curve says which share of the requests (upwards) took at most how long (to the right): further left is \
             faster, and the upper half is the slowest 1 %.",
            x,
            y,
            series,
        )
    })
}
