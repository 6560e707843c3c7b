//! The designs that were not simulated, by what ruled them out.

use std::collections::BTreeMap;

use esker_results::study::{RuledOut, WorkloadStudy};

use crate::purchase::{market_word, money};

/// Designs that were ruled out by the same thing.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) title: &'a str,
    /// What that means, in a sentence.
    pub(crate) help: &'static str,
    /// Number of designs.
    pub(crate) count: usize,
    /// Their prices, from the lowest to the highest, if any is known.
    pub(crate) range: Option<String>,
    pub(crate) rows: Vec<Row<'a>>,
}

/// Designs of one device that differ in its number alone.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// The cheapest of them.
    pub(crate) title: &'a str,
    pub(crate) market: &'a str,
    pub(crate) total: Option<f64>,
    pub(crate) reason: &'a str,
    /// Number of other designs in this row.
    pub(crate) more: usize,
}

/// What rules designs out, in the order of the page: name, title, meaning.
const CAUSES: &[(&str, &str, &str)] = &[
    ("capacity", "Too small", "The data do not fit."),
    ("devices", "Too many devices", "They take more devices than the budget allows."),
    ("class", "Another kind", "Made for other uses, or stood for by another of the same class."),
    ("discontinued", "No longer sold", "Their makers sell them no more; --only NAME or --have allows them."),
    ("endurance", "Too little endurance", "More is written a day than their makers warrant."),
    ("bandwidth", "Too slow a link", "The busiest time asks for more bytes per second than they move."),
    (
        "operations",
        "Too few operations",
        "The busiest time, or the whole trace, asks for more than their limits let through.",
    ),
    (
        "throughput",
        "Too little throughput",
        "The busiest time, or the whole trace, asks for more bytes than their limits let through.",
    ),
    ("latency", "Too slow by themselves", "They take longer than the budget without any load."),
    (
        "busiest stretches",
        "Too slow in the busiest times",
        "Played alone, the busiest times of the trace break a budget.",
    ),
    ("simulation", "Simulated, and not listed above", "Their results are left out: the designs above are nearer."),
    ("failed", "Could not be simulated", "Their simulation ended with an error."),
    ("not reached", "Not looked at", "The search ended before them: --thorough simulates them."),
    ("price", "Dearer", "They cost more than a design that keeps every budget."),
];

/// The designs of a workload that were not simulated.
pub(crate) fn ruled_out(workload: &WorkloadStudy) -> Vec<Group<'_>> {
    let mut by_cause: BTreeMap<(usize, &str), Vec<&RuledOut>> = BTreeMap::new();
    for design in &workload.ruled_out {
        let place = CAUSES.iter().position(|(name, ..)| *name == design.by).unwrap_or(CAUSES.len());
        by_cause.entry((place, &design.by)).or_default().push(design);
    }
    by_cause.into_iter().map(|((place, by), designs)| group(CAUSES.get(place), by, designs)).collect()
}

fn group<'a>(
    cause: Option<&(&str, &'static str, &'static str)>,
    by: &'a str,
    mut designs: Vec<&'a RuledOut>,
) -> Group<'a> {
    let price = |design: &RuledOut| design.total.filter(|total| total.is_finite()).unwrap_or(f64::INFINITY);
    designs.sort_by(|one, other| price(one).total_cmp(&price(other)));
    let count = designs.len();
    let known: Vec<f64> = designs.iter().map(|design| price(design)).filter(|price| price.is_finite()).collect();
    let range = match known.as_slice() {
        [] => None,
        [only] => Some(money(only)),
        [least, .., most] => Some(format!("{} to {}", money(least), money(most))),
    };
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for design in designs {
        let place = *places.entry((&design.market, one_device(&design.title))).or_insert(rows.len());
        if let Some(row) = rows.get_mut(place) {
            row.more += 1;
            continue;
        }
        rows.push(Row {
            title: &design.title,
            market: market_word(&design.market),
            total: design.total.filter(|total| total.is_finite()),
            reason: &design.reason,
            more: 0,
        });
    }
    let (title, help) = cause.map_or((by, ""), |(_, title, help)| (*title, *help));
    Group { title, help, count, range, rows }
}

/// The title of one of the devices of a design: "Micron 7450 PRO, 960 GB" of "4 x Micron 7450 PRO, 960 GB, striped".
fn one_device(title: &str) -> &str {
    let Some((number, device)) = title.split_once(" x ") else { return title };
    let is_number = !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit());
    if is_number { device.strip_suffix(", striped").unwrap_or(device) } else { title }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn designs_are_grouped_by_cause_and_numbers_of_one_device_are_one_row() {
        let design = |title: &str, by: &str, total: Option<f64>| RuledOut {
            title: title.into(),
            by: by.into(),
            total,
            reason: format!("reason of {title}"),
            ..RuledOut::default()
        };
        let mut workload = samples::workload();
        workload.ruled_out = vec![
            design("2 x A, 1 TB, striped", "price", Some(200.0)),
            design("B, 2 TB", "price", Some(150.0)),
            design("A, 1 TB", "price", Some(100.0)),
            design("A, 2 TB", "price", None),
            design("C", "noise", None),
            design("D", "class", Some(40.0)),
        ];
        let groups = ruled_out(&workload);
        let titles: Vec<_> = groups.iter().map(|group| (group.title, group.count, group.range.as_deref())).collect();
        assert_eq!(titles, [("Another kind", 1, Some("40.00")), ("Dearer", 4, Some("100 to 200")), ("noise", 1, None)]);
        let rows: Vec<_> = groups[1].rows.iter().map(|row| (row.title, row.more)).collect();
        assert_eq!(rows, [("A, 1 TB", 1), ("B, 2 TB", 0), ("A, 2 TB", 0)]);
        assert_eq!(groups.iter().flat_map(|group| &group.rows).map(|row| 1 + row.more).sum::<usize>(), 6);
        assert_eq!(one_device("12 x Seagate, 2 TB"), "Seagate, 2 TB");
        assert_eq!(one_device("Extra x 3"), "Extra x 3");
    }
}
