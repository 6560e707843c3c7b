//! What is busy, and when?

use std::collections::BTreeSet;

use super::{Axis, Chart, ChartEntry, Choice, Clock, Colour, Series, Shape, Source, close_steps};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "utilisation", section: "performance", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let recommended = source.workload.verdict.recommended.as_ref();
    let (mut choices, mut chosen) = (Vec::new(), 0);
    for candidate in &source.workload.candidates {
        let points = &candidate.series;
        let starts: Vec<f64> = points.iter().map(|point| point.start_s).collect();
        let resources: BTreeSet<&String> = points.iter().flat_map(|point| point.utilisation.keys()).collect();
        let line = |(index, resource): (usize, &String)| {
            let busy = points.iter().map(|point| point.utilisation.get(resource).copied().unwrap_or(f64::NAN));
            // Work counts in full when it begins, so a value can exceed one.
            let busy: Vec<f64> = busy.map(|share| if share > 1.0 { 1.0 } else { share }).collect();
            let (x, y) = close_steps(&starts, &busy);
            let series = Series::new(resource, Colour::Category(index), Shape::Steps, x, y)?;
            Some(series.keyed(format!("resource {resource}")))
        };
        let series: Vec<Series> = resources.into_iter().enumerate().filter_map(line).collect();
        if !series.is_empty() {
            if recommended == Some(&candidate.name) {
                chosen = choices.len();
            }
            choices.push(Choice::new(&candidate.title, series));
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
