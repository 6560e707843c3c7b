//! How large are requests?

use super::{Axis, Chart, ChartEntry, Colour, Scale, Series, Shape, Source, Unit};
use crate::human;
use crate::json::{list, number};

pub(super) const ENTRY: ChartEntry = ChartEntry { name: "request-sizes", section: "workload", build };

fn build(source: &Source<'_>) -> Option<Chart> {
    let bins = list(source.workload, "profile.sizes.bins");
    let total: f64 = ["read_requests", "write_requests"]
        .iter()
        .filter_map(|field| number(source.workload, &format!("profile.{field}")))
        .sum();
    if bins.is_empty() || total <= 0.0 {
        return None;
    }
    let places: Vec<f64> = (0..bins.len()).map(|place| place as f64).collect();
    let row = |(index, field): (usize, &str)| {
        let shares: Vec<f64> = bins.iter().map(|bin| number(bin, field).unwrap_or(0.0) / total).collect();
        let any = shares.iter().any(|share| *share > 0.0);
        any.then(|| Series::new(field, Colour::Category(index), Shape::Bars, places.clone(), shares)).flatten()
    };
    let series: Vec<Series> = ["reads", "writes"].into_iter().enumerate().filter_map(row).collect();
    let names = bins.iter().map(|bin| human::bytes(number(bin, "from_bytes").unwrap_or(0.0)).text()).collect();
    let x = Axis { names, ..Axis::new("from this size up to the next", Unit::Count, Scale::Linear) };
    let y = Axis::new("share of reads and writes", Unit::Share, Scale::Linear);
    let help = format!("Share of all reads and writes by size, in powers of two.{}", most_common(source, total));
    (!series.is_empty()).then(|| Chart::new("How large are requests?", help, x, y, series))
}

/// The three most common exact sizes, as a sentence.
fn most_common(source: &Source<'_>, total: f64) -> String {
    let sizes: Vec<String> = list(source.workload, "profile.sizes.common")
        .iter()
        .take(3)
        .filter_map(|size| {
            let requests = number(size, "reads")? + number(size, "writes")?;
            let bytes = human::bytes(number(size, "bytes")?).text();
            Some(format!("{bytes} ({})", human::share(requests / total).text()))
        })
        .collect();
    if sizes.is_empty() { String::new() } else { format!(" The most common exact sizes: {}.", sizes.join(", ")) }
}
