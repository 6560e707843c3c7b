//! Wiring and scheduling of the array: exact times, computed by hand.

use esker_core::{Lba, Ratio, Stretch};
use esker_ftl::WriteFrontiers;
use esker_nand::{
    ArrayLevel, CopyBack, EnergySettings, Gang, GangControl, GangData, MultiPlane, PoolScope, Rewrite, Scheduling,
    SuspendSettings,
};

use super::*;

/// One die with two planes of eight blocks of four pages. Two blocks are kept free.
fn one_die() -> SsdSettings {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = 1;
    settings.geometry.planes_per_die = 2;
    settings.geometry.blocks_per_plane = 8;
    settings.geometry.pages_per_block = 4;
    settings.write_frontiers = WriteFrontiers::Plane;
    settings.over_provisioning = Some(Ratio::percent(25));
    settings.cleaning.threshold = Ratio::percent(12);
    settings
}

fn flash_report(ssd: &Ssd) -> esker_results::FlashReport {
    let report = Report::of(ssd);
    report.devices["flash"].flash.clone().unwrap()
}

/// Writes pages 0..48, then overwrites half of the first blocks. Returns how long each write that caused cleaning took,
/// and the report of cleaning.
fn clean(copy_back: CopyBack) -> (u64, esker_results::CleaningReport) {
    let mut settings = one_die();
    settings.array.copy_back = copy_back;
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    assert_eq!((ssd.space().host_pages, ssd.space().reserve, ssd.space().frontiers), (48, 2, 2));
    let mut now = Nanos::ZERO;
    let mut longest = 0;
    for page in (0..48).chain([0, 1, 4, 5, 8, 9, 16, 17, 24, 25]) {
        let end = serve(&mut ssd, now, write(page)).at;
        longest = longest.max((end - now).0);
        now = end;
    }
    ssd.check();
    (longest, flash_report(&ssd).cleaning.unwrap())
}

#[test]
fn copies_inside_a_plane_do_not_cross_the_bus() {
    // The last two writes each clean the first block of a plane: pages 0, 2, 4, 6 and 1, 3, 5, 7. Two pages of each are
    // still valid.
    let erase_and_write = 1_500_000 + 305_600;
    let (off, cleaning) = clean(CopyBack::Off);
    assert_eq!(off, 2 * (25_000 + 2 * 105_600 + 200_000) + erase_and_write);
    assert_eq!((cleaning.copy_backs, cleaning.efficiency), (0, 0.5));
    assert_eq!(cleaning.mean_block_us, 1_500.0 + 2.0 * 436.2);
    let (unchecked, cleaning) = clean(CopyBack::Unchecked);
    assert_eq!(unchecked, 2 * (25_000 + 200_000) + erase_and_write);
    assert_eq!((cleaning.copy_backs, cleaning.efficiency), (cleaning.pages_moved, 0.5));
    assert_eq!(cleaning.mean_block_us, 1_500.0 + 2.0 * 225.0);
    let (checked, cleaning) = clean(CopyBack::Checked);
    assert_eq!(checked, 2 * (25_000 + 105_600 + 200_000) + erase_and_write);
    assert_eq!(cleaning.copy_backs, cleaning.pages_moved);
    assert_eq!(cleaning.mean_block_us, 1_500.0 + 2.0 * 330.6);
}

#[test]
fn copy_back_without_a_frontier_per_plane_is_refused() {
    let mut settings = one_die();
    settings.array.copy_back = CopyBack::Checked;
    settings.write_frontiers = WriteFrontiers::Die;
    let error = Ssd::new("flash", &settings, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`array.copy_back` = \"checked\" and `write_frontiers` = \"die\" exclude each other: a page can be copied inside \
         a plane only, and a frontier serves several (2 planes a die)"
    );
    settings.pool = crate::PoolScope::Plane;
    assert!(Ssd::new("flash", &settings, 1).is_ok());
    settings.pool = crate::PoolScope::Package;
    settings.geometry.planes_per_die = 1;
    settings.geometry.blocks_per_plane = 16;
    assert!(Ssd::new("flash", &settings, 1).is_ok());
}

#[test]
fn the_least_loaded_die_takes_the_next_write() {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.packages_per_channel = 2;
    settings.geometry.dies_per_package = 1;
    settings.pool = crate::PoolScope::Gang;
    let times = |placement| {
        let mut settings = settings.clone();
        settings.array.placement = placement;
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        serve(&mut ssd, Nanos::ZERO, write(0));
        serve(&mut ssd, Nanos(305_600), write(1));
        // Two reads keep die 0 busy, which is next in turn for a write.
        let start = Nanos::from_millis(1);
        for (slot, request) in [read(0), read(0), write(2)].into_iter().enumerate() {
            ssd.submit(start, tag(slot as u32), request);
        }
        drain(&mut ssd).iter().map(|(slot, at)| (*slot, (*at - start).0)).collect::<Vec<_>>()
    };
    assert_eq!(times(Placement::Turns), [(0, 130_600), (1, 261_200), (2, 566_800)]);
    // The write gets the bus at once, and the data of the first read wait for it.
    assert_eq!(times(Placement::LeastLoaded), [(0, 211_200), (2, 305_600), (1, 341_800)]);
}

/// Submits `requests`, each at its time, to one die on which pages 0..8 are written. Returns when each of them ended.
fn die(change: impl Fn(&mut SsdSettings), requests: &[(u64, Request)]) -> Vec<(u32, u64)> {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = 1;
    settings.geometry.blocks_per_plane = 64;
    change(&mut settings);
    timed(&settings, requests)
}

/// Writes the first 32 KiB, then submits `requests` a second later. Returns when each of them ended, in the order of
/// their ends.
fn timed(settings: &SsdSettings, requests: &[(u64, Request)]) -> Vec<(u32, u64)> {
    let mut ssd = Ssd::new("flash", settings, 1).unwrap();
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(32)));
    let start = Nanos::from_secs(1);
    let mut done = Vec::new();
    for (slot, (at, request)) in requests.iter().enumerate() {
        let at = start + Nanos(*at);
        while ssd.next_event() < at {
            ssd.advance(ssd.next_event(), &mut done);
        }
        ssd.submit(at, tag(slot as u32), *request);
    }
    while ssd.next_event() != Nanos::NEVER {
        ssd.advance(ssd.next_event(), &mut done);
    }
    ssd.check();
    flash_report(&ssd);
    done.iter().map(|completion| (completion.tag.slot(), (completion.at - start).0)).collect()
}

#[test]
fn reads_go_first_where_that_is_asked_for() {
    let requests = [(0, write(8)), (0, write(9)), (0, read(3)), (10, read(9))];
    let times = |scheduling| die(|settings| settings.array.scheduling = scheduling, &requests);
    // 305.6 us twice, then 130.6 us twice.
    let expected = [(0, 305_600), (1, 611_200), (2, 741_800), (3, 872_400)];
    assert_eq!(times(Scheduling::Fifo), expected);
    // The first read goes first. The second read needs the page that the second write programs.
    let expected = [(2, 130_600), (0, 436_200), (1, 741_800), (3, 872_400)];
    assert_eq!(times(Scheduling::ReadsFirst), expected);
    assert_eq!(times(Scheduling::OutOfOrder), [(0, 305_600), (1, 611_200), (2, 741_800), (3, 872_400)]);
}

#[test]
fn a_die_that_would_wait_for_the_bus_does_something_else_first() {
    let times = |scheduling| {
        let change = |settings: &mut SsdSettings| {
            settings.geometry.packages_per_channel = 2;
            settings.array.scheduling = scheduling;
        };
        // Package 0 writes; package 1 writes and reads.
        die(change, &[(0, write(8)), (0, write(9)), (0, read(1))])
    };
    assert_eq!(times(Scheduling::Fifo), [(0, 305_600), (1, 411_200), (2, 541_800)]);
    // The read has its page in the register at 25 us, and the bus from 105.6 to 211.2 us. The write has the bus until
    // 316.8 us.
    assert_eq!(times(Scheduling::OutOfOrder), [(2, 211_200), (0, 305_600), (1, 516_800)]);
}

#[test]
fn programs_are_suspended_for_reads_so_often_and_no_more() {
    let times = |limit, requests: &[(u64, Request)]| {
        let change = |settings: &mut SsdSettings| {
            settings.array.scheduling = Scheduling::ReadsFirst;
            settings.array.suspend = Some(SuspendSettings { suspend: Nanos(10_000), resume: Nanos(5_000), limit });
        };
        die(change, requests)
    };
    // The program occupies the cells from 105.6 to 305.6 us. It is suspended from 150 to 160, read until 290.6 and
    // resumed until 295.6 us, with 155.6 us left.
    let requests = [(0, write(8)), (150_000, read(3)), (300_000, read(3))];
    assert_eq!(times(1, &requests), [(1, 290_600), (0, 451_200), (2, 581_800)]);
    // Suspended again from 300 to 310, read until 440.6 and resumed until 445.6 us, with 151.2 us left.
    assert_eq!(times(2, &requests), [(1, 290_600), (2, 440_600), (0, 596_800)]);
    // A suspension gains nothing in the last 10 us, or before the transfer has ended.
    assert_eq!(times(2, &[(0, write(8)), (296_000, read(3))]), [(0, 305_600), (1, 436_200)]);
    assert_eq!(times(2, &[(0, write(8)), (50_000, read(3))]), [(1, 246_200), (0, 451_200)]);
    // One suspension serves both reads that wait. A read that arrives during the suspension is not served by it.
    let requests = [(0, write(8)), (150_000, read(3)), (150_000, read(4)), (170_000, read(5))];
    assert_eq!(times(1, &requests), [(1, 290_600), (2, 421_200), (0, 581_800), (3, 712_400)]);
}

#[test]
fn planes_work_at_once_in_pairs_or_all() {
    let times = |multi_plane, request| {
        let change = |settings: &mut SsdSettings| {
            settings.write_frontiers = WriteFrontiers::Plane;
            settings.array.multi_plane = multi_plane;
        };
        die(change, &[(0, request)])[0].1
    };
    let (four, read) = (Request::write(Lba(64), Bytes::kib(16)), Request::read(Lba(0), Bytes::kib(16)));
    assert_eq!(times(MultiPlane::Off, four), 4 * 305_600);
    assert_eq!(times(MultiPlane::Pairs, four), 2 * (2 * 105_600 + 200_000));
    assert_eq!(times(MultiPlane::Any, four), 4 * 105_600 + 200_000);
    assert_eq!(times(MultiPlane::Off, read), 4 * 130_600);
    assert_eq!(times(MultiPlane::Pairs, read), 2 * (25_000 + 2 * 105_600));
    assert_eq!(times(MultiPlane::Any, read), 25_000 + 4 * 105_600);
    // Planes 1 and 2 are not a pair.
    let middle = Request::read(Lba(8), Bytes::kib(8));
    assert_eq!(times(MultiPlane::Pairs, middle), 2 * 130_600);
    assert_eq!(times(MultiPlane::Any, middle), 25_000 + 2 * 105_600);
}

/// Submits `requests` to a gang of two packages. Returns when each of them ended.
fn gang(change: impl Fn(&mut SsdSettings), requests: &[(u64, Request)]) -> Vec<(u32, u64)> {
    let packages = |settings: &mut SsdSettings| {
        settings.geometry.packages_per_channel = 2;
        change(settings);
    };
    die(packages, requests)
}

#[test]
fn packages_under_one_control_share_strobes_and_commands() {
    let shared_bus = |requests: &[(u64, Request)]| gang(|_| (), requests);
    let synchronous = |requests: &[(u64, Request)]| gang(|settings| settings.array.gang = Gang::Synchronous, requests);
    let shared_control = |gang_control, requests: &[(u64, Request)]| {
        let change = |settings: &mut SsdSettings| {
            (settings.array.gang, settings.array.gang_control) = (Gang::SharedControl, gang_control);
        };
        gang(change, requests)
    };
    let controls = [GangControl::Strobes, GangControl::Commands, GangControl::Rounds];
    let both = [(0, Request::write(Lba(64), Bytes::kib(8)))];
    assert_eq!(shared_bus(&both), [(0, 105_600 + 305_600)]);
    for control in controls {
        assert_eq!(shared_control(control, &both), [(0, 305_600)]);
    }
    assert_eq!(synchronous(&both), [(0, 305_600)]);
    // A read of one package and a write of the other go in two directions. The next read of the first package arrives
    // meanwhile.
    let mixed = [(0, read(0)), (0, write(9)), (50_000, read(2))];
    // The first read has its page in the register at 25 us. It gets the bus or the strobes once the write has crossed.
    let in_turn = [(0, 130_600 + 80_600), (1, 305_600), (2, 341_800)];
    assert_eq!(shared_bus(&mixed), in_turn);
    assert_eq!(shared_control(GangControl::Strobes, &mixed), in_turn);
    assert_eq!(shared_control(GangControl::Commands, &mixed), [(0, 130_600), (2, 261_200), (1, 305_600)]);
    assert_eq!(shared_control(GangControl::Rounds, &mixed), [(0, 130_600), (1, 305_600), (2, 436_200)]);
    // A read that arrives while data of the other package move is sensed only after the transfer. On a shared bus it is
    // sensed at once.
    let later = [(0, write(9)), (50_000, read(0))];
    assert_eq!(shared_bus(&later), [(1, 105_600 + 105_600), (0, 305_600)]);
    assert_eq!(shared_control(GangControl::Strobes, &later), [(1, 105_600 + 130_600), (0, 305_600)]);
    assert_eq!(shared_control(GangControl::Commands, &later), [(1, 180_600), (0, 305_600)]);
    // Reads that are ready at the same moment share the strobes. Other reads take turns.
    let pair = |gap| [(0, read(0)), (gap, read(1))];
    assert_eq!(shared_control(GangControl::Strobes, &pair(0)), [(0, 130_600), (1, 130_600)]);
    assert_eq!(shared_control(GangControl::Strobes, &pair(1_000)), [(0, 130_600), (1, 236_200)]);
    assert_eq!(shared_control(GangControl::Commands, &pair(1_000)), [(0, 130_600), (1, 131_600)]);
    // Synchronous packages make wide pages. A write of half a wide page reads that page and writes all of it. Pages 0
    // and 2 lie in two different wide pages.
    assert_eq!(synchronous(&[(0, write(0))]), [(0, 130_600 + 305_600)]);
    assert_eq!(synchronous(&mixed), [(0, 130_600), (1, 436_200), (2, 566_800)]);
    // Over a single bus, the pages of a wide page cross one after another.
    let in_turn = |requests: &[(u64, Request)]| {
        let change = |settings: &mut SsdSettings| {
            (settings.array.gang, settings.array.gang_data) = (Gang::Synchronous, GangData::Shared);
        };
        gang(change, requests)
    };
    assert_eq!(in_turn(&both), [(0, 2 * 105_600 + 200_000)]);
    assert_eq!(in_turn(&[(0, read(0))]), [(0, 25_000 + 2 * 105_600)]);
}

#[test]
fn one_package_of_a_gang_is_suspended_while_no_strobes_move_data() {
    let change = |settings: &mut SsdSettings| {
        settings.array.gang = Gang::SharedControl;
        settings.array.scheduling = Scheduling::ReadsFirst;
        settings.array.suspend = Some(SuspendSettings { suspend: Nanos(10_000), resume: Nanos(5_000), limit: 1 });
    };
    // Package 0 programs from 105.6 us on; package 1 uses the strobes from 120 to 225.6 us. A read of package 0 at 150
    // us waits for the strobes before it suspends the program, and reads from 235.6 us on. The program had 80 us left,
    // and resumes at 371.2 us.
    let requests = [(0, write(8)), (120_000, write(9)), (150_000, read(0))];
    assert_eq!(gang(change, &requests), [(2, 235_600 + 130_600), (1, 425_600), (0, 366_200 + 5_000 + 80_000)]);
}

#[test]
fn a_part_of_a_wide_page_is_rewritten_inside_its_plane() {
    let rewrite = |gang_of: Gang, pool, request| {
        let change = |settings: &mut SsdSettings| {
            settings.array.gang = gang_of;
            settings.array.rewrite = Rewrite::InPlane;
            settings.pool = pool;
        };
        gang(change, &[(0, request)])[0].1
    };
    let half = write(0);
    // The page is read to the register, half of it is replaced, and it is programmed.
    assert_eq!(rewrite(Gang::Synchronous, PoolScope::Plane, half), 25_000 + 105_600 + 200_000);
    assert_eq!(rewrite(Gang::Synchronous, PoolScope::Plane, Request::write(Lba(0), Bytes::kib(8))), 305_600);
    // The same holds for a write of one sector of any page.
    let sector = Request::write(Lba(1), Bytes(512));
    assert_eq!(rewrite(Gang::SharedBus, PoolScope::Plane, sector), 330_600);
    let change = |settings: &mut SsdSettings| {
        settings.geometry.planes_per_die = 2;
        settings.array.rewrite = Rewrite::InPlane;
        settings.write_frontiers = WriteFrontiers::Plane;
        settings.array.details = true;
    };
    // Frontiers take turns, so the second write of a page finds the old page in the other plane.
    let mut settings = one_die();
    change(&mut settings);
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(4)));
    let start = Nanos::from_millis(1);
    assert_eq!((serve(&mut ssd, start, sector).at - start).0, 130_600 + 305_600);
    let steps = flash_report(&ssd).array.unwrap().steps;
    assert!(steps.iter().all(|step| step.kind != "rewrite"));
}

#[test]
fn logical_pages_of_a_block_are_rewritten_whole() {
    // Agrawal 2008, section 4.3: 256 KiB on one die.
    let change = |settings: &mut SsdSettings| settings.array.logical_page = Some(Bytes::kib(256));
    let (whole, part) = (Request::write(Lba(512), Bytes::kib(256)), Request::write(Lba(520), Bytes::kib(8)));
    assert_eq!(die(change, &[(0, whole)]), [(0, 64 * 305_600)]);
    let requests = [(0, whole), (0, Request::read(Lba(513), Bytes(512))), (0, part)];
    let read = 64 * 305_600 + 130_600;
    assert_eq!(die(change, &requests), [(0, 64 * 305_600), (1, read), (2, read + 62 * 130_600 + 64 * 305_600)]);
    let whole_reads = |settings: &mut SsdSettings| {
        change(settings);
        settings.array.whole_page_reads = true;
    };
    // As before, a write reads only the pages that it does not overwrite.
    let read = 64 * 305_600 + 64 * 130_600;
    assert_eq!(die(whole_reads, &requests), [(0, 64 * 305_600), (1, read), (2, read + 62 * 130_600 + 64 * 305_600)]);
}

#[test]
fn logical_pages_span_buses() {
    let mut settings = agrawal();
    settings.array.span = vec![ArrayLevel::Channel];
    assert_eq!(Ssd::new("flash", &settings, 1).unwrap().geometry().page_size(), Bytes::kib(32));
    let requests = |request| timed(&settings, &[(0, request)])[0].1;
    assert_eq!(requests(Request::write(Lba(64), Bytes::kib(32))), 305_600);
    assert_eq!(requests(Request::read(Lba(0), Bytes::kib(32))), 130_600);
    // The seven other parts are read first, all at the same time.
    assert_eq!(requests(write(2)), 130_600 + 305_600);
}

#[test]
fn contradictions_of_the_array_are_refused_with_what_would_work() {
    let refuse = |change: fn(&mut SsdSettings)| {
        let mut settings = agrawal();
        change(&mut settings);
        let error = Ssd::new("flash", &settings, 1).unwrap_err();
        (error.to_string(), esker_core::Hint::hint(&error).unwrap())
    };
    let suspend = SuspendSettings { suspend: Nanos(1), resume: Nanos(1), limit: 1 };
    let fifo = refuse(|settings| {
        settings.array.suspend = Some(SuspendSettings { suspend: Nanos(1), resume: Nanos(1), limit: 1 });
    });
    assert_eq!(
        fifo.0,
        "`array.suspend` and `array.scheduling` = \"fifo\" exclude each other: nothing goes ahead of what came first"
    );
    assert_eq!(fifo.1, "scheduling = \"reads-first\" would work");
    let mut settings = agrawal();
    settings.array.scheduling = Scheduling::OutOfOrder;
    settings.array.suspend = Some(suspend);
    assert!(Ssd::new("flash", &settings, 1).is_ok());
    let page = refuse(|settings| settings.array.logical_page = Some(Bytes::kib(512)));
    assert_eq!(
        page.0,
        "`array.logical_page` = 512KiB and 1 x 4KiB with 64 pages a block exclude each other: a logical page is a power \
         of two of those, and a block holds a whole number of them"
    );
    assert_eq!(page.1, "logical_page = \"4KiB\" to \"256KiB\" would work");
    let twice = refuse(|settings| settings.array.span = vec![ArrayLevel::Die, ArrayLevel::Die]);
    assert!(twice.0.contains("names a level twice"));
    let planes = refuse(|settings| {
        settings.geometry.planes_per_die = 1;
        settings.array.multi_plane = MultiPlane::Pairs;
    });
    assert!(planes.0.contains("no two planes of a die"));
    let span = refuse(|settings| {
        settings.geometry.packages_per_channel = 2;
        settings.array.gang = Gang::Synchronous;
        settings.array.span = vec![ArrayLevel::Package];
    });
    assert_eq!(span.1, "take \"package\" out of `array.span`");
    let odd = refuse(|settings| {
        settings.geometry.channels = 3;
        settings.array.span = vec![ArrayLevel::Channel];
    });
    assert!(odd.0.contains("their size has to be a power of two"));
    let control = refuse(|settings| settings.array.gang_control = GangControl::Commands);
    assert!(control.0.starts_with("`array.gang_control` = \"commands\" and `array.gang` = \"shared-bus\""));
    let data = refuse(|settings| settings.array.gang_data = GangData::Shared);
    assert!(data.0.starts_with("`array.gang_data` = \"shared\" and `array.gang` = \"shared-bus\""));
    let rounds = refuse(|settings| {
        settings.array.gang = Gang::SharedControl;
        settings.array.gang_control = GangControl::Rounds;
        settings.array.scheduling = Scheduling::OutOfOrder;
        settings.array.suspend = Some(SuspendSettings { suspend: Nanos(1), resume: Nanos(1), limit: 1 });
    });
    assert_eq!(rounds.1, "gang_control = \"strobes\" would work");
    let rewrite = refuse(|settings| {
        settings.array.rewrite = Rewrite::InPlane;
        settings.write_frontiers = WriteFrontiers::Pool;
    });
    assert!(rewrite.0.starts_with("`array.rewrite` = \"in-plane\" and `write_frontiers` = \"pool\""), "{}", rewrite.0);
    let deep = refuse(|settings| {
        settings.array.rewrite = Rewrite::InPlane;
        settings.write_frontiers = WriteFrontiers::Plane;
        settings.array.logical_page = Some(Bytes::kib(16));
    });
    assert!(deep.0.contains("the register of a plane holds one flash page"));
}

#[test]
fn energy_is_told_by_component_and_cause() {
    let mut settings = one_die();
    settings.array.copy_back = CopyBack::Checked;
    settings.array.energy = Some(EnergySettings {
        page_read: "4.72uJ".parse().unwrap(),
        page_program: "38.04uJ".parse().unwrap(),
        block_erase: "527.68uJ".parse().unwrap(),
        page_transfer: "1uJ".parse().unwrap(),
        idle: "1mW".parse().unwrap(),
    });
    settings.array.details = true;
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let mut now = Nanos::ZERO;
    for page in (0..48).chain([0, 1, 4, 5, 8, 9, 16, 17, 24, 25]) {
        now = serve(&mut ssd, now, write(page)).at;
    }
    // The read comes a millisecond later, so the die idles for that long.
    let read_from = now + Nanos::from_millis(1);
    now = serve(&mut ssd, read_from, read(3)).at;
    let flash = flash_report(&ssd);
    let energy = flash.energy.unwrap();
    // 58 writes and one read by the host, and two blocks with two checked copies each.
    assert_eq!(energy.read.host_pj, 4_720_000);
    assert_eq!(energy.read.cleaning_pj, 4 * 4_720_000);
    assert_eq!((energy.program.host_pj, energy.program.cleaning_pj), (58 * 38_040_000, 4 * 38_040_000));
    assert_eq!((energy.erase.host_pj, energy.erase.cleaning_pj), (0, 2 * 527_680_000));
    assert_eq!((energy.transfer.host_pj, energy.transfer.cleaning_pj), (59_000_000, 4_000_000));
    // One milliwatt over a millisecond.
    assert_eq!(energy.idle_pj, 1_000_000);
    let total = 5 * 4_720_000 + 62 * 38_040_000 + 2 * 527_680_000 + 63_000_000 + 1_000_000;
    assert_eq!(energy.total_pj, total);
    let array = flash.array.unwrap();
    let busy = (now - Nanos::from_millis(1)).0;
    assert_eq!(array.steps.iter().map(|step| step.cells_ns + step.transfers_ns).sum::<u64>(), busy);
    assert_eq!(array.die_utilisation, [busy as f64 / now.0 as f64]);
    let copies = array.steps.iter().find(|step| step.kind == "checked-copy-back").unwrap();
    assert_eq!((copies.cause.as_str(), copies.count, copies.transfers_ns), ("cleaning", 4, 4 * 105_600));
}

#[test]
fn a_timeline_tells_what_the_flash_did_for_the_first_requests() {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    let times = |record: Option<Stretch>| {
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        if let Some(stretch) = record {
            ssd.control(Nanos::ZERO, Control::RecordTimeline(stretch)).unwrap();
        }
        serve(&mut ssd, Nanos::ZERO, write(0));
        let start = Nanos::from_millis(1);
        ssd.control(start, Control::StartMeasuring).unwrap();
        let part = Request::write(Lba(3), Bytes(512));
        for (slot, request) in [part, write(9), read(9), read(0)].into_iter().enumerate() {
            ssd.submit(start, tag(slot as u32), request);
        }
        (drain(&mut ssd), flash_report(&ssd))
    };
    let (ends, flash) = times(Some(Stretch::First(3)));
    // The second die programs the part of page 0 that is read on the first die.
    let ms = 1_000_000;
    let timeline = flash.timeline.unwrap();
    let requests: Vec<_> = timeline.requests.iter().map(|request| (request.kind.as_str(), request.end_ns)).collect();
    assert_eq!(timeline.requests[0].offset_bytes, 3 * 512);
    assert_eq!(timeline.requests.len(), 3);
    let operations: Vec<_> = timeline
        .operations
        .iter()
        .map(|op| (op.die, op.kind.as_str(), op.request, op.begin_ns - ms, op.end_ns - ms))
        .collect();
    // Die 0 reads page 0 until 130.6 us. Die 1 then programs it until 436.2 us. It is the turn of die 0 to write page
    // 9.
    let expected = [
        (0, "read", Some(0), 0, 130_600),
        (1, "program", Some(0), 130_600, 436_200),
        (0, "program", Some(1), 130_600, 541_800),
        (0, "read", Some(2), 541_800, 672_400),
    ];
    let mine: Vec<_> = operations.iter().filter(|op| op.2.is_some()).copied().collect();
    assert_eq!(mine, expected);
    assert_eq!(requests, [("write", Some(ms + 436_200)), ("write", Some(ms + 541_800)), ("read", Some(ms + 672_400))]);
    // While the write of page 9 waits for the bus, the bus carries the data that die 1 programs.
    let waits = timeline.operations.iter().find(|op| op.request == Some(1)).map(|op| op.bus_wait_ns);
    assert_eq!(waits, Some(105_600));
    // Reading the report changes nothing.
    assert_eq!(times(None).0, ends);
    // The last two requests, with all operations performed while they were under way, some of which began earlier.
    let (_, flash) = times(Some(Stretch::Last(2)));
    let timeline = flash.timeline.unwrap();
    assert_eq!((timeline.first_request, timeline.requests.len()), (0, 4), "none ended before the last was taken");
}

#[test]
fn a_timeline_of_the_last_requests_forgets_what_came_before() {
    let settings = agrawal();
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    ssd.control(Nanos::ZERO, Control::RecordTimeline(Stretch::Last(2))).unwrap();
    ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
    let mut now = Nanos::ZERO;
    for page in 0..5 {
        now = serve(&mut ssd, now, write(page)).at;
    }
    let timeline = flash_report(&ssd).timeline.unwrap();
    assert_eq!((timeline.first_request, timeline.operations_left_out), (3, 0));
    let offsets: Vec<_> = timeline.requests.iter().map(|request| request.offset_bytes).collect();
    assert_eq!(offsets, [3 * 4096, 4 * 4096]);
    let waited: Vec<_> = timeline.operations.iter().map(|op| op.request).collect();
    assert_eq!(waited, [Some(0), Some(1)]);
    assert_eq!(timeline.requests[1].end_ns, Some(now.0));
}

#[test]
fn a_request_for_a_whole_flash_page_takes_one_sensing() {
    let mut settings = one_die();
    (settings.geometry.units_per_page, settings.geometry.planes_per_die) = (4, 1);
    settings.array.details = true;
    settings.array.energy = Some(EnergySettings {
        page_read: "5uJ".parse().unwrap(),
        page_program: "40uJ".parse().unwrap(),
        block_erase: "500uJ".parse().unwrap(),
        page_transfer: "1uJ".parse().unwrap(),
        idle: "0mW".parse().unwrap(),
    });
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let mut now = Nanos::ZERO;
    for page in 0..8 {
        now = serve(&mut ssd, now, write(page)).at;
    }
    ssd.control(now, Control::StartMeasuring).unwrap();
    // Eight consecutive units on one die: 0 to 3 are one flash page, 4 to 7 the next.
    for (pages, sensings) in [(0..4u64, 1u64), (2..6, 2), (5..6, 1)] {
        let start = now + Nanos::from_millis(1);
        let count = pages.end - pages.start;
        now = serve(&mut ssd, start, Request::read(Lba(8 * pages.start), Bytes::kib(4 * count))).at;
        assert_eq!((now - start).0, 25_000 * sensings + 105_600 * count, "{pages:?}");
    }
    let flash = flash_report(&ssd);
    let energy = flash.energy.unwrap();
    assert_eq!((energy.read.host_pj, energy.transfer.host_pj), (4 * 5_000_000, 9 * 1_000_000));
    let steps: Vec<_> = flash.array.unwrap().steps.into_iter().map(|step| (step.kind, step.count)).collect();
    assert_eq!(steps, [("read".to_string(), 4), ("read-from-register".to_string(), 5)]);
    // Pages of several units can be neither copied inside a plane nor combined into larger logical pages.
    let changes: [fn(&mut SsdSettings); 2] = [
        |settings| settings.array.copy_back = CopyBack::Unchecked,
        |settings| settings.array.logical_page = Some(Bytes::kib(16)),
    ];
    for change in changes {
        let mut settings = settings.clone();
        change(&mut settings);
        let error = Ssd::new("flash", &settings, 1).unwrap_err().to_string();
        assert!(error.contains("`geometry.units_per_page` = 4"), "{error}");
    }
}
