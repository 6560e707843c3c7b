//! The profiles of real traces agree with the reference table.

use std::path::Path;

use esker_results::profile::Profile;
use esker_testkit::reference_data;
use esker_trace::{Characteriser, CharacteriserSettings, Filter, FilterSettings, Filtered, ReadOptions, TraceReader};

fn profile(path: &Path) -> Profile {
    let mut reader = TraceReader::open(&[path.to_path_buf()], &ReadOptions::default()).unwrap();
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {
        characteriser.push_all(&batch);
    }
    characteriser.finish(reader.volumes())
}

/// Whether `value`, rounded like `expected`, is `expected`, up to `units` of its last digit.
fn agrees(value: f64, expected: &str, units: f64) -> bool {
    let digits = expected.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let expected: f64 = expected.parse().unwrap();
    (value - expected).abs() <= (0.5001 + units) * 10f64.powi(-digits)
}

#[test]
fn every_profile_is_the_one_in_the_reference_table() {
    let Some(manifest) = reference_data("traces/MANIFEST.md") else { return };
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut checked = 0;
    let mut wrong = Vec::new();
    let rows = manifest.lines().skip_while(|line| !line.starts_with("| file (.zst) | requests | read %")).skip(2);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let Some(path) = reference_data(&format!("traces/{}.zst", cells[0])) else { continue };
        let found = profile(&path);
        let mut check = |what: &str, value: f64, expected: &str| {
            // The means of the table are rounded or cut off, and its durations were computed in doubles that count from
            // 1601.
            let units = if matches!(what, "mean size" | "duration") { 3.0 } else { 0.0 };
            if !agrees(value, expected, units) {
                wrong.push(format!("{}: {what} is {value}, not {expected}", cells[0]));
            }
        };
        // The table only counts reads and writes.
        let requests = (found.read_requests + found.write_requests) as f64;
        check("requests", requests, cells[1]);
        check("read share", found.read_requests as f64 / requests * 100.0, cells[2]);
        let (read, write) = cells[3].split_once(" / ").unwrap();
        check("MiB read", mib(found.read_bytes), read);
        check("MiB written", mib(found.write_bytes), write);
        let (mean, median) = cells[4].split_once(" / ").unwrap();
        check("mean size", found.mean_size_bytes, mean);
        check("median size", found.median_size_bytes as f64, median);
        let pages: Vec<&str> = cells[5].split([' ', '(', ')', ',', 'R', 'W']).filter(|text| !text.is_empty()).collect();
        check("pages", found.pages_4k as f64, pages[0]);
        check("pages read", found.pages_4k_read as f64, pages[1]);
        check("pages written", found.pages_4k_written as f64, pages[2]);
        check("footprint", mib(found.footprint_bytes), cells[6]);
        check("sequential share", found.sequential_fraction, cells[7]);
        check("aligned share", found.aligned_4k_fraction, cells[8]);
        if cells[9] == "n/a" {
            assert_eq!((found.duration_s, found.requests_per_s), (None, None), "{}", cells[0]);
        } else {
            let duration = found.duration_s.unwrap();
            check("duration", duration, cells[9]);
            check("reads and writes per second", requests / duration, cells[10]);
            assert_eq!(found.requests_per_s, Some(found.requests as f64 / duration));
        }
        check("devices", found.devices as f64, cells[11]);
        checked += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(checked >= 18, "only {checked} rows were checked");
}

#[test]
fn devices_interleave_on_the_bank_trace() {
    let Some(path) = reference_data("traces/Financial1-first10k.spc.zst") else { return };
    let found = profile(&path);
    // 351 of 10,000 begin where the previous request of any device ended, 4,524 where that of the same device did.
    assert_eq!(found.sequential_fraction_global, 0.0351);
    assert_eq!(found.sequential_fraction, 0.4524);
}

#[test]
fn the_virtual_disk_is_off_by_one_sector() {
    let Some(path) = reference_data("traces/cloudphysics-2h.vscsi.zst") else { return };
    let found = profile(&path);
    let misalignment = found.volumes[0].misalignment.expect("its partition begins at an odd sector");
    // 98,342 of 113,872 requests are whole pages; 81,253 of those begin at the last sector of a page, 104 at the first.
    assert_eq!(misalignment.shift_bytes, 512);
    assert_eq!(misalignment.aligned_before, 104.0 / 113_872.0);
    assert_eq!((misalignment.alignable * 1e4).round(), 8636.0);
    assert_eq!((misalignment.aligned_after * 1e4).round(), 7135.0);
    // After the shift they are aligned, and no misalignment is found.
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let mut filter = Filter::new(FilterSettings { shift_bytes: 512, ..FilterSettings::default() }).unwrap();
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            let Filtered::Keep(shifted) = filter.apply(record, reader.volumes()) else {
                panic!("{record:?} was dropped")
            };
            characteriser.push(&shifted);
        }
    }
    let shifted = characteriser.finish(reader.volumes());
    assert_eq!(shifted.volumes[0].misalignment, None);
    assert_eq!(shifted.aligned_4k_fraction, misalignment.aligned_after);
    assert!(shifted.skew.accesses < found.skew.accesses, "aligned requests touch fewer pages");
}

#[test]
fn traces_are_not_misaligned_where_nothing_shows_it() {
    for name in ["WebSearch1-first25k.spc", "iozone-100k.disksim", "hplajw-1week.srt", "diskmon-sys1.diskmon"] {
        let Some(path) = reference_data(&format!("traces/{name}.zst")) else { continue };
        assert!(profile(&path).volumes.iter().all(|volume| volume.misalignment.is_none()), "{name}");
    }
}
