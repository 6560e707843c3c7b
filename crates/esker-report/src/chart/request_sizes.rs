//! How large are requests?

use esker_core::words::page;
use esker_results::profile::{Profile, SizeBin};

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "request-sizes", section: "workload", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let profile = &source.workload.profile;
    let bins = &profile.sizes.bins;
    let total = (profile.read_requests + profile.write_requests) as f64;
    if bins.is_empty() || total <= 0.0 {
        return None;
    }
    let places: Vec<f64> = (0..bins.len()).map(|place| place as f64).collect();
    let row = |index, label: &str, count: fn(&SizeBin) -> u64| {
        let shares: Vec<f64> = bins.iter().map(|bin| count(bin) as f64 / total).collect();
        let any = shares.iter().any(|share| *share > 0.0);
        any.then(|| Series::new(label, Colour::Category(index), Shape::Bars, places.clone(), shares)).flatten()
    };
    let series: Vec<Series> =
        [row(0, "reads", |bin| bin.reads), row(1, "writes", |bin| bin.writes)].into_iter().flatten().collect();
    let names = bins.iter().map(|bin| page::bytes(bin.from_bytes as f64).text()).collect();
    let x = Axis { names, ..Axis::new("from this size up to the next", Unit::Count, Scale::Linear) };
    let y = Axis::new("share of reads and writes", Unit::Share, Scale::Linear);
    let help = format!("Share of all reads and writes by size, in powers of two.{}", most_common(profile, total));
    (!series.is_empty()).then(|| Chart::new("How large are requests?", help, x, y, series))
}

/// The three most common exact sizes, as a sentence.
fn most_common(profile: &Profile, total: f64) -> String {
    let sizes: Vec<String> = profile
        .sizes
        .common
        .iter()
        .take(3)
        .map(|size| {
            let share = (size.reads + size.writes) as f64 / total;
            format!("{} ({})", page::bytes(size.bytes as f64).text(), page::share(share).text())
        })
        .collect();
    if sizes.is_empty() { String::new() } else { format!(" The most common exact sizes: {}.", sizes.join(", ")) }
}
