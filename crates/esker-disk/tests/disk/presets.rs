//! Is what the docs say of the presets so?

use esker_disk::{DiskSettings, Mechanics, PRESETS};

use crate::common::preset;

/// The line of a preset in the table of docs/disk-model.md.
fn row(name: &str, settings: &DiskSettings) -> String {
    let mechanics = Mechanics::new(settings).unwrap();
    let seek = mechanics.seek_curve().mean(mechanics.geometry().cylinders()).as_micros_f64() / 1e3;
    let turn = mechanics.rotation().revolution().as_secs_f64();
    let rate = f64::from(settings.zones[0].sectors_per_track) * 512.0 / turn / 1e6;
    let cache = settings.cache.expect("all presets have a buffer");
    let buffer = f64::from(cache.segments) * cache.segment_size.0 as f64 / f64::from(1 << 20);
    let early = match cache.write_back.0 {
        0 => "none".to_string(),
        bytes => format!("{} MiB", bytes >> 20),
    };
    let speed = settings.rotation_speed.to_string();
    let speed = speed.trim_end_matches("rpm");
    format!("| `{name}` | {speed} rpm | {seek:.1} ms | {rate:.1} MB/s | {buffer:.0} MiB | {early} |")
}

#[test]
fn the_table_of_presets_is_true_and_whole() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/disk-model.md")).unwrap();
    let missing: Vec<String> = PRESETS
        .iter()
        .map(|entry| row(entry.name, &preset(entry.name)))
        .filter(|row| !docs.lines().any(|line| line == row))
        .collect();
    assert!(missing.is_empty(), "docs/disk-model.md does not have these lines:\n{}", missing.join("\n"));
}
