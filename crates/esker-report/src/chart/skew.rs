//! How hot is the hottest data?

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit, drawable};
use crate::columns::Columns;
use crate::json::column;

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "skew", section: "workload", build };

fn build(source: &Source<'_>, columns: &mut Columns) -> Option<Chart> {
    let mut series = Vec::new();
    for (index, label, path) in [(2, "all accesses", "profile.skew.lorenz"), (1, "writes", "profile.write_skew.lorenz")]
    {
        let pages = column(source.workload, path, "page_share");
        let accesses = column(source.workload, path, "access_share");
        if drawable(&pages, &accesses) {
            series.push(Series {
                label: label.to_string(),
                key: format!("skew of {label}"),
                colour: Colour::Category(index),
                shape: Shape::Line,
                x: columns.exact(&pages),
                y: columns.drawn(&accesses),
            });
        }
    }
    if series.is_empty() {
        return None;
    }
    let even = columns.exact(&[0.0, 1.0]);
    series.push(Series {
        label: "if all pages were equally hot".to_string(),
        key: "even".to_string(),
        colour: Colour::Reference,
        shape: Shape::Line,
        x: even,
        y: even,
    });
    Some(Chart::new(
        "How hot is the hottest data?",
        "Share of the accesses (upwards) that go to the hottest share of the touched pages (to the right). The steeper it \
         begins, the more a little fast storage helps.",
        Axis::new("share of touched pages, hottest first", Unit::Share, Scale::Linear),
        Axis::shares("share of accesses"),
        series,
    ))
}
