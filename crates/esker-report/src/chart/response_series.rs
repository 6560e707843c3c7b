//! When do requests take long?

use super::{
    Axis, Chart, ChartEntry, Colour, Mark, Scale, Series, Shape, Source, Unit, candidates, close_steps, drawable, key,
    starts,
};
use crate::columns::Columns;
use crate::json::{list, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "response-series", section: "performance", build };

fn build(source: &Source<'_>, columns: &mut Columns) -> Option<Chart> {
    let workload = source.workload;
    let mut series = Vec::new();
    for (index, candidate, title) in candidates(workload) {
        let points = list(candidate, "series");
        let starts = starts(points);
        // An interval without requests has no percentile.
        let p99: Vec<f64> = points
            .iter()
            .map(|point| number(point, "p99_us").filter(|value| *value > 0.0).unwrap_or(f64::NAN))
            .collect();
        let (starts, p99) = close_steps(&starts, &p99);
        if drawable(&starts, &p99) {
            series.push(Series {
                label: title.to_string(),
                key: key(candidate),
                colour: Colour::Category(index),
                shape: Shape::Steps,
                x: columns.exact(&starts),
                y: columns.drawn(&p99),
            });
        }
    }
    let y = Axis::new("p99 of the response time", Unit::Micros, Scale::Log);
    (!series.is_empty()).then(|| Chart {
        marks: number(source.study, "budgets.p99_us")
            .map(|value| Mark { axis: "y", value, label: "budget for the busiest hour".to_string() })
            .into_iter()
            .collect(),
        wide: true,
        ..Chart::over_time(
            source,
            "When do requests take long?",
            "Of the requests that ended in an interval, 99 % took at most this long.",
            y,
            series,
        )
    })
}
