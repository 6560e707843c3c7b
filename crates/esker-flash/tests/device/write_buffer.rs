//! Effects of a write buffer on throughput and reads, for every preset, with every kind of pool and write frontier.

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request, Rng};
use esker_flash::{PRESETS, SsdSettings, WriteBufferSettings};
use esker_ftl::{Space, WriteFrontiers};
use esker_nand::{Geometry, PoolScope};

use crate::common::{Run, filled, preset, run};

/// Queue depth: requests under way at the same time.
const DEPTH: u64 = 512;
/// Buffer size for presets that have no buffer, in pages per die, as in tlc-data-centre.
const BUFFER_PAGES_PER_DIE: u64 = 96;

/// Returns a preset with fewer channels and blocks, and its buffer. The buffer is scaled by the number of dies. It has
/// room for at least one page per request, since there are as many requests as on the whole drive.
fn scaled(name: &str) -> (SsdSettings, WriteBufferSettings) {
    let mut settings = preset(name);
    let dies = |settings: &SsdSettings| {
        let geometry = &settings.geometry;
        u64::from(geometry.channels * geometry.packages_per_channel * geometry.dies_per_package)
    };
    let before = dies(&settings);
    settings.geometry.channels = settings.geometry.channels.min(2);
    settings.geometry.blocks_per_plane = 64;
    settings.geometry.pages_per_block = settings.geometry.pages_per_block.min(64);
    let page = settings.geometry.page_size.0;
    let mut buffer = settings.write_buffer.take().unwrap_or_else(|| WriteBufferSettings {
        size: Bytes(before * BUFFER_PAGES_PER_DIE * page),
        ..preset("tlc-data-centre").write_buffer.expect("it has a buffer")
    });
    buffer.size = Bytes((buffer.size.0 / before * dies(&settings)).max(DEPTH * page));
    (settings, buffer)
}

/// Serves random requests of one page each, `reads` per cent of them reads, once the drive has begun to clean. Returns
/// how many requests were served per second of simulated time.
fn random_requests(settings: &SsdSettings, reads: u64) -> (f64, Run) {
    let mut ssd = filled(settings);
    let page = settings.geometry.page_size;
    let pages = ssd.capacity().0 / page.0;
    let mut rng = Rng::new(5);
    let mut requests = |count: u64| -> Vec<Arrival> {
        let request = |_| {
            let start = Lba(rng.below(pages) * page.0 / 512);
            let request = if rng.chance(reads, 100) { Request::read(start, page) } else { Request::write(start, page) };
            Arrival { at: Nanos::ZERO, request }
        };
        (0..count).map(request).collect()
    };
    let closed = ReplaySettings::closed(DEPTH as usize);
    let begun = run(&mut ssd, requests(pages / 16 + 2 * DEPTH), &closed).last_event;
    let count = 20_000;
    let run = run(&mut ssd, requests(count), &ReplaySettings { start: begun, ..closed });
    (count as f64 / (run.last_event - begun).as_secs_f64(), run)
}

/// Returns every combination of pools and frontiers that makes a difference with these settings.
fn shapes(settings: &SsdSettings) -> Vec<SsdSettings> {
    let mut found: Vec<(Space, SsdSettings)> = Vec::new();
    for pool in [PoolScope::Plane, PoolScope::Die, PoolScope::Package, PoolScope::Gang, PoolScope::Device] {
        for write_frontiers in [WriteFrontiers::Die, WriteFrontiers::Plane, WriteFrontiers::Pool] {
            let settings = SsdSettings { pool, write_frontiers, ..settings.clone() };
            let geometry = Geometry::new(&settings.geometry, settings.block_summary).expect("presets have a geometry");
            let space = Space::new(&settings.layer(), &geometry).expect("presets have room");
            if found.iter().all(|(other, _)| *other != space) {
                found.push((space, settings));
            }
        }
    }
    found.into_iter().map(|(_, settings)| settings).collect()
}

#[test]
fn buffers_of_presets_have_room_for_a_page_of_each_request() {
    for name in PRESETS.iter().map(|preset| preset.name) {
        let settings = preset(name);
        let page = settings.geometry.page_size.0;
        let pages = settings.write_buffer.map_or(DEPTH, |buffer| buffer.size.0 / page);
        let requests = DEPTH.min(u64::from(settings.queue_depth));
        assert!(pages >= requests, "{name}: a buffer of {pages} pages for {requests} requests");
    }
}

#[test]
fn a_buffer_never_lowers_saturated_throughput() {
    for preset in PRESETS {
        let (plain, buffer) = scaled(preset.name);
        for plain in shapes(&plain) {
            let buffered = SsdSettings { write_buffer: Some(buffer), ..plain.clone() };
            let shape = format!("{} with pools {:?}, frontiers {:?}", preset.name, plain.pool, plain.write_frontiers);
            let (without, with) = (random_requests(&plain, 0).0, random_requests(&buffered, 0).0);
            assert!(with >= 0.95 * without, "{shape}: {with:.0} writes per second, {without:.0} without a buffer");
        }
    }
}

#[test]
fn reads_wait_no_longer_for_what_leaves_the_buffer_than_for_writes_without_one() {
    for name in ["tlc-data-centre", "mlc-3d-512g", "z-nand-240g"] {
        let (plain, buffer) = scaled(name);
        let buffered = SsdSettings { write_buffer: Some(buffer), ..plain.clone() };
        let mean = |settings| random_requests(settings, 50).1.statistics.read_response().mean();
        let (without, with) = (mean(&plain), mean(&buffered));
        assert!(with <= 1.1 * without, "{name}: reads take {with:.0} ns, {without:.0} ns without a buffer");
    }
}
