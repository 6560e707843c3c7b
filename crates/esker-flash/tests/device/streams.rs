//! Drives keep streams apart, with and without a write buffer, and refuse settings where that would have no effect.

use esker_core::{Arrival, Bytes, Device, Hint, Lba, Nanos, Ratio, ReplaySettings, Request, Rng, StreamId, registry};
use esker_flash::{Ssd, SsdError, SsdSettings, WriteBufferSettings};
use esker_ftl::{Choice, FTLS, LayerCapability, Separation};
use esker_nand::ValueError;

use crate::common::{filled, one_package, preset, report, run};

/// One die of 64 blocks with 16 pages each.
fn small(streams: u32) -> SsdSettings {
    let mut settings = one_package(1);
    settings.geometry.blocks_per_plane = 256;
    settings.geometry.pages_per_block = 16;
    settings.over_provisioning = Some(Ratio::percent(15));
    settings.cleaning.threshold = Ratio::percent(2);
    SsdSettings { streams, write_buffer: None, ..settings }
}

/// Returns the number of programs per page written to flash. Nine out of ten writes go to the first tenth of the drive,
/// in stream 0; the others go anywhere, in stream 5.
fn write_amplification(settings: &SsdSettings) -> f64 {
    let mut ssd = filled(settings);
    let page = settings.geometry.page_size;
    let pages = ssd.capacity().0 / page.0;
    let mut rng = Rng::new(3);
    let arrivals: Vec<Arrival> = (0..12 * pages)
        .map(|_| {
            let hot = rng.chance(9, 10);
            let at = if hot { rng.below(pages / 10) } else { pages / 10 + rng.below(pages - pages / 10) };
            let request = Request::write(Lba(at * page.0 / 512), page);
            Arrival { at: Nanos::ZERO, request: Request { stream: StreamId(if hot { 0 } else { 5 }), ..request } }
        })
        .collect();
    run(&mut ssd, arrivals, &ReplaySettings::closed(4));
    let programs = report(&ssd).programs;
    programs.total() as f64 / programs.host as f64
}

#[test]
fn a_hot_and_a_cold_stream_cost_less_where_they_are_told_apart() {
    let buffer = WriteBufferSettings { size: Bytes::kib(64), ..preset("tlc-data-centre").write_buffer.unwrap() };
    for write_buffer in [None, Some(buffer)] {
        let measured = |streams| write_amplification(&SsdSettings { write_buffer, ..small(streams) });
        let [together, alike, apart] = [measured(1), measured(5), measured(2)];
        assert!(apart < 0.9 * together, "{apart} against {together}, buffer {}", write_buffer.is_some());
        // Modulo 5, both streams are the same.
        assert!((alike / together - 1.0).abs() < 1e-9, "{alike} against {together}");
    }
}

/// How a cache with two parts marks its writes with streams.
#[derive(Clone, Copy, Debug)]
enum Handles {
    /// All writes have the same stream.
    None,
    /// One stream for each part.
    ByPart,
    /// One stream for the small part, and two streams that alternate from round to round of the log.
    ByRound,
}

/// Returns the programs per page written of a cache that fills a drive, as caches of large and small objects do. Half
/// of its writes go to a log, 16 pages at a time, which is overwritten round after round. The others go anywhere in
/// `share` percent of the drive. Measured after some rounds of the log, when the first contents of the drive are gone.
fn two_part_cache(share: u64, spare: u64, handles: Handles) -> f64 {
    let mut settings = small(match handles {
        Handles::None => 1,
        Handles::ByPart => 2,
        Handles::ByRound => 3,
    });
    settings.over_provisioning = Some(Ratio::percent(spare));
    settings.geometry.blocks_per_plane = 512;
    let mut ssd = filled(&settings);
    let page = settings.geometry.page_size;
    let pages = ssd.capacity().0 / page.0;
    let small = pages * share / 100;
    let log = (pages - small) / 16 * 16;
    let (mut rng, mut at) = (Rng::new(3), 0);
    let mut half = || {
        let arrivals: Vec<Arrival> = (0..8 * pages / 32)
            .flat_map(|_| {
                let (start, round) = (small + at % log, at / log);
                at += 16;
                let segment = (Request::write(Lba(start * page.0 / 512), Bytes(16 * page.0)), 1 + round % 2);
                let anywhere = |_| (Request::write(Lba(rng.below(small) * page.0 / 512), page), 0);
                std::iter::once(segment).chain((0..16).map(anywhere)).collect::<Vec<_>>()
            })
            .map(|(request, stream)| {
                let stream = if matches!(handles, Handles::ByRound) { stream } else { stream.min(1) };
                Arrival { at: Nanos::ZERO, request: Request { stream: StreamId(stream as u16), ..request } }
            })
            .collect();
        run(&mut ssd, arrivals, &ReplaySettings::closed(4));
        report(&ssd).programs
    };
    let (before, after) = (half(), half());
    (after.total() - before.total()) as f64 / (after.host - before.host) as f64
}

/// The log alone copies nothing, and the small part has all of the spare space for itself. With `ESKER_PRINT` set, this
/// test prints the table of docs/flash-cache-device.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn a_cache_of_a_log_and_a_small_part_copies_hardly_anything_in_two_streams() {
    let print = std::env::var_os("ESKER_PRINT").is_some();
    let cases: &[(u64, u64)] = if print { &[(4, 15), (4, 7), (10, 15), (20, 15)] } else { &[(4, 15)] };
    for &(share, spare) in cases {
        let [none, by_part, by_round] =
            [Handles::None, Handles::ByPart, Handles::ByRound].map(|handles| two_part_cache(share, spare, handles));
        if print {
            println!("| {share} % | {spare} % | {none:.3} | {by_part:.3} | {by_round:.3} |");
        }
        assert!(by_part < none, "{share} %, {spare} %: {by_part} against {none}");
        if (share, spare) == (4, 15) {
            assert!(by_part < 1.05 && none > 1.2, "{by_part} against {none}");
        }
    }
}

#[test]
fn what_cannot_keep_them_apart_refuses_to() {
    let refused = |settings: &SsdSettings| {
        let error = Ssd::new("flash", settings, 1).unwrap_err();
        let remedy = error.hint().unwrap_or_default();
        assert!(error.to_string().contains("`streams`"), "{error}");
        (error, remedy)
    };
    let able: Vec<&str> = registry::names_with(FTLS, LayerCapability::Streams).collect();
    for entry in FTLS.iter().filter(|entry| !entry.can(LayerCapability::Streams)) {
        let settings = SsdSettings { ftl: Choice::named(entry.name), ..small(2) };
        let (error, remedy) = refused(&settings);
        assert!(matches!(error, SsdError::Value(ValueError::Contradiction { .. })), "{error}");
        let named: Vec<&str> = remedy.split('"').skip(1).step_by(2).collect();
        assert!(remedy.starts_with("leave `streams` out, or use ftl = ") && named == able, "{remedy}");
    }
    let mut hot_cold = small(2);
    hot_cold.cleaning.separate = Separation::HotCold;
    assert!(refused(&hot_cold).1.contains("separate = \"copied\""));
    assert!(matches!(refused(&small(0)).0, SsdError::Value(ValueError::Zero { .. })));
    assert!(matches!(refused(&small(17)).0, SsdError::Value(ValueError::TooLarge { limit: 16, .. })));
    assert!(Ssd::new("flash", &small(16), 1).is_ok());
}
