//! How much cache is worth its memory?

use esker_core::words::page;

use super::{Axis, Chart, ChartEntry, Colour, Mark, Scale, Series, Shape, Source, Unit};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "miss-ratio", section: "cache", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let curve = &source.workload.miss_ratio_curve;
    let (sizes, misses) = curve.points.iter().map(|point| (point.bytes as f64, point.miss_ratio)).unzip();
    let series = vec![Series::new("miss ratio", Colour::Category(0), Shape::Line, sizes, misses)?];
    let knee = Some(curve.knee_bytes as f64).filter(|bytes| *bytes > 0.0);
    Some(Chart {
        marks: knee
            .map(|value| Mark { axis: "x", value, label: format!("knee: {}", page::bytes(value).text()) })
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
