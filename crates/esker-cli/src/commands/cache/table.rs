//! The results as tables for terminals.

use esker_core::words;
use esker_results::cache::{ADMISSION_NONE, CacheAdmission, CachePair, CachePolicy, CacheResult, CacheResults};

use crate::table::{Table, percent};

/// Policies beside each other in a table, so that it fits into a terminal.
const COLUMNS: usize = 8;

/// How a table writes a result.
type Cell = fn(&CacheResult) -> String;

/// The results as text: a row for each size and admission policy, a column for each policy.
pub(super) fn render(results: &CacheResults) -> String {
    let mut text = heading(results) + "\n\n" + &tables(results, ratio, true);
    if has_admissions(results) {
        text += &written(results);
    }
    if results.costs.is_some() {
        let time = |result: &CacheResult| result.mean_access_us.map_or_else(String::new, words::time);
        text += &format!("\nMean time of an access\n\n{}", tables(results, time, false));
    }
    if results.costs.is_some_and(|costs| costs.price_per_gib.is_some()) {
        let price = |result: &CacheResult| result.price_per_saved_ms.map_or("-".into(), words::published);
        text += &format!("\nPrice of each millisecond that the mean access saves\n\n{}", tables(results, price, false));
    }
    text + "\n" + &knees(results)
}

/// Whether any admission policy refuses something.
fn has_admissions(results: &CacheResults) -> bool {
    results.admissions.iter().any(|admission| admission.admission != ADMISSION_NONE)
}

/// What is written to the cache, and how many misses were refused.
fn written(results: &CacheResults) -> String {
    let (head, cell): (_, Cell) = match results.duration_s {
        Some(_) => ("Written to the cache a day", |result| {
            result.write_bytes_per_day.map_or_else(String::new, |bytes| words::bytes(bytes as f64))
        }),
        None => ("Written to the cache", |result| words::bytes(result.write_bytes as f64)),
    };
    let refused = |result: &CacheResult| percent(result.refused as f64 / result.requests as f64);
    format!(
        "\n{head}\n\n{}\nShare of the accesses that miss and are refused\n\n{}",
        tables(results, cell, false),
        tables(results, refused, false)
    )
}

/// The tables of one quantity.
fn tables(results: &CacheResults, cell: Cell, with_best: bool) -> String {
    let (bounds, usable): (Vec<&CachePolicy>, Vec<&CachePolicy>) =
        results.policies.iter().partition(|policy| policy.is_bound);
    let mut parts: Vec<&[&CachePolicy]> = usable.chunks(COLUMNS).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let last = parts.len() - 1;
    let table = |(index, part): (usize, &&[&CachePolicy])| {
        let bounds = if index == last { bounds.as_slice() } else { &[] };
        table(results, part, bounds, with_best && usable.len() > 1 && index == last, cell)
    };
    parts.iter().enumerate().map(table).collect::<Vec<_>>().join("\n")
}

/// The knees of the policies, and what a bound is.
fn knees(results: &CacheResults) -> String {
    let mut text = String::new();
    let reached: Vec<String> = results
        .policies
        .iter()
        .filter_map(|policy| Some(format!("{} {}", head(policy), words::count(policy.knee?))))
        .collect();
    if reached.is_empty() {
        text += "No size here has 90 % of the hits that are possible.\n";
    } else {
        let with = match results.admissions.first().filter(|_| has_admissions(results)) {
            Some(first) => format!(", with admission {}", first.admission),
            None => String::new(),
        };
        text += &format!("Smallest size here with 90 % of the hits that are possible{with}: {}\n", reached.join(", "));
    }
    for admission in results.admissions.iter().filter(|admission| admission.admission != ADMISSION_NONE) {
        text += &format!("{}: {}.\n", admission.admission, admission.summary);
    }
    for bound in results.policies.iter().filter(|policy| policy.is_bound) {
        text += &format!("{}: {}. No device can do that.\n", bound.policy, bound.summary);
    }
    text
}

fn heading(results: &CacheResults) -> String {
    let mut text = format!(
        "{} accesses to {}{} {}; share of the accesses that miss",
        words::count(results.accesses),
        if results.sample.is_some() { "about " } else { "" },
        words::count(results.distinct_objects),
        results.objects_are,
    );
    if let Some(sample) = results.sample {
        text += &format!("; from a sample of {}", percent(sample.rate));
        if sample.seeds > 1 {
            text += &format!(", mean of {} seeds ± its standard error", sample.seeds);
        }
    }
    text
}

/// One table; the last one has the best policy and the bounds.
fn table(results: &CacheResults, part: &[&CachePolicy], bounds: &[&CachePolicy], best: bool, cell: Cell) -> String {
    let mut heads = vec![results.objects_are.clone()];
    if results.object_bytes.is_some() {
        heads.push("cache size".into());
    }
    heads.push("of all".into());
    let has_admissions = has_admissions(results);
    if has_admissions {
        heads.push("admission".into());
    }
    heads.extend(part.iter().map(|policy| head(policy)));
    if best {
        heads.push("best".into());
    }
    heads.extend(bounds.iter().map(|policy| head(policy)));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let sizes = results.sizes();
    let rows = sizes.iter().flat_map(|size| results.admissions.iter().map(move |admission| (*size, admission)));
    for (size, admission) in rows {
        let mut row = vec![words::count(size)];
        if let Some(bytes) = results.object_bytes {
            row.push(words::bytes(size.saturating_mul(bytes) as f64));
        }
        row.push(percent(size as f64 / results.distinct_objects as f64));
        if has_admissions {
            row.push(admission.admission.clone());
        }
        let of = |policy: &&CachePolicy| {
            results.result(CachePair { policy, admission }, size).map_or_else(String::new, cell)
        };
        row.extend(part.iter().map(of));
        if best {
            row.push(best_in_words(results, size, admission));
        }
        row.extend(bounds.iter().map(of));
        table.row(row);
    }
    table.render()
}

fn head(policy: &CachePolicy) -> String {
    if policy.is_bound { format!("{} (bound)", policy.policy) } else { policy.policy.clone() }
}

/// The best policies of a size with an admission policy; those that are many are only counted.
fn best_in_words(results: &CacheResults, size: u64, admission: &CacheAdmission) -> String {
    let best: Vec<&str> =
        results.best(size, Some(admission)).into_iter().map(|result| result.policy.as_str()).collect();
    if best.len() > 3 { format!("{} policies alike", best.len()) } else { best.join(", ") }
}

fn ratio(result: &CacheResult) -> String {
    let error = result.spread.map(|spread| format!(" ±{:.4}", spread.miss_ratio_standard_error));
    format!("{:.4}{}", result.miss_ratio, error.unwrap_or_default())
}
