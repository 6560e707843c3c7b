//! Charts: each answers one question, which is its title. Each has one file, and one line in [`CHARTS`].
//!
//! A chart selects columns from the study of a workload; `assets/charts.js` draws it. If the study lacks the data for a
//! chart, the chart is left out.

mod align;
mod arm_path;
mod burst_credits;
mod caches;
mod cluster_wear;
mod description;
mod fleet;
mod load;
mod miss_ratio;
mod published;
mod request_sizes;
mod response_curve;
mod response_series;
mod run;
mod run_intervals;
mod skew;
mod style;
mod utilisation;
mod validation;
mod working_set;

use esker_results::study::{StudyReport, WorkloadStudy};

pub(crate) use arm_path::of_disk as arm_path;
pub(crate) use caches::of_caches;
pub(crate) use cluster_wear::of_cluster as cluster_wear;
pub(crate) use description::Chart;
use description::{Axis, Choice, Clock, Colour, Mark, Series, Unit};
pub(crate) use fleet::of_fleet;
pub(crate) use published::figure;
pub(crate) use run::of_run;
use style::{Scale, Shape};
pub(crate) use validation::of_validation;

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
    burst_credits::ENTRY,
    miss_ratio::ENTRY,
];

/// One kind of chart.
struct ChartEntry {
    /// Its name within a workload.
    name: &'static str,
    /// The section that shows it: "workload", "performance", "lifetime", "cache".
    section: &'static str,
    /// Builds the chart, if there are data for it.
    build: fn(&Source<'_>) -> Option<Chart>,
}

/// Where a chart takes its data from.
struct Source<'a> {
    /// The whole study, for its budgets.
    study: &'a StudyReport,
    /// The workload of the chart.
    workload: &'a WorkloadStudy,
}

/// The charts of one workload. `prefix` makes their ids unique in the page.
pub(crate) fn charts(study: &StudyReport, workload: &WorkloadStudy, prefix: &str, columns: &mut Columns) -> Vec<Chart> {
    let source = Source { study, workload };
    let found = CHARTS.iter().filter_map(|entry| Some((entry, (entry.build)(&source)?)));
    found.map(|(entry, chart)| chart.stored(prefix, entry.name, entry.section, columns)).collect()
}

/// Starts of intervals and their values. The end of the last interval is added, so that its step has a length, too.
fn close_steps(starts: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut starts, mut values) = (starts.to_vec(), values.to_vec());
    if let [.., before, last] = starts[..] {
        starts.push(2.0 * last - before);
        values.push(values.last().copied().unwrap_or(f64::NAN));
    }
    (starts, values)
}
