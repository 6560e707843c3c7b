//! How hot is the hottest data?

use esker_results::profile::Skew;

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "skew", section: "workload", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let profile = &source.workload.profile;
    let line = |index, label: &str, skew: &Skew| {
        let (pages, accesses) = skew.lorenz.iter().map(|point| (point.page_share, point.access_share)).unzip();
        Some(
            Series::new(label, Colour::Category(index), Shape::Line, pages, accesses)?
                .keyed(format!("skew of {label}")),
        )
    };
    let mut series: Vec<Series> = [line(2, "all accesses", &profile.skew), line(1, "writes", &profile.write_skew)]
        .into_iter()
        .flatten()
        .collect();
    if series.is_empty() {
        return None;
    }
    let even = vec![0.0, 1.0];
    series.extend(Series::new("if all pages were equally hot", Colour::Reference, Shape::Line, even.clone(), even));
    Some(Chart::new(
        "How hot is the hottest data?",
        "Share of the accesses (upwards) that go to the hottest share of the touched pages (to the right). The \
         steeper it begins, the more a little fast storage helps.",
        Axis::new("share of touched pages, hottest first", Unit::Share, Scale::Linear),
        Axis::shares("share of accesses"),
        series,
    ))
}
