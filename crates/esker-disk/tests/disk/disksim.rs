//! Reads the parts of DiskSim's text format that are needed: zones, seek points, mechanics, and measured service times.

use std::io::Read;
use std::path::Path;

use esker_core::{ByteRate, Bytes, Lba, Nanos, Priority, Request};
use esker_disk::{CacheSettings, DiskSettings, LayoutSettings, RotationSpeed, SeekSettings, ZoneSettings};

/// Every `key = number` of `text`, in order, comments left out.
fn numbers(text: &str) -> Vec<(String, f64)> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or(""))
        .filter_map(|line| line.split_once('='))
        .filter_map(|(key, value)| {
            let value = value.trim().trim_end_matches(',').trim();
            value.parse().ok().map(|value| (key.trim().to_string(), value))
        })
        .collect()
}

fn first(numbers: &[(String, f64)], key: &str) -> f64 {
    numbers.iter().find(|(name, _)| name == key).unwrap_or_else(|| panic!("the file has no `{key}`")).1
}

fn millis(value: f64) -> Nanos {
    Nanos::from_secs_f64(value / 1e3)
}

/// A drive of `dm_layout_g1` zones without its buffer. The model has one overhead for reads and one for writes: the
/// mean of DiskSim's four (hit or miss, after a read or a write).
pub(crate) fn settings(model: &Path, specs: &Path, seek: SeekSettings) -> DiskSettings {
    let model = std::fs::read_to_string(model).expect("readable");
    let head = numbers(&model);
    let mut zones = Vec::new();
    let mut next_cylinder = 0;
    for text in model.split("dm_layout_g1_zone {").skip(1) {
        let zone = numbers(text);
        let count = |key| first(&zone, key) as u32;
        let begin = count("First cylinder number");
        if let Some(last) = zones.last_mut() {
            let last: &mut ZoneSettings = last;
            last.unused_cylinders = begin - next_cylinder;
        }
        next_cylinder = count("Last cylinder number") + 1;
        zones.push(ZoneSettings {
            cylinders: next_cylinder - begin,
            sectors_per_track: count("Blocks per track"),
            track_skew: Some(count("Skew for track switch")),
            cylinder_skew: Some(count("Skew for cylinder switch")),
            group_skew: None,
            spare_sectors: count("Number of spares") + count("Empty space at zone front"),
            unused_cylinders: 0,
        });
    }
    let specs = numbers(&std::fs::read_to_string(specs).expect("readable"));
    let mean = |kind| {
        let sum: f64 = ["hit", "miss"]
            .into_iter()
            .flat_map(|what| ["read", "write"].map(|after| format!("{kind} {what} over. after {after}")))
            .map(|key| first(&specs, &key))
            .sum();
        millis(sum / 4.0)
    };
    let sector = first(&specs, "Bulk sector transfer time");
    DiskSettings {
        capacity: Some(Bytes(first(&head, "Block count") as u64 * 512)),
        rotation_speed: RotationSpeed::rpm(first(&head, "Rotation speed (in rpms)") as u64),
        surfaces: first(&head, "Number of data surfaces") as u32,
        zones,
        layout: LayoutSettings {
            cylinders_per_group: 1,
            alternate_surfaces: first(&head, "LBN-to-PBN mapping scheme") == 1.0,
        },
        seek,
        head_switch: millis(first(&head, "Head switch time")),
        write_settle: millis(first(&head, "Add. write settling delay")),
        read_overhead: mean("Read"),
        write_overhead: mean("Write"),
        bus_rate: (sector > 0.0).then(|| ByteRate((512.0 / (sector / 1e3)) as u64)),
        cache: None,
        scheduler: "fcfs".to_string(),
        priority_aging: Priority::AGING,
        queue_depth: 1,
    }
}

/// `cylinders, milliseconds` lines.
pub(crate) fn seek_points(path: &Path) -> SeekSettings {
    let text = std::fs::read_to_string(path).expect("readable");
    let points = text.lines().filter_map(|line| {
        let (distance, time) = line.split_once(',')?;
        Some((distance.trim().parse().ok()?, millis(time.trim().parse().ok()?)))
    });
    SeekSettings::Points(points.collect())
}

/// The buffer of a drive.
pub(crate) fn cache(specs: &Path) -> CacheSettings {
    let specs = numbers(&std::fs::read_to_string(specs).expect("readable"));
    let sectors = |key| Bytes(first(&specs, key) as u64 * 512);
    let writes =
        if first(&specs, "Fast write level") > 0.0 { first(&specs, "Maximum number of write segments") } else { 0.0 };
    CacheSettings {
        segments: first(&specs, "Number of buffer segments") as u32,
        segment_size: sectors("Segment size (in blks)"),
        read_ahead: sectors("Maximum read-ahead (blks)"),
        read_ahead_on_hit: first(&specs, "Read-ahead on idle hit") > 0.0,
        write_back: Bytes(sectors("Segment size (in blks)").0 * writes as u64),
        write_batch: None,
    }
}

/// A table of `f` over the distances 1 to `longest`, in milliseconds.
pub(crate) fn seek_table(longest: u32, f: impl Fn(u32) -> f64) -> SeekSettings {
    SeekSettings::Points((1..=longest).map(|distance| (distance, millis(f(distance)))).collect())
}

/// One request of a validation run: what was asked, how long the real drive took, and the pause of the host after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) request: Request,
    pub(crate) service: Nanos,
    pub(crate) pause: Nanos,
}

/// Lines of `R|W word block sectors service_us pause_us`.
pub(crate) fn measured(path: &Path) -> Vec<Measured> {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("readable");
    zstd::Decoder::new(file).and_then(|mut decoder| decoder.read_to_string(&mut text)).expect("zstd");
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, _, block, sectors, service, pause] = words[..] else { panic!("`{line}` has not six columns") };
        let number = |word: &str| word.parse::<f64>().expect("a number");
        let (start, length) = (Lba(number(block) as u64), Bytes(number(sectors) as u64 * 512));
        Measured {
            request: if kind == "R" { Request::read(start, length) } else { Request::write(start, length) },
            service: millis(number(service) / 1e3),
            pause: millis(number(pause) / 1e3),
        }
    };
    text.lines().map(line).collect()
}
