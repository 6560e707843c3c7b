//! How much data is in use, and does it grow?

use super::{Axis, Chart, ChartEntry, Clock, Colour, Scale, Series, Shape, Source, Unit, close_steps, starts};
use crate::json::{column, list};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "working-set", section: "workload", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    const PATH: &str = "profile.working_set";
    let starts = starts(list(source.workload, PATH));
    let line = |index, label: &str, field, shape| {
        let (x, y) = close_steps(&starts, &column(source.workload, PATH, field));
        Series::new(label, Colour::Category(index), shape, x, y)
    };
    let series: Vec<Series> = [
        line(0, "touched within the interval (1 MiB areas)", "area_bytes", Shape::Area),
        line(3, "touched since the start (4 KiB pages)", "footprint_bytes", Shape::Steps),
    ]
    .into_iter()
    .flatten()
    .collect();
    let y = Axis::new("distinct data", Unit::Bytes, Scale::Linear);
    let help = "The line rises as long as data is touched that was never touched before; where it is flat, the trace \
                has seen all there is.";
    let title = "How much data is in use, and does it grow?";
    (!series.is_empty()).then(|| Chart::over_time(source, Clock::Trace, title, help, y, series))
}
