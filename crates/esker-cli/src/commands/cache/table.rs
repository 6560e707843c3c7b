//! The results as tables for terminals.

use esker_core::words;
use esker_results::cache::{
    ADMISSION_NONE, CacheAdmission, CachePair, CachePolicy, CacheResult, CacheResults, CacheVolume,
};

use crate::table::{Table, percent};

/// Policies beside each other in a table, so that it fits into a terminal.
const COLUMNS: usize = 8;

/// What tables show.
#[derive(Clone, Copy)]
struct Quantity {
    /// How it is written of a result.
    cell: fn(&CacheResult) -> String,
    /// How it is written of a volume; absent where volumes do not have it.
    of_volume: Option<fn(&CacheVolume) -> String>,
    /// Whether the last table names the best policies.
    with_best: bool,
}

/// The results as text: a row for each size and admission policy, a column for each policy. Below each row there is one
/// for each volume, if they were asked for.
pub(super) fn render(results: &CacheResults) -> String {
    let of_volume: fn(&CacheVolume) -> String = |volume| format!("{:.4}", volume.miss_ratio);
    let misses = Quantity { cell: ratio, of_volume: Some(of_volume), with_best: true };
    let mut text = heading(results) + "\n\n" + &tables(results, misses);
    if has_volumes(results) {
        text += &missed_bytes(results);
    }
    if has_admissions(results) || has_volumes(results) {
        text += &written(results);
    }
    if has_admissions(results) {
        text += &refused(results);
    }
    let cost = |cell| Quantity { cell, of_volume: None, with_best: false };
    if results.costs.is_some() {
        let time = |result: &CacheResult| result.mean_access_us.map_or_else(String::new, words::time);
        text += &format!("\nMean time of an access\n\n{}", tables(results, cost(time)));
    }
    if results.costs.is_some_and(|costs| costs.price_per_gib.is_some()) {
        let price = |result: &CacheResult| result.price_per_saved_ms.map_or("-".into(), words::published);
        text += &format!("\nPrice of each millisecond that the mean access saves\n\n{}", tables(results, cost(price)));
    }
    if let Some(rated) = results.rated_drive_writes_per_day {
        text += &drive_writes(results, rated);
    }
    if let [only] = volumes(results) {
        text += &format!("\nThe trace has one volume, `{}`: all is its own.\n", only.volume);
    }
    text + "\n" + &knees(results)
}

/// The volumes of the results; none unless they were asked for.
fn volumes(results: &CacheResults) -> &[CacheVolume] {
    results.results.first().map_or(&[], |result| &result.volumes)
}

fn has_volumes(results: &CacheResults) -> bool {
    !volumes(results).is_empty()
}

/// Whether any admission policy refuses something.
fn has_admissions(results: &CacheResults) -> bool {
    results.admissions.iter().any(|admission| admission.admission != ADMISSION_NONE)
}

fn missed_bytes(results: &CacheResults) -> String {
    let quantity = Quantity {
        cell: |result| format!("{:.4}", result.byte_miss_ratio),
        of_volume: Some(|volume| format!("{:.4}", volume.byte_miss_ratio)),
        with_best: false,
    };
    format!("\nShare of the accessed bytes that miss\n\n{}", tables(results, quantity))
}

fn written(results: &CacheResults) -> String {
    let (head, quantity) = match results.duration_s {
        Some(_) => (
            "Written to the cache a day",
            Quantity {
                cell: |result| in_bytes(result.write_bytes_per_day),
                of_volume: Some(|volume| in_bytes(volume.write_bytes_per_day)),
                with_best: false,
            },
        ),
        None => (
            "Written to the cache",
            Quantity {
                cell: |result| in_bytes(Some(result.write_bytes)),
                of_volume: Some(|volume| in_bytes(Some(volume.write_bytes))),
                with_best: false,
            },
        ),
    };
    format!("\n{head}\n\n{}", tables(results, quantity))
}

fn in_bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| words::bytes(bytes as f64))
}

/// How often a day the cache is written as a whole, and which results are beyond what the drive is rated for.
fn drive_writes(results: &CacheResults, rated: f64) -> String {
    let known = results.results.iter().filter_map(|result| result.drive_writes_per_day);
    let (all, beyond) = known.fold((0, 0), |(all, beyond), writes| (all + 1, beyond + usize::from(writes > rated)));
    if all == 0 {
        return "\nDrive writes a day: unknown, as the trace has no times or its objects no size.\n".to_string();
    }
    let cell = |result: &CacheResult| result.drive_writes_per_day.map_or_else(String::new, words::published);
    let quantity = Quantity { cell, of_volume: None, with_best: false };
    format!(
        "\nDrive writes a day of a drive as large as the cache, rated for {}: {beyond} of {all} are beyond that\n\n{}",
        words::published(rated),
        tables(results, quantity)
    )
}

fn refused(results: &CacheResults) -> String {
    let quantity = Quantity {
        cell: |result| percent(result.refused as f64 / result.requests as f64),
        of_volume: Some(|volume| percent(volume.refused as f64 / volume.requests as f64)),
        with_best: false,
    };
    format!("\nShare of the accesses that miss and are refused\n\n{}", tables(results, quantity))
}

/// The tables of one quantity.
fn tables(results: &CacheResults, quantity: Quantity) -> String {
    let (bounds, usable): (Vec<&CachePolicy>, Vec<&CachePolicy>) =
        results.policies.iter().partition(|policy| policy.is_bound);
    let mut parts: Vec<&[&CachePolicy]> = usable.chunks(COLUMNS).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let last = parts.len() - 1;
    let table = |(index, part): (usize, &&[&CachePolicy])| {
        let bounds = if index == last { bounds.as_slice() } else { &[] };
        let with_best = quantity.with_best && usable.len() > 1 && index == last;
        table(results, part, bounds, Quantity { with_best, ..quantity })
    };
    parts.iter().enumerate().map(table).collect::<Vec<_>>().join("\n")
}

/// The knees of the policies, and what a bound is.
fn knees(results: &CacheResults) -> String {
    let mut text = String::new();
    let reached: Vec<String> = results
        .policies
        .iter()
        .filter_map(|policy| {
            let knee = policy.knee?;
            let knee = if results.sized { words::bytes(knee as f64) } else { words::count(knee) };
            Some(format!("{} {knee}", head(policy)))
        })
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
        "{} accesses to {}{} {}",
        words::count(results.accesses),
        if results.sample.is_some() { "about " } else { "" },
        words::count(results.distinct_objects),
        results.objects_are,
    );
    if let Some(bytes) = results.distinct_bytes {
        text += &format!(" of {} together", words::bytes(bytes as f64));
    }
    text += "; share of the accesses that miss";
    if let Some(share) = results.warm_up {
        text += &format!("; the first {} of the requests only warm the cache", percent(share));
    }
    if let Some(sample) = results.sample {
        text += &format!("; from a sample of {}", percent(sample.rate));
        if sample.seeds > 1 {
            text += &format!(", mean of {} seeds ± its standard error", sample.seeds);
        }
    }
    text
}

/// One table; the last one has the best policy and the bounds.
fn table(results: &CacheResults, part: &[&CachePolicy], bounds: &[&CachePolicy], quantity: Quantity) -> String {
    let volumes = if quantity.of_volume.is_some() { volumes(results) } else { &[] };
    let heads = heads(results, part, bounds, quantity.with_best, !volumes.is_empty());
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let sizes = results.sizes();
    let rows = sizes.iter().flat_map(|size| results.admissions.iter().map(move |admission| (*size, admission)));
    for (size, admission) in rows {
        let of = |policy: &CachePolicy| results.result(CachePair { policy, admission }, size);
        let of_all = |policy: &&CachePolicy| of(policy).map_or_else(String::new, quantity.cell);
        let mut row = first_cells(results, size, admission);
        let before_volumes = row.len();
        if !volumes.is_empty() {
            row.extend(["all".to_string(), words::count(results.accesses)]);
        }
        row.extend(part.iter().map(of_all));
        if quantity.with_best {
            let best = results.best(size, Some(admission));
            row.push(best_in_words(best.iter().map(|result| result.policy.as_str()).collect()));
        }
        row.extend(bounds.iter().map(of_all));
        table.row(row);
        for (index, volume) in volumes.iter().enumerate() {
            let cell = |policy: &&CachePolicy| {
                let found = of(policy).and_then(|result| result.volumes.get(index));
                found.zip(quantity.of_volume).map_or_else(String::new, |(volume, cell)| cell(volume))
            };
            let mut row = vec![String::new(); before_volumes];
            row.extend([volume.volume.clone(), words::count(volume.requests)]);
            row.extend(part.iter().map(cell));
            if quantity.with_best {
                row.push(best_in_words(results.best_of_volume(size, admission, index)));
            }
            row.extend(bounds.iter().map(cell));
            table.row(row);
        }
    }
    table.render()
}

fn heads(
    results: &CacheResults,
    part: &[&CachePolicy],
    bounds: &[&CachePolicy],
    best: bool,
    volumes: bool,
) -> Vec<String> {
    let mut heads = Vec::new();
    if !results.sized {
        heads.push(results.objects_are.clone());
    }
    if results.in_bytes(0).is_some() {
        heads.push("cache size".into());
    }
    heads.push("of all".into());
    if has_admissions(results) {
        heads.push("admission".into());
    }
    if volumes {
        heads.extend(["volume".to_string(), "accesses".to_string()]);
    }
    heads.extend(part.iter().map(|policy| head(policy)));
    if best {
        heads.push("best".into());
    }
    heads.extend(bounds.iter().map(|policy| head(policy)));
    heads
}

/// The cells that say which caches a row is of.
fn first_cells(results: &CacheResults, size: u64, admission: &CacheAdmission) -> Vec<String> {
    let mut row = Vec::new();
    if !results.sized {
        row.push(words::count(size));
    }
    row.extend(results.in_bytes(size).map(|bytes| words::bytes(bytes as f64)));
    row.push(percent(results.share_of_all(size)));
    if has_admissions(results) {
        row.push(admission.admission.clone());
    }
    row
}

fn head(policy: &CachePolicy) -> String {
    if policy.is_bound { format!("{} (bound)", policy.policy) } else { policy.policy.clone() }
}

/// The best policies; those that are many are only counted.
fn best_in_words(best: Vec<&str>) -> String {
    if best.len() > 3 { format!("{} policies alike", best.len()) } else { best.join(", ") }
}

fn ratio(result: &CacheResult) -> String {
    let error = result.spread.map(|spread| format!(" ±{:.4}", spread.miss_ratio_standard_error));
    format!("{:.4}{}", result.miss_ratio, error.unwrap_or_default())
}
