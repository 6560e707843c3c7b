//! The distributions of measured and of simulated response times.

use esker_results::validation::{ValidationClass, ValidationResults};

use super::{Axis, Chart, Choice, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// The chart of `esker validate`: each class is a choice.
pub(crate) fn of_validation(results: &ValidationResults, columns: &mut Columns) -> Vec<Chart> {
    let mut chart = Chart::new(
        "How far apart are the two distributions?",
        "Response time (upwards) within which a share of the requests (to the right) ends. The demerit is the distance \
         between the two lines.",
        Axis::shares("share of the requests"),
        Axis::new("response time", Unit::Micros, Scale::Linear),
        Vec::new(),
    );
    chart.choices = results
        .classes
        .iter()
        .map(|class| Choice::new(class.name.as_str(), lines(class)))
        .filter(|choice| !choice.is_empty())
        .collect();
    if chart.choices.is_empty() {
        return Vec::new();
    }
    vec![Chart { wide: true, ..chart }.stored("validation", "distributions", "", columns)]
}

fn lines(class: &ValidationClass) -> Vec<Series> {
    let shares = || class.distribution.iter().map(|quantile| quantile.share).collect();
    let measured = class.distribution.iter().map(|quantile| quantile.measured_ms * 1e3).collect();
    let simulated = class.distribution.iter().map(|quantile| quantile.simulated_ms * 1e3).collect();
    let measured = Series::new("measured", Colour::Category(0), Shape::Line, shares(), measured);
    let simulated = Series::new("simulated", Colour::Category(1), Shape::Line, shares(), simulated);
    measured.into_iter().chain(simulated).collect()
}
