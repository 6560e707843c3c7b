//! Uneven wear, wear-levelling, and the end of life.

use esker_core::{Bytes, DeviceError, DeviceState, Hint, Precondition, Ratio};
use esker_ftl::{BuildError, EndOfLife, WearLevelling, WearSettings};
use esker_results::WearReport;

use super::*;
use crate::{BufferMode, WriteBufferSettings};

const CYCLES: u64 = 60;
const HOST_PAGES: u64 = 4096 * 7 / 10;

/// One die of 256 blocks of 16 pages, rated for few erases. Half of its data never change.
fn drive(ftl: &str, wear: WearSettings) -> Ssd {
    buffered(ftl, wear, None)
}

/// The same drive, which may have a write buffer.
fn buffered(ftl: &str, wear: WearSettings, buffer: Option<WriteBufferSettings>) -> Ssd {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = 1;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = 256;
    settings.geometry.pages_per_block = 16;
    settings.over_provisioning = Some(Ratio::percent(30));
    settings.endurance_cycles = CYCLES;
    settings.ftl = crate::Choice::named(ftl);
    settings.wear = Some(wear);
    settings.write_buffer = buffer;
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
    ssd
}

/// Writes hot pages until the mean block has used `share` per cent of its rated erases, or the drive takes no more
/// writes.
fn wear_out(ssd: &mut Ssd, share: u64) -> Option<DeviceError> {
    wear_out_by(ssd, HOST_PAGES / 2, share)
}

/// The same with writes all over the first `pages`.
fn wear_out_by(ssd: &mut Ssd, pages: u64, share: u64) -> Option<DeviceError> {
    let mut rng = esker_core::Rng::new(5);
    let mut now = ssd.now;
    while ssd.back.flash.counts().erases < 256 * CYCLES * share / 100 {
        let done = serve(ssd, now, write(rng.below(pages)));
        now = done.at;
        if let Err(error) = done.result {
            return Some(error);
        }
    }
    None
}

fn report(ssd: &Ssd) -> WearReport {
    let report = Report::of(ssd);
    report.devices["flash"].flash.as_ref().unwrap().wear.unwrap()
}

fn levelled(ftl: &str, levelling: WearLevelling) -> WearReport {
    let mut ssd = drive(ftl, WearSettings { levelling, ..WearSettings::default() });
    assert_eq!(wear_out(&mut ssd, 60), None);
    ssd.check();
    report(&ssd)
}

#[test]
fn each_remedy_of_agrawal_makes_wear_more_even_than_the_one_before() {
    for ftl in ["page", "dftl"] {
        let greedy = levelled(ftl, WearLevelling::None);
        let limited = levelled(ftl, WearLevelling::RateLimit);
        let migrated = levelled(ftl, WearLevelling::Migration);
        assert_eq!((greedy.spared_victims, greedy.migrated_blocks, limited.migrated_blocks), (0, 0, 0));
        assert!(limited.spared_victims > 0 && migrated.migrated_blocks > 0, "{limited:?} {migrated:?}");
        let spread = [greedy, limited, migrated].map(|report| report.remaining_stddev);
        assert!(spread[0] > spread[1] && spread[1] > 1.5 * spread[2], "{ftl}: {spread:?}");
        let expired = [greedy, limited, migrated].map(|report| report.expired_blocks);
        assert!(expired[0] > 0 && expired[2] == 0, "{ftl}: {expired:?}");
        // With a map in flash, the rate limit alone changes which blocks wear more, not how many wear out.
        assert!(ftl == "dftl" || expired[0] >= expired[1], "{expired:?}");
        for report in [greedy, limited, migrated] {
            assert!((report.remaining_mean - 0.4 * CYCLES as f64).abs() < 0.5, "{report:?}");
        }
    }
}

/// Blocks that were never used keep their life for ever. Against a mean with them, each good block would count as worn.
#[test]
fn blocks_that_are_bad_from_the_start_are_no_reason_to_spare_the_others() {
    let spared = |bad: u64| {
        let levelling = WearLevelling::Migration;
        let factory_bad_blocks = Ratio::percent(bad);
        let mut ssd = drive("page", WearSettings { levelling, factory_bad_blocks, ..WearSettings::default() });
        assert_eq!(wear_out_by(&mut ssd, HOST_PAGES, 60), None);
        ssd.check();
        report(&ssd).spared_victims
    };
    let [without, with] = [0, 4].map(spared);
    assert!(with < 2 * without, "{with} {without}");
}

/// Without levelling the blocks of cold data are never erased. With it, the spread is exceeded only for a while: by a
/// block that takes cold data and is cleaned again, or where the block of the lowest count is not closed.
#[test]
fn static_levelling_keeps_erase_counts_together() {
    for ftl in ["page", "dftl"] {
        let spread = 4;
        let levelling = WearLevelling::Static;
        let mut ssd = drive(ftl, WearSettings { levelling, spread, ..WearSettings::default() });
        assert_eq!(wear_out(&mut ssd, 60), None);
        ssd.check();
        let erases = (0..256).map(|block| ssd.back.flash.erases_of(crate::BlockIndex(block)));
        let (least, most) = erases.fold((u32::MAX, 0), |(least, most), of| (least.min(of), most.max(of)));
        // Blocks of the map hold no data that a worn block could take.
        assert!(ftl == "dftl" || most - least <= spread + 4, "{least} to {most}");
        assert!(report(&ssd).remaining_stddev < 4.0, "{ftl}");
        // Erases of levelling are those of migrated blocks.
        let (wear, counts) = (report(&ssd), ssd.back.flash.counts());
        assert_eq!(counts.erases_by_cause().wear_levelling, wear.migrated_blocks);
        assert!(counts.programs().wear_levelling > 8 * wear.migrated_blocks, "{wear:?}");
    }
    assert!(levelled("page", WearLevelling::None).remaining_stddev > 15.0);
}

/// Pauses or resumes levelling while a write is under way, and overwrites `pages` hot pages.
fn overwrite(ssd: &mut Ssd, is_paused: bool, pages: u64) -> u64 {
    let before = report(ssd).migrated_blocks;
    let mut rng = esker_core::Rng::new(pages);
    let now = ssd.now;
    ssd.submit(now, Tag::new(0, 0), write(rng.below(HOST_PAGES / 2)));
    ssd.control(now, Control::PauseWearLevelling(is_paused)).unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        ssd.advance(ssd.next_event(), &mut done);
    }
    for _ in 0..pages {
        let now = ssd.now;
        assert_eq!(serve(ssd, now, write(rng.below(HOST_PAGES / 2))).result, Ok(()));
    }
    ssd.check();
    report(ssd).migrated_blocks - before
}

#[test]
fn levelling_pauses_while_requests_are_under_way() {
    for levelling in [WearLevelling::Migration, WearLevelling::Static] {
        for ftl in ["page", "dftl"] {
            let mut ssd = drive(ftl, WearSettings { levelling, spread: 4, ..WearSettings::default() });
            assert_eq!(wear_out(&mut ssd, 40), None);
            assert!(report(&ssd).migrated_blocks > 0);
            assert_eq!(overwrite(&mut ssd, true, 5_000), 0, "{ftl} {levelling:?}");
            assert!(overwrite(&mut ssd, false, 5_000) > 0, "{ftl} {levelling:?}");
        }
    }
}

#[test]
fn worn_blocks_are_given_up_until_the_drive_is_read_only() {
    for ftl in ["page", "dftl"] {
        let mut ssd = drive(ftl, WearSettings { end_of_life: EndOfLife::Retire, ..WearSettings::default() });
        let written = ssd.back.flash.valid_pages();
        assert_eq!(wear_out(&mut ssd, 100), Some(DeviceError::ReadOnly), "{ftl}");
        ssd.check();
        let wear = report(&ssd);
        let spare = u64::from(ssd.back.space.spare_blocks_per_pool());
        assert!(wear.read_only && wear.retired_blocks > spare, "{ftl}: {wear:?}");
        assert_eq!(ssd.telemetry().state, DeviceState::ReadOnly);
        // No data are lost, and reads continue. Pages of the map are written when they have to be.
        assert!((0..HOST_PAGES).all(|page| ssd.back.ftl.find(LogicalPage(page as u32)).is_some()), "{ftl}");
        assert!(ssd.back.flash.valid_pages() == written || ftl == "dftl");
        let now = ssd.now + Nanos::from_secs(1);
        assert_eq!(serve(&mut ssd, now, read(3)).result, Ok(()));
        let now = ssd.now;
        assert_eq!(serve(&mut ssd, now, write(3)).result, Err(DeviceError::ReadOnly));
    }
}

#[test]
fn a_buffer_that_cannot_write_out_refuses_with_the_error_of_the_flash() {
    for power_protected in [false, true] {
        let buffer = WriteBufferSettings {
            size: Bytes::kib(32),
            mode: BufferMode::WriteBack,
            latency: Nanos(700),
            high_water: Ratio::percent(75),
            low_water: Ratio::percent(25),
            keep_reads: false,
            power_protected,
        };
        let wear = WearSettings { end_of_life: EndOfLife::Retire, ..WearSettings::default() };
        let mut ssd = buffered("page", wear, Some(buffer));
        assert_eq!(wear_out(&mut ssd, 100), Some(DeviceError::ReadOnly));
        ssd.check();
        let (start, length) = page(3);
        let (zeroes, at_once) = (RequestKind::WriteZeroes { fua: false }, RequestKind::Write { fua: true });
        for kind in [RequestKind::Write { fua: false }, at_once, zeroes, RequestKind::Trim] {
            let now = ssd.now;
            let result = serve(&mut ssd, now, Request::new(kind, start, length)).result;
            assert_eq!(result, Err(DeviceError::ReadOnly), "{kind:?}");
        }
        let now = ssd.now;
        let flushed = serve(&mut ssd, now, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)).result;
        assert_eq!(flushed, if power_protected { Ok(()) } else { Err(DeviceError::ReadOnly) });
    }
}

#[test]
fn even_wear_lets_a_drive_live_longer() {
    let host_pages = |levelling| {
        let wear = WearSettings { levelling, spread: 4, end_of_life: EndOfLife::Retire, ..WearSettings::default() };
        let mut ssd = drive("page", wear);
        let before = ssd.back.counts.writes;
        assert_eq!(wear_out(&mut ssd, 100), Some(DeviceError::ReadOnly));
        ssd.back.counts.writes - before
    };
    let greedy = host_pages(WearLevelling::None);
    for levelling in [WearLevelling::Migration, WearLevelling::Static] {
        let even = host_pages(levelling);
        assert!(even as f64 > 1.3 * greedy as f64, "{levelling:?}: {even} against {greedy} pages");
    }
}

#[test]
fn blocks_bad_from_the_start_are_never_used() {
    let wear = WearSettings { factory_bad_blocks: Ratio::percent(4), ..WearSettings::default() };
    let mut ssd = drive("page", wear);
    assert_eq!(wear_out(&mut ssd, 20), None);
    ssd.check();
    // 4 % of 256, rounded up.
    assert_eq!(report(&ssd).factory_bad_blocks, 11);
    let unused = (0..256).filter(|block| ssd.back.flash.erases_of(crate::BlockIndex(*block)) == 0);
    let empty = unused.filter(|block| ssd.back.flash.written_in(crate::BlockIndex(*block)) == 0);
    assert_eq!(empty.count(), 11);
}

#[test]
fn erases_may_fail() {
    let wear = WearSettings { erase_failures: "0.1%".parse().unwrap(), ..WearSettings::default() };
    let mut ssd = drive("dftl", wear);
    assert_eq!(wear_out(&mut ssd, 30), None);
    ssd.check();
    let (retired, erases) = (report(&ssd).retired_blocks as f64, ssd.back.flash.counts().erases as f64);
    let expected = erases / 1000.0;
    assert!((retired - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{retired} of {erases}");
}

#[test]
fn a_used_drive_begins_where_it_was() {
    let ssd = drive("page", WearSettings { initial_erases: 40, ..WearSettings::default() });
    assert_eq!(report(&ssd).remaining_mean, 20.0);
}

/// Blocks that were bad from the start take no wear: it is shared by the others, and they are as worn as those of a
/// drive that has no bad ones and as many erases for each block.
#[test]
fn bad_blocks_do_not_make_a_drive_look_less_worn() {
    for initial_erases in [0, 20] {
        let worn = |percent: u64| {
            let factory_bad_blocks = Ratio::percent(percent);
            let mut ssd = drive("page", WearSettings { factory_bad_blocks, initial_erases, ..WearSettings::default() });
            assert_eq!(wear_out(&mut ssd, 20), None);
            let good = 256 - report(&ssd).factory_bad_blocks;
            let of_block = ssd.back.flash.counts().erases as f64 / good as f64 + f64::from(initial_erases);
            let flash = ssd.report_at(ssd.now).flash.unwrap();
            let (wear, erases) = (flash.wear.unwrap(), flash.erase_count);
            assert!((erases.mean - of_block).abs() < 1e-9, "{erases:?} {of_block}");
            assert!((wear.remaining_mean - (CYCLES as f64 - of_block)).abs() < 1e-9, "{wear:?} {of_block}");
            assert_eq!(wear.remaining_by_tenths.iter().sum::<u64>(), good);
            let each = (0..256).map(|block| f64::from(ssd.back.flash.erases_of(crate::BlockIndex(block))));
            let squares: f64 = each.map(|erases| (erases - of_block).powi(2)).sum();
            let of_bad = (256 - good) as f64 * (f64::from(initial_erases) - of_block).powi(2);
            assert!((erases.stddev - ((squares - of_bad) / good as f64).sqrt()).abs() < 1e-9, "{erases:?}");
            (ssd.telemetry_now().life_used.as_f64(), of_block / CYCLES as f64)
        };
        for percent in [0, 4, 12] {
            let (used, of_block) = worn(percent);
            assert!((used - of_block).abs() < 1e-8, "{percent} % bad: {used} of {of_block}");
        }
    }
}

/// A drive that goes on beyond its rated erases has none left, not less than none.
#[test]
fn no_block_has_less_than_nothing_left() {
    let mut ssd = drive("page", WearSettings { ..WearSettings::default() });
    assert_eq!(wear_out(&mut ssd, 120), None);
    let report = report(&ssd);
    assert_eq!(report.remaining_mean, 0.0);
    assert!(report.expired_blocks > 0);
}

#[test]
fn contradictions_are_refused() {
    let refuse = |change: fn(&mut SsdSettings)| {
        let mut settings = agrawal();
        settings.wear = Some(WearSettings::default());
        change(&mut settings);
        Ssd::new("flash", &settings, 1).unwrap_err()
    };
    let error = refuse(|settings| settings.ftl = crate::Choice::named("block"));
    assert!(matches!(error, SsdError::Layer(BuildError::NoWearIn { layer: "block", .. })), "{error}");
    let error = refuse(|settings| settings.wear.as_mut().unwrap().initial_erases = 100_000);
    assert_eq!(error, SsdError::BornWornOut { found: 100_000, limit: 100_000 });
    assert_eq!(error.hint().unwrap(), "initial_erases = 50000 would work");
    let error = refuse(|settings| settings.wear.as_mut().unwrap().factory_bad_blocks = Ratio::percent(30));
    assert!(matches!(error, SsdError::Layer(BuildError::NoSpareSpace { .. })), "{error}");
}
