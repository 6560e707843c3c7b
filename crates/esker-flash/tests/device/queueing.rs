//! Times under load, compared with queueing theory and with the limits of dies and buses.

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request, ResourceKind, Rng};

use crate::common::{filled, one_package, run};

const PAGE: Bytes = Bytes::kib(4);
/// 25 us to the register, (4096 + 128) x 25 ns over the bus.
const READ_NS: f64 = 130_600.0;
const TRANSFER_NS: f64 = 105_600.0;
const PROGRAM_NS: f64 = 200_000.0;

fn random_page(rng: &mut Rng, pages: u64) -> Lba {
    Lba(rng.below(pages) * 8)
}

#[test]
fn reads_of_one_die_wait_as_in_an_m_d_1_queue() {
    for (load, requests) in [(0.3, 200_000), (0.6, 400_000), (0.8, 1_000_000)] {
        let mut ssd = filled(&one_package(1));
        let pages = ssd.capacity().0 / PAGE.0;
        let mut rng = Rng::new(3);
        let mut at = 0.0;
        let arrivals = (0..requests).map(|_| {
            at += rng.exponential(READ_NS / load);
            Arrival { at: Nanos(at as u64), request: Request::read(random_page(&mut rng, pages), PAGE) }
        });
        let run = run(&mut ssd, arrivals, &ReplaySettings::OPEN);
        let waiting = run.statistics.read_response().mean() - READ_NS;
        let expected = load * READ_NS / (2.0 * (1.0 - load));
        assert!((waiting / expected - 1.0).abs() < 0.02, "load {load}: {waiting:.0} ns against {expected:.0} ns");
        // Waiting does not count as service.
        let results = run.statistics.results();
        assert!((results.read.queue_time.mean_us * 1e3 - waiting).abs() < 1.0);
        assert!((results.read.device_time.stddev_us).abs() < 1e-6);
    }
}

/// Measures requests per second at a constant queue depth, and the utilisation of dies and buses.
fn throughput(dies: u32, depth: usize, write: bool) -> (f64, f64, f64) {
    let mut settings = one_package(dies);
    settings.geometry.blocks_per_plane = 2048;
    let mut ssd = if write { esker_flash::Ssd::new("flash", &settings, 1).unwrap() } else { filled(&settings) };
    let pages = ssd.capacity().0 / PAGE.0;
    let requests = 20_000;
    let mut rng = Rng::new(5);
    let arrivals = (0..requests).map(|index| Arrival {
        at: Nanos::ZERO,
        request: match write {
            true => Request::write(Lba(index * 8), PAGE),
            false => Request::read(random_page(&mut rng, pages), PAGE),
        },
    });
    let run = run(&mut ssd, arrivals, &ReplaySettings::closed(depth));
    let busy = ssd.telemetry().busy;
    let share = |kind| {
        let busy = busy.iter().find(|busy| busy.kind == kind).unwrap();
        busy.busy.0 as f64 / f64::from(busy.count) / run.last_event.0 as f64
    };
    (requests as f64 / run.last_event.as_secs_f64(), share(ResourceKind::Bus), share(ResourceKind::Die))
}

fn assert_near(measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() < 1e-3, "{measured} against {expected}");
}

#[test]
fn one_die_serves_one_operation_at_a_time() {
    let (rate, bus, die) = throughput(1, 8, false);
    assert_near(rate, 1e9 / READ_NS);
    assert_near(bus, TRANSFER_NS / READ_NS);
    assert_near(die, 1.0);
    let (rate, _, die) = throughput(1, 8, true);
    assert_near(rate, 1e9 / (TRANSFER_NS + PROGRAM_NS));
    assert_near(die, 1.0);
}

#[test]
fn a_bus_saturates_at_one_transfer_at_a_time() {
    // Two dies could read more than the bus can carry. With a deep queue, neither die runs out of work.
    let (rate, bus, die) = throughput(2, 64, false);
    assert_near(rate, 1e9 / TRANSFER_NS);
    assert_near(bus, 1.0);
    assert_near(die, READ_NS / TRANSFER_NS / 2.0);
    // Two dies cannot program as fast as the bus carries data: interleaved, they do twice as much as one.
    let (rate, bus, _) = throughput(2, 64, true);
    assert_near(rate, 2e9 / (TRANSFER_NS + PROGRAM_NS));
    assert_near(bus, 2.0 * TRANSFER_NS / (TRANSFER_NS + PROGRAM_NS));
    // Four dies can.
    let (rate, bus, _) = throughput(4, 64, true);
    assert_near(rate, 1e9 / TRANSFER_NS);
    assert_near(bus, 1.0);
}

#[test]
fn eight_packages_serve_eight_reads_at_a_time() {
    // Agrawal 2008, table 3: 61,255 reads per second are eight packages that each do one read of 130.6 us at a time.
    let mut ssd = filled(&{
        let mut settings = one_package(2);
        settings.geometry.channels = 8;
        settings
    });
    let requests = 80_000;
    // Eight consecutive pages lie on eight packages.
    let last = ssd.capacity().0 / PAGE.0 / 8 * 8;
    let arrivals = (0..requests / 8)
        .map(|index| Arrival { at: Nanos::ZERO, request: Request::read(Lba(index * 8 % last * 8), Bytes::kib(32)) });
    let run = run(&mut ssd, arrivals, &ReplaySettings::closed(1));
    assert_near(requests as f64 / run.last_event.as_secs_f64(), 61_255.0);
}
