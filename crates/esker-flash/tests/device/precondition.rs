//! Preconditioning: its steady state agrees with theory, a run that follows stays in it, and preconditioning always
//! ends.

use esker_core::{Arrival, Bytes, Control, Device, Lba, Nanos, Precondition, Ratio, ReplaySettings, Request, Rng};
use esker_flash::{Ssd, SsdSettings};
use esker_ftl::Choice;
use esker_results::PreconditionReport;

use crate::common::{one_package, report, run};

/// One pool of one die.
fn settings(spare: u64) -> SsdSettings {
    let mut settings = one_package(1);
    settings.geometry.blocks_per_plane = 4096;
    settings.spare_factor = Some(Ratio::percent(spare));
    settings
}

fn steady(ssd: &mut Ssd, utilisation: Ratio) -> PreconditionReport {
    let condition = Precondition::Steady { utilisation, seed: 3 };
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
    report(ssd).precondition.unwrap()
}

fn assert_within(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() < tolerance, "{measured} against {expected}");
}

#[test]
fn the_steady_state_is_that_of_theory_and_a_run_stays_in_it() {
    // Greedy cleaning with 64 pages per block: tests/write_amplification.rs has the theory.
    for (spare, expected) in [(15, 3.3536), (50, 1.2389)] {
        let mut ssd = Ssd::new("flash", &settings(spare), 1).unwrap();
        let outcome = steady(&mut ssd, Ratio::ONE);
        assert!(outcome.steady, "{outcome:?}");
        assert!(outcome.overwritten_pages >= outcome.filled_pages / 2 - 16, "{outcome:?}");
        assert_eq!(outcome.filled_pages * 4096, ssd.capacity().0);
        assert_within(outcome.write_amplification, expected, 0.005);
        ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
        let before = report(&ssd);
        assert_eq!((before.programs.total(), before.erases, before.write_amplification), (0, 0, None));
        assert!(before.erase_count.mean > 0.0, "wear is kept");
        let pages = ssd.capacity().0 / 4096;
        let mut rng = Rng::new(9);
        let arrivals = (0..200_000)
            .map(|_| Arrival { at: Nanos::ZERO, request: Request::write(Lba(rng.below(pages) * 8), Bytes::kib(4)) });
        run(&mut ssd, arrivals, &ReplaySettings::closed(4));
        assert_within(report(&ssd).write_amplification.unwrap(), expected, 0.01);
    }
}

#[test]
fn a_part_that_is_never_written_is_spare_space() {
    let mut ssd = Ssd::new("flash", &settings(15), 1).unwrap();
    let outcome = steady(&mut ssd, Ratio::percent(80));
    assert!(outcome.steady);
    // 80 % of 85 % in use is the same as 32 % spare, where greedy cleaning with 64 pages per block needs 1.7380
    // programs (theory).
    assert_within(outcome.write_amplification, 1.7380, 0.005);
}

#[test]
fn it_ends_on_the_smallest_drives_too_and_can_be_repeated() {
    let mut tiny = one_package(1);
    tiny.geometry.blocks_per_plane = 4;
    tiny.geometry.pages_per_block = 2;
    tiny.over_provisioning = Some(Ratio::percent(60));
    for victim in ["greedy", "random"] {
        tiny.cleaning.victim = Choice::named(victim);
        let mut ssd = Ssd::new("flash", &tiny, 1).unwrap();
        let first = steady(&mut ssd, Ratio::ONE);
        assert!(first.write_amplification >= 1.0, "{first:?}");
        let wear = report(&ssd).erase_count.mean;
        steady(&mut ssd, Ratio::ONE);
        assert!(report(&ssd).erase_count.mean > wear);
        ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Empty)).unwrap();
        assert_eq!(report(&ssd).precondition, None);
        assert_eq!(ssd.telemetry().free_space.unwrap(), Bytes(6 * 4096));
        ssd.check();
    }
    // A share of an empty drive is empty.
    let mut ssd = Ssd::new("flash", &tiny, 1).unwrap();
    assert_eq!(steady(&mut ssd, Ratio::ZERO), PreconditionReport::default());
}
