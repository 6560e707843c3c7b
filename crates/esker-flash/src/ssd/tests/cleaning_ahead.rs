//! Background cleaning in idle time, and gradual cleaning.

use esker_core::{Precondition, Ratio};
use esker_ftl::BuildError;

use super::*;

/// One die of 40 small blocks with 30 per cent spare space. It is filled twice at random, so that it needs cleaning.
fn worn_in(change: impl FnOnce(&mut SsdSettings)) -> Ssd {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = 1;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = 40;
    settings.geometry.pages_per_block = 16;
    settings.over_provisioning = Some(Ratio::percent(30));
    change(&mut settings);
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Steady { utilisation: Ratio::ONE, seed: 3 })).unwrap();
    ssd
}

const WRITE: u64 = 305_600;
/// Time of a copy: page read, transfer out, transfer in, program.
const COPY: u64 = 25_000 + 2 * 105_600 + 200_000;
const ERASE: u64 = 1_500_000;

/// Performs random writes one after another, with a pause after each. Returns how long each of them took.
fn writes(ssd: &mut Ssd, count: u64, pause: Nanos) -> Vec<u64> {
    let mut rng = esker_core::Rng::new(9);
    let mut now = ssd.now + Nanos::from_millis(1);
    (0..count)
        .map(|_| {
            while ssd.next_event() < now {
                ssd.advance(ssd.next_event(), &mut Vec::new());
            }
            let end = serve(ssd, now, write(rng.below(448))).at;
            let took = end - now;
            now = end + pause;
            took.0
        })
        .collect()
}

#[test]
fn idle_time_spares_writes_the_cleaning() {
    let pause = Nanos::from_millis(20);
    let mut without = worn_in(|_| {});
    assert!(writes(&mut without, 300, pause).iter().any(|took| *took > WRITE + ERASE));
    let mut with = worn_in(|settings| settings.cleaning.background = Some(Ratio::percent(10)));
    let took = writes(&mut with, 300, pause);
    // The first writes come before idle time has cleaned enough after preconditioning.
    assert!(took[20..].iter().all(|took| *took == WRITE), "{took:?}");
    with.check();
    assert!(with.back.flash.counts().erases_without_copies < with.back.flash.counts().erases);
}

#[test]
fn background_cleaning_ends_by_itself_and_waits_for_idleness() {
    let mut ssd = worn_in(|settings| {
        settings.cleaning.background = Some(Ratio::percent(15));
        settings.cleaning.idle_before_background = Nanos::from_millis(2);
    });
    let start = Nanos::from_millis(1);
    let end = serve(&mut ssd, start, write(0)).at;
    assert_eq!(ssd.next_event(), end + Nanos::from_millis(2));
    let erases = ssd.back.flash.counts().erases;
    drain(&mut ssd);
    assert!(ssd.back.flash.counts().erases > erases);
    let free = ssd.back.ftl.writable_pages();
    // 15 % of 40 blocks, of which 2 are the reserve.
    assert!(free >= 4 * 16, "{free}");
    ssd.check();
}

#[test]
fn a_request_waits_for_one_step_of_background_cleaning() {
    let mut ssd = worn_in(|settings| settings.cleaning.background = Some(Ratio::percent(15)));
    let end = serve(&mut ssd, Nanos::from_millis(1), write(0)).at;
    let mut steps = 0;
    ssd.advance(end, &mut Vec::new());
    for delay in [1, 100_000, 300_000] {
        let now = ssd.now + Nanos(delay);
        while ssd.next_event() < now {
            ssd.advance(ssd.next_event(), &mut Vec::new());
        }
        let took = (serve(&mut ssd, now, read(5)).at - now).0;
        assert!(took <= 130_600 + COPY.max(ERASE), "{took}");
        steps += u64::from(took > 130_600);
    }
    assert!(steps > 0, "the reads met no cleaning: the test shows nothing");
}

/// Two dies with a pool each, of which only the first one needs cleaning.
#[test]
fn a_round_is_one_step_in_each_pool_that_needs_it() {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.packages_per_channel = 2;
    settings.geometry.dies_per_package = 1;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = 40;
    settings.geometry.pages_per_block = 16;
    settings.over_provisioning = Some(Ratio::percent(30));
    settings.cleaning.background = Some(Ratio::percent(15));
    settings.cleaning.idle_before_background = Nanos::from_secs(1);
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    assert_eq!(ssd.back.space.pools, 2);
    let pages = (0..ssd.back.space.host_pages).filter(|page| ssd.back.ftl.pool_of(LogicalPage(*page)) == 0);
    let pages: Vec<u64> = pages.map(u64::from).collect();
    let mut now = Nanos::ZERO;
    for page in pages.iter().chain(pages.iter().step_by(2)) {
        now = serve(&mut ssd, now, write(*page)).at;
    }
    let rounds: Vec<u32> = std::iter::from_fn(|| Some(ssd.back.clean(now)).filter(|steps| *steps > 0)).collect();
    // The first copy opens a block of the reserve, and cleaning goes on until there is another one.
    assert!(rounds.len() > 10 && rounds[1..].iter().all(|steps| *steps == 1), "{rounds:?}");
}

#[test]
fn cleaning_goes_on_only_once_the_drive_has_been_idle_since_a_request_that_met_it() {
    let idle = Nanos::from_millis(100);
    let mut ssd = worn_in(|settings| {
        settings.cleaning.background = Some(Ratio::percent(15));
        settings.cleaning.idle_before_background = idle;
    });
    let end = serve(&mut ssd, Nanos::from_millis(1), write(0)).at;
    assert_eq!(ssd.next_event(), end + idle);
    ssd.advance(end + idle, &mut Vec::new());
    // The read ends before the round does on another die, or behind its step on the same one.
    let mut ended = serve(&mut ssd, end + idle + Nanos(1), read(5)).at;
    for _ in 0..5 {
        while ssd.next_event() < ended + idle {
            ssd.advance(ssd.next_event(), &mut Vec::new());
        }
        assert_eq!(ssd.next_event(), ended + idle);
        ssd.advance(ended + idle, &mut Vec::new());
        ended = serve(&mut ssd, ended + idle + Nanos(1), read(5)).at;
    }
}

#[test]
fn gradual_cleaning_bounds_what_a_write_waits_for() {
    let mut whole = worn_in(|_| {});
    let worst_whole = *writes(&mut whole, 2000, Nanos::ZERO).iter().max().unwrap();
    let mut gradual = worn_in(|settings| settings.cleaning.gradual = Some(Ratio::percent(15)));
    let took = writes(&mut gradual, 2000, Nanos::ZERO);
    let worst = *took[50..].iter().max().unwrap();
    assert!(worst <= WRITE + 4 * COPY + ERASE, "{worst}");
    assert!(worst_whole > worst, "{worst_whole} against {worst}");
    gradual.check();
}

#[test]
fn cleaning_ahead_that_cannot_be_is_refused() {
    let refuse = |change: fn(&mut SsdSettings)| {
        let mut settings = agrawal();
        settings.over_provisioning = Some(Ratio::percent(15));
        change(&mut settings);
        Ssd::new("flash", &settings, 1).unwrap_err()
    };
    let error = refuse(|settings| settings.cleaning.background = Some(Ratio::percent(5)));
    let expected = "`cleaning.background` is 5%: it has to lie between `cleaning.threshold` (5%) and 100%";
    assert_eq!(error.to_string(), expected);
    let error = refuse(|settings| settings.cleaning.gradual = Some(Ratio::percent(20)));
    assert!(matches!(error, SsdError::Layer(BuildError::NeverFree { key: "cleaning.gradual", .. })), "{error}");
}

/// A short run begins and ends while a block is being emptied: neither makes the blocks that were erased fuller than
/// they can be.
#[test]
fn cleaning_counts_pages_with_their_blocks() {
    let mut ssd = worn_in(|settings| settings.cleaning.gradual = Some(Ratio::percent(15)));
    let _ = writes(&mut ssd, 7, Nanos::ZERO);
    ssd.start_measuring(ssd.now);
    let mut half_cleaned = 0;
    for _ in 0..200 {
        let _ = writes(&mut ssd, 1, Nanos::from_millis(20));
        let flash = Report::of(&ssd).devices["flash"].flash.clone().unwrap();
        let Some(cleaning) = flash.cleaning else { continue };
        half_cleaned += u64::from(ssd.back.ftl.half_cleaned() > 0);
        let of_erased = flash.programs.cleaning + ssd.measuring.half_cleaned - ssd.back.ftl.half_cleaned();
        assert_eq!(cleaning.pages_moved, of_erased);
        assert!((0.0..=1.0).contains(&cleaning.efficiency), "{cleaning:?}");
        if flash.programs.cleaning == 0 {
            // All that was moved out of the block was moved before: nobody has measured how long a copy takes.
            continue;
        }
        let per_block = (ERASE * cleaning.blocks + COPY * of_erased) as f64 / 1e3 / cleaning.blocks as f64;
        assert!((cleaning.mean_block_us / per_block - 1.0).abs() < 1e-9, "{cleaning:?}, not {per_block} us");
    }
    assert!(half_cleaned > 20, "no block was looked at while it was emptied");
}
