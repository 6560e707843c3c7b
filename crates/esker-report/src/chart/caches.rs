//! What caches of each size miss, a curve for each policy with each admission policy.

use esker_results::cache::{CachePair, CacheResult, CacheResults};

use super::{Axis, Chart, Colour, Scale, Series, Shape, Unit};
use crate::columns::Columns;

/// The charts of `esker cache`; none where there is only one size.
pub(crate) fn of_caches(results: &CacheResults, columns: &mut Columns) -> Vec<Chart> {
    let x = || match results.in_bytes(0) {
        Some(_) => Axis::new("cache size", Unit::Bytes, Scale::Log),
        None => Axis::new(format!("cache size in {}", results.objects_are), Unit::Count, Scale::Log),
    };
    let misses = Chart {
        wide: true,
        ..Chart::new(
            "Which policy misses least?",
            "Share of the accesses to objects that a cache of this size does not hold. Lower is better.",
            x(),
            miss_ratios("miss ratio"),
            curves(results, |result| result.miss_ratio),
        )
    };
    let bytes = Chart::new(
        "How many of the bytes does it miss?",
        "Large requests count for more here: these bytes the device behind the cache has to move.",
        x(),
        miss_ratios("byte miss ratio"),
        curves(results, |result| result.byte_miss_ratio),
    );
    let written = Chart::new(
        "How much is written to the cache?",
        "Objects that are taken in, and writes to those that are held. Flash wears by this.",
        x(),
        Axis::new("bytes written", Unit::Bytes, Scale::Linear),
        curves(results, |result| result.write_bytes as f64),
    );
    let charts = [("misses", misses), ("bytes", bytes), ("written", written)].into_iter();
    charts
        .filter(|(_, chart)| !chart.choices[0].is_empty())
        .map(|(name, chart)| Chart { padded: true, ..chart }.stored("cache", name, "", columns))
        .collect()
}

/// An axis of miss ratios that begins at zero and ends where the values do: policies differ by little, and an axis up
/// to the whole would squeeze curves that all miss a few per cent into one line.
fn miss_ratios(label: &'static str) -> Axis {
    Axis { top: None, ..Axis::shares(label) }
}

fn curves(results: &CacheResults, value: impl Fn(&CacheResult) -> f64) -> Vec<Series> {
    let mut colours = 0..;
    let curve = |pair: CachePair<'_>| {
        let points = results.sizes().into_iter().filter_map(|size| results.result(pair, size));
        let (x, y): (Vec<f64>, Vec<f64>) =
            points.map(|result| (result.size_bytes.unwrap_or(result.size) as f64, value(result))).unzip();
        let colour =
            if pair.policy.is_bound { Colour::Reference } else { Colour::Category(colours.next().unwrap_or(0)) };
        let series = Series::new(pair.name(), colour, Shape::Points, x, y)?;
        Some(if pair.policy.is_bound { series.dashed(|label| format!("{label}, a bound")) } else { series })
    };
    results.pairs().into_iter().filter_map(curve).collect()
}
