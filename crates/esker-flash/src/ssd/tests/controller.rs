//! The controller's limits, with times computed by hand.

use esker_core::{Bytes, Nanos, Precondition, Ratio, Rng};

use super::*;
use crate::{BufferMode, ControllerSettings, SsdError, WriteBufferSettings};

const LATENCY: Nanos = Nanos(700);

/// A drive of many dies behind a buffer of some pages, with a controller.
fn behind(controller: ControllerSettings, pages: u64) -> SsdSettings {
    let mut settings = agrawal();
    settings.geometry.blocks_per_plane = 64;
    settings.write_buffer = Some(WriteBufferSettings {
        size: Bytes::kib(4 * pages),
        mode: BufferMode::WriteBack,
        latency: LATENCY,
        high_water: Ratio::percent(75),
        low_water: Ratio::percent(50),
        keep_reads: false,
        power_protected: true,
    });
    settings.controller = Some(controller);
    settings
}

/// Returns the ends of `count` writes of one page each, all submitted to the drive at once.
fn ends_of_writes(settings: &SsdSettings, count: u32) -> Vec<Nanos> {
    let mut ssd = Ssd::new("flash", &SsdSettings { queue_depth: count, ..settings.clone() }, 1).unwrap();
    (0..count).for_each(|slot| ssd.submit(Nanos::ZERO, tag(slot), write(u64::from(slot))));
    let ends = drain(&mut ssd).iter().map(|(_, at)| *at).collect();
    ssd.check();
    ends
}

#[test]
fn commands_are_taken_one_after_the_other() {
    let link = LinkSettings { rate: "4096kB/s".parse().unwrap(), overhead: Nanos(700) };
    let controller = ControllerSettings { commands_per_second: Some(3_000), ..ControllerSettings::default() };
    let settings = SsdSettings { link: Some(link), controller: Some(controller), ..agrawal() };
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    // Reads of pages without data need no flash. A command takes a third of a millisecond, the transfer a whole one.
    let count = 4;
    (0..count).for_each(|slot| ssd.submit(Nanos::ZERO, tag(slot), read(u64::from(slot))));
    let command = Nanos(333_334);
    let wanted: Vec<_> =
        (0..count).map(|slot| (slot, command + Nanos(700) + Nanos(1_000_000 * (u64::from(slot) + 1)))).collect();
    assert_eq!(drain(&mut ssd), wanted);
    // Trims carry no data, so that the commands alone decide.
    let start = Nanos::from_millis(100);
    let trim = |slot: u32| Request::new(RequestKind::Trim, page(slot.into()).0, Bytes::kib(4));
    (0..count).for_each(|slot| ssd.submit(start, tag(slot), trim(slot)));
    let wanted: Vec<_> =
        (0..count).map(|slot| (slot, start + Nanos(333_334 * (u64::from(slot) + 1)) + Nanos(700))).collect();
    assert_eq!(drain(&mut ssd), wanted);
}

#[test]
fn a_burst_fills_the_buffer_at_once_and_what_follows_leaves_at_the_rate() {
    // One page per millisecond. The flash could write some 26 pages in that time.
    let rate = "4096kB/s".parse().unwrap();
    let controller = ControllerSettings { write_rate: Some(rate), ..ControllerSettings::default() };
    let ends = ends_of_writes(&behind(controller, 64), 200);
    assert_eq!(ends.iter().filter(|at| **at == LATENCY).count(), 64);
    let (first, last) = (ends[100], ends[199]);
    assert_eq!(last - first, Nanos::from_millis(99));
    // Without the limit, the flash decides.
    let free = ends_of_writes(&behind(ControllerSettings::default(), 64), 200);
    assert!(free[199] - free[100] < Nanos::from_millis(10), "{:?}", free[199] - free[100]);
}

#[test]
fn copies_take_their_time_besides() {
    // The controller is so slow that it alone limits the drive.
    let rates = ["1MB/s", "2MB/s"].map(|rate| rate.parse().unwrap());
    let controller =
        ControllerSettings { commands_per_second: None, write_rate: Some(rates[0]), copy_rate: Some(rates[1]) };
    let mut settings = behind(controller, 64);
    settings.over_provisioning = Some(Ratio::percent(15));
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    ssd.control(Nanos::ZERO, Control::Precondition(steady)).unwrap();
    let mut rng = Rng::new(7);
    let places = ssd.capacity().0 / 4096;
    let mut now = Nanos::ZERO;
    let mut counted = None;
    for number in 0..20_000 {
        now = serve(&mut ssd, now, write(rng.below(places))).at;
        if number == 10_000 {
            counted = Some((now, ssd.back.flash.counts().programs()));
        }
    }
    let (from, before) = counted.unwrap();
    let programs = ssd.back.flash.counts().programs();
    let (host, copies) = (programs.host - before.host, programs.cleaning - before.cleaning);
    assert!(copies > host, "{copies} copies of {host} writes are too few to tell");
    let wanted = (host as f64 / 1e6 + copies as f64 / 2e6) * 4096.0;
    let took = (now - from).0 as f64 / 1e9;
    assert!((took / wanted - 1.0).abs() < 0.01, "{took} s for {host} writes and {copies} copies, not {wanted}");
    ssd.check();
}

#[test]
fn limits_that_nothing_obeys_are_refused() {
    let refused = |settings: SsdSettings| match Ssd::new("flash", &settings, 1) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was built: {settings:?}"),
    };
    let commands = ControllerSettings { commands_per_second: Some(9), ..ControllerSettings::default() };
    let rate = ControllerSettings { write_rate: Some("1MB/s".parse().unwrap()), ..ControllerSettings::default() };
    let none = ControllerSettings { commands_per_second: Some(0), ..ControllerSettings::default() };
    let with = |controller| SsdSettings { controller: Some(controller), ..agrawal() };
    assert!(refused(with(commands)).contains("no `link`"));
    assert!(refused(with(rate)).contains("no `write_buffer`"));
    assert!(matches!(Ssd::new("flash", &with(none), 1), Err(SsdError::Value(_))));
    let mut through = behind(rate, 64);
    through.write_buffer.as_mut().unwrap().mode = BufferMode::WriteThrough;
    assert!(refused(through).contains("writes back"));
}
