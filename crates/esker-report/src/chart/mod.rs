//! Charts: each answers one question, which is its title. One file per chart, one line in [`CHARTS`].
//!
//! A chart picks columns out of a workload's study; `assets/charts.js` draws it. Where the study lacks what a chart
//! needs, there is no chart.

mod align;
mod description;
mod load;
mod miss_ratio;
mod published;
mod request_sizes;
mod response_curve;
mod response_series;
mod skew;
mod style;
mod utilisation;
mod working_set;

use esker_results::study::{StudyReport, WorkloadStudy};

pub(crate) use description::Chart;
use description::{Axis, Choice, Clock, Colour, Mark, Series, Unit};
pub(crate) use published::figure;
use style::{Scale, Shape};

use crate::columns::Columns;

/// All charts, in the order of the report.
static CHARTS: &[ChartEntry] = &[
    load::REQUESTS,
    load::BYTES,
    request_sizes::ENTRY,
    skew::ENTRY,
    working_set::ENTRY,
    response_curve::ENTRY,
    response_series::ENTRY,
    utilisation::ENTRY,
    miss_ratio::ENTRY,
];

/// One kind of chart.
struct ChartEntry {
    /// Its name within a workload.
    name: &'static str,
    /// The section that shows it: "workload", "performance", "lifetime", "cache".
    section: &'static str,
    /// Draws it, where there is data.
    build: fn(&Source<'_>) -> Option<Chart>,
}

/// Where a chart finds its data.
struct Source<'a> {
    /// The whole study: budgets.
    study: &'a StudyReport,
    /// The workload that the chart is of.
    workload: &'a WorkloadStudy,
}

/// The charts of one workload; `prefix` makes their identities unique in the page.
pub(crate) fn charts(study: &StudyReport, workload: &WorkloadStudy, prefix: &str, columns: &mut Columns) -> Vec<Chart> {
    let source = Source { study, workload };
    let found = CHARTS.iter().filter_map(|entry| Some((entry, (entry.build)(&source)?)));
    found.map(|(entry, chart)| chart.stored(prefix, entry.name, entry.section, columns)).collect()
}

/// Begins of intervals and their values, closed by the end of the last interval, so that steps show its length too.
fn close_steps(starts: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut starts, mut values) = (starts.to_vec(), values.to_vec());
    if let [.., before, last] = starts[..] {
        starts.push(2.0 * last - before);
        values.push(values.last().copied().unwrap_or(f64::NAN));
    }
    (starts, values)
}
