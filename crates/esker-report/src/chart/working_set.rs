//! How much data is in use, and does it grow?

use esker_results::profile::WorkingSetInterval;

use super::{Axis, Chart, ChartEntry, Clock, Colour, Scale, Series, Shape, Source, Unit, close_steps};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "working-set", section: "workload", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let intervals = &source.workload.profile.working_set;
    let starts: Vec<f64> = intervals.iter().map(|interval| interval.start_s).collect();
    let line = |index, label: &str, bytes: fn(&WorkingSetInterval) -> u64, shape| {
        let sizes: Vec<f64> = intervals.iter().map(|interval| bytes(interval) as f64).collect();
        let (x, y) = close_steps(&starts, &sizes);
        Series::new(label, Colour::Category(index), shape, x, y)
    };
    let series: Vec<Series> = [
        line(0, "touched within the interval (1 MiB areas)", |interval| interval.area_bytes, Shape::Area),
        line(3, "touched since the start (4 KiB pages)", |interval| interval.footprint_bytes, Shape::Steps),
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
