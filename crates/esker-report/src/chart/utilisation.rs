//! What is busy, and when?

use std::collections::BTreeSet;

use super::{Axis, Chart, ChartEntry, Choice, Clock, Colour, Series, Shape, Source, candidates, close_steps, starts};
use crate::json::{at, list, text};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "utilisation", section: "performance", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let recommended = text(source.workload, "verdict.recommended");
    let (mut choices, mut chosen) = (Vec::new(), 0);
    for (_, candidate, title) in candidates(source.workload) {
        let points = list(candidate, "series");
        let starts = starts(points);
        let resources: BTreeSet<&String> = points
            .iter()
            .filter_map(|point| at(point, "utilisation")?.as_object())
            .flat_map(|busy| busy.keys())
            .collect();
        let line = |(index, resource): (usize, &String)| {
            let busy = points.iter().map(|point| point["utilisation"][resource].as_f64().unwrap_or(f64::NAN));
            // Work counts where it begins, so that a value can pass the whole.
            let busy: Vec<f64> = busy.map(|share| if share > 1.0 { 1.0 } else { share }).collect();
            let (x, y) = close_steps(&starts, &busy);
            let series = Series::new(resource, Colour::Category(index), Shape::Steps, x, y)?;
            Some(series.keyed(format!("resource {resource}")))
        };
        let series: Vec<Series> = resources.into_iter().enumerate().filter_map(line).collect();
        if !series.is_empty() {
            if text(candidate, "name") == recommended {
                chosen = choices.len();
            }
            choices.push(Choice::new(title, series));
        }
    }
    if choices.is_empty() {
        return None;
    }
    let mut chart = Chart::over_time(
        source,
        Clock::Run,
        "What is busy, and when?",
        "Busy share of each kind of resource, mean over all of the kind. What comes near 100 % first is what limits \
         the design.",
        Axis::shares("busy share"),
        Vec::new(),
    );
    (chart.choices, chart.chosen, chart.wide) = (choices, chosen, true);
    Some(chart)
}
