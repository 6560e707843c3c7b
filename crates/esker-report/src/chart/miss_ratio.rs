//! How much cache is worth its memory?

use super::{Axis, Chart, ChartEntry, Colour, Mark, Scale, Series, Shape, Source, Unit, drawable};
use crate::columns::Columns;
use crate::human;
use crate::json::{column, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "miss-ratio", section: "cache", build };

fn build(source: &Source<'_>, columns: &mut Columns) -> Option<Chart> {
    let sizes = column(source.workload, "miss_ratio_curve.points", "bytes");
    let misses = column(source.workload, "miss_ratio_curve.points", "miss_ratio");
    if !drawable(&sizes, &misses) {
        return None;
    }
    let series = vec![Series {
        label: "miss ratio".to_string(),
        key: "miss ratio".to_string(),
        colour: Colour::Category(0),
        shape: Shape::Line,
        x: columns.exact(&sizes),
        y: columns.drawn(&misses),
    }];
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
            "Share of page accesses that a cache of this size misses. Where the curve is steep, memory pays; beyond the \
             knee it buys little.",
            Axis::new("cache size", Unit::Bytes, Scale::Log),
            Axis::shares("miss ratio"),
            series,
        )
    })
}
