//! The summary table of a sweep.

use esker_core::words;
use esker_results::{DeviceReport, FlashReport, RunResults};
use serde_json::{Map, Value, json};

use crate::config::Dimension;

/// A column of measured values.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The column's name, which ends in its unit.
    pub name: &'static str,
    /// Returns the value; null if a run has none.
    pub of: fn(&RunResults) -> Value,
}

/// All measured columns, in order.
pub static METRICS: &[Metric] = &[
    Metric { name: "requests", of: |results| json!(results.workload.requests) },
    Metric { name: "errors", of: |results| json!(results.requests.errors) },
    Metric { name: "saturated", of: |results| json!(results.saturated.is_some()) },
    Metric { name: "mean_us", of: |results| json!(results.requests.all.response_time.mean_us) },
    Metric { name: "p50_us", of: |results| json!(results.requests.all.response_time.p50_us) },
    Metric { name: "p95_us", of: |results| json!(results.requests.all.response_time.p95_us) },
    Metric { name: "p99_us", of: |results| json!(results.requests.all.response_time.p99_us) },
    Metric { name: "p999_us", of: |results| json!(results.requests.all.response_time.p999_us) },
    Metric { name: "max_us", of: |results| json!(results.requests.all.response_time.max_us) },
    Metric { name: "queue_mean_us", of: |results| json!(results.requests.all.queue_time.mean_us) },
    Metric { name: "read_mean_us", of: |results| json!(results.requests.read.response_time.mean_us) },
    Metric { name: "write_mean_us", of: |results| json!(results.requests.write.response_time.mean_us) },
    Metric { name: "requests_per_s", of: |results| json!(results.throughput.requests_per_s) },
    Metric { name: "bytes_per_s", of: |results| json!(results.throughput.bytes_per_s) },
    Metric { name: "utilisation_busiest", of: utilisation_busiest },
    Metric { name: "write_amplification", of: write_amplification },
    Metric { name: "erases", of: |results| flash_sum(results, |flash| flash.erases) },
    Metric { name: "projected_lifetime_years", of: projected_lifetime },
    Metric { name: "drive_writes_per_day", of: drive_writes_per_day },
    Metric { name: "cache_miss_ratio", of: cache_miss_ratio },
];

fn flash(results: &RunResults) -> impl Iterator<Item = &FlashReport> {
    results.devices.values().filter_map(|device| device.flash.as_ref())
}

fn flash_sum(results: &RunResults, of: fn(&FlashReport) -> u64) -> Value {
    match flash(results).next() {
        Some(_) => json!(flash(results).map(of).sum::<u64>()),
        None => Value::Null,
    }
}

fn utilisation_busiest(results: &RunResults) -> Value {
    let all = results.devices.values().flat_map(|device: &DeviceReport| device.utilisation_busiest.values());
    all.copied().reduce(f64::max).map_or(Value::Null, |value| json!(value))
}

/// Write amplification of all flash of the tree together.
fn write_amplification(results: &RunResults) -> Value {
    let programs: u64 = flash(results).map(|flash| flash.programs.total()).sum();
    match flash(results).map(|flash| flash.host_page_writes).sum::<u64>() {
        0 => Value::Null,
        written => json!(programs as f64 / written as f64),
    }
}

/// Projected lifetime of the drive that wears out first.
fn projected_lifetime(results: &RunResults) -> Value {
    let years = flash(results).filter_map(|flash| flash.projected_lifetime_years).reduce(f64::min);
    years.map_or(Value::Null, |years| json!(years))
}

/// What the host writes to a drive in a day of such requests, in capacities of the drive; of the drive with the most.
fn drive_writes_per_day(results: &RunResults) -> Value {
    let days = results.workload.duration_s / 86_400.0;
    let capacities = |flash: &FlashReport| flash.host_page_writes as f64 / flash.pages.host.max(1) as f64;
    match flash(results).map(capacities).reduce(f64::max) {
        Some(capacities) if days > 0.0 => json!(capacities / days),
        _ => Value::Null,
    }
}

/// Misses of all flash caches of the tree, as a part of all accesses to them.
fn cache_miss_ratio(results: &RunResults) -> Value {
    let lines =
        results.devices.values().filter_map(|device| device.flash_cache.as_ref()).map(|of| (of.hits, of.misses));
    let pages = results.devices.values().filter_map(|device| device.host_managed_cache.as_ref());
    let all = lines.chain(pages.map(|of| (of.hits, of.misses)));
    let (hits, misses) = all.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    if hits + misses == 0 { Value::Null } else { json!(misses as f64 / (hits + misses) as f64) }
}

/// A row per point: its index, the swept values, its results file, the error if it failed, and the [`METRICS`].
#[derive(Clone, Debug)]
pub struct SweepTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values by column; null where there is none.
    pub rows: Vec<Vec<Value>>,
    values: Vec<Vec<Value>>,
}

impl SweepTable {
    pub(super) fn new(dimensions: &[Dimension]) -> Self {
        let swept = dimensions.iter().map(Dimension::key);
        let metrics = METRICS.iter().map(|metric| metric.name.to_string());
        let columns = std::iter::once("index".to_string())
            .chain(swept)
            .chain(["file".to_string(), "error".to_string()])
            .chain(metrics)
            .collect();
        Self { columns, rows: Vec::new(), values: dimensions.iter().map(Dimension::values).collect() }
    }

    fn begin(&self, index: usize, choice: &[usize]) -> Vec<Value> {
        let mut row = vec![json!(index)];
        row.extend(self.values.iter().zip(choice).map(|(values, &chosen)| values[chosen].clone()));
        row
    }

    pub(super) fn push(&mut self, index: usize, choice: &[usize], file: &str, metrics: &[Value]) {
        let mut row = self.begin(index, choice);
        row.extend([json!(file), Value::Null]);
        row.extend_from_slice(metrics);
        self.rows.push(row);
    }

    pub(super) fn push_failed(&mut self, index: usize, choice: &[usize], message: &str) {
        let mut row = self.begin(index, choice);
        row.extend([Value::Null, json!(message)]);
        row.resize(self.columns.len(), Value::Null);
        self.rows.push(row);
    }

    /// Returns a list of objects.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<Value>| self.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>();
        self.rows.iter().map(|row| Value::Object(object(row))).collect()
    }

    /// Returns true if a text starts like a table from [`SweepTable::to_csv`].
    pub fn is_csv(text: &str) -> bool {
        let header = text.lines().next().unwrap_or_default();
        let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        header.starts_with("index,") && header.ends_with(&metrics.join(","))
    }

    /// Returns comma-separated values (RFC 4180) with a header. Null values are empty.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let header = self.columns.iter().map(|column| quoted(column)).collect::<Vec<_>>();
        text += &(header.join(",") + "\n");
        for row in &self.rows {
            let cells = row.iter().map(|value| match value {
                Value::Null => String::new(),
                Value::String(text) => quoted(&words::spreadsheet_text(text)),
                other => quoted(&other.to_string()),
            });
            text += &(cells.collect::<Vec<_>>().join(",") + "\n");
        }
        text
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}
