//! How much data is in use, and does it grow?

use super::{
    Axis, Chart, ChartEntry, Clock, Colour, Scale, Series, Shape, Source, Unit, close_steps, drawable, starts,
};
use crate::columns::Columns;
use crate::json::{column, list};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "working-set", section: "workload", build };

fn build(source: &Source<'_>, columns: &mut Columns) -> Option<Chart> {
    const PATH: &str = "profile.working_set";
    let starts = starts(list(source.workload, PATH));
    let mut series = Vec::new();
    for (index, label, field, shape) in [
        (0, "touched within the interval (1 MiB areas)", "area_bytes", Shape::Area),
        (3, "touched since the start (4 KiB pages)", "footprint_bytes", Shape::Steps),
    ] {
        let (x, y) = close_steps(&starts, &column(source.workload, PATH, field));
        if drawable(&x, &y) {
            series.push(Series {
                label: label.to_string(),
                key: field.to_string(),
                colour: Colour::Category(index),
                shape,
                x: columns.exact(&x),
                y: columns.drawn(&y),
            });
        }
    }
    let y = Axis::new("distinct data", Unit::Bytes, Scale::Linear);
    let help = "The line rises as long as data is touched that was never touched before; where it is flat, the trace has \
                seen all there is.";
    let title = "How much data is in use, and does it grow?";
    (!series.is_empty()).then(|| Chart::over_time(source, Clock::Trace, title, help, y, series))
}
