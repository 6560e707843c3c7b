//! How much cache is worth its memory?

use super::{Axis, Chart, ChartEntry, Colour, Mark, Scale, Series, Shape, Source, Unit};
use crate::human;
use crate::json::{column, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "miss-ratio", section: "cache", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let sizes = column(source.workload, "miss_ratio_curve.points", "bytes");
    let misses = column(source.workload, "miss_ratio_curve.points", "miss_ratio");
    let series = vec![Series::new("miss ratio", Colour::Category(0), Shape::Line, sizes, misses)?];
    let knee = number(source.workload, "miss_ratio_curve.knee_bytes");
    Some(Chart {
        marks: knee
            .filter(|value| *value > 0.0)
            .map(|value| Mark { axis: "x", value, label: format!("knee: {}", human::bytes(value).text()) })
            .into_iter()
            .collect(),
        wide: true,
        ..Chart::new(
            "How much cache is worth its memory?",
            "Share of page accesses that a cache of this size misses. Where the curve is steep, memory pays; beyond \
             the knee it buys little.",
            Axis::new("cache size", Unit::Bytes, Scale::Log),
            Axis::shares("miss ratio"),
            series,
        )
    })
}
