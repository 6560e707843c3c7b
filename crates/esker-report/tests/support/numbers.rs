//! Numbers as pages write them in Rust, and their charts in scripts.

use esker_core::words::page;
use serde_json::{Value, json};

/// Numbers with their expected text: how the script is called, and what the page writes.
pub(crate) fn numbers() -> Vec<(&'static str, f64, String)> {
    type Write = fn(f64) -> page::Quantity;
    let writers: [(&str, Write, &[f64]); 5] = [
        ("micros", page::micros, &[1.0, 1e3, 1e6, 60e6, 3_600e6, 86_400e6]),
        (
            "bytes",
            page::bytes,
            &[1.0, 1024.0, 1_048_576.0, 1_073_741_824.0, 1_099_511_627_776.0, 1_125_899_906_842_624.0],
        ),
        ("bytes_per_second", page::bytes_per_second, &[1.0, 1024.0, 1_048_576.0]),
        ("per_second", page::per_second, &[1.0, 1e3, 1e6, 1e9, 1e12]),
        ("share", page::share, &[0.01, 1.0]),
    ];
    // Values around every unit: halves to round, values that would read as the next unit, values that are nearly zero.
    let parts = [
        0.0, 1e-6, 0.0125, 0.5, 0.995, 0.99949, 0.9995, 0.99996, 1.0, 1.125, 1.135, 2.375, 9.985, 9.995, 12.34, 99.95,
        119.7, 120.0, 547.5, 999.4, 999.5, 1000.0, 1023.4, 1023.9, 54_321.0,
    ];
    let mut numbers = Vec::new();
    for (name, write, units) in writers {
        for value in units.iter().flat_map(|unit| parts.iter().map(move |part| part * unit)) {
            numbers.push((name, value, write(value).text()));
        }
    }
    numbers
}

/// A JavaScript expression that writes all [`numbers`] like the charts of `page`.
pub(crate) fn numbers_script(page: &str) -> String {
    let tables = page.lines().find(|line| line.starts_with("const WRITTEN = ")).unwrap();
    let asked: Vec<Value> = numbers().iter().map(|(name, value, _)| json!([name, value])).collect();
    let units = include_str!("../../assets/units.js");
    format!("(() => {{ {tables}\n{units}\nreturn {}.map(([name, value]) => UNITS[name](value)); }})()", json!(asked))
}
