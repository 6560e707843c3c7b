//! Compares translation layers after preconditioning, and under the workloads that tell them apart.

use esker_core::{Arrival, Bytes, Control, Device, Lba, Nanos, Precondition, Ratio, ReplaySettings, Request, Rng};
use esker_flash::{Ssd, SsdSettings};
use esker_ftl::{Choice, FTLS, ParameterValue};
use esker_nand::PoolScope;
use esker_results::FlashReport;

use crate::common::{one_package, report, run};

/// One package of two dies, 512 blocks. The log has its default size, 3 % of the logical blocks.
fn settings(kind: &str) -> SsdSettings {
    let mut settings = one_package(2);
    settings.geometry.blocks_per_plane = 256;
    settings.over_provisioning = Some(Ratio::percent(10));
    settings.cleaning.threshold = Ratio::percent(2);
    settings.pool = PoolScope::Device;
    settings.ftl = Choice::named(kind);
    if kind == "dftl" {
        // With algorithm 1 alone, each sequentially written page writes a translation page when its entry leaves the
        // cache.
        settings.ftl.parameters.insert("batch_evictions".to_string(), ParameterValue::Flag(true));
    }
    settings
}

#[test]
fn every_layer_can_be_preconditioned_at_every_utilisation() {
    for layer in FTLS {
        let mut settings = settings(layer.name);
        settings.geometry.blocks_per_plane = 40;
        settings.geometry.pages_per_block = 8;
        settings.over_provisioning = Some(Ratio::percent(25));
        for percent in [1, 40, 100] {
            let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
            let utilisation = Ratio::percent(percent);
            let condition = Precondition::Steady { utilisation, seed: 3 };
            ssd.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
            let outcome = report(&ssd).precondition.unwrap();
            assert!(outcome.steady, "{} at {percent} %: {outcome:?}", layer.name);
            assert_eq!(outcome.filled_pages, utilisation.of(ssd.capacity().0 / 4096), "{}", layer.name);
            assert!(outcome.write_amplification >= 1.0, "{}", layer.name);
        }
    }
}

/// Fills the drive, then writes `length` pages from each of `starts` on.
fn after(kind: &str, length: u64, starts: impl Iterator<Item = u64>) -> FlashReport {
    let mut ssd = Ssd::new("flash", &settings(kind), 1).unwrap();
    let condition = Precondition::Filled { utilisation: Ratio::ONE };
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
    ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
    let capacity = ssd.capacity().0 / 4096;
    let arrivals = starts.map(|start| {
        assert!(start + length <= capacity);
        Arrival { at: Nanos::ZERO, request: Request::write(Lba(start * 8), Bytes(length * 4096)) }
    });
    run(&mut ssd, arrivals, &ReplaySettings::closed(8));
    ssd.check();
    report(&ssd)
}

/// Writes to single pages, four out of five of them in a tenth of the space.
fn local(count: usize) -> impl Iterator<Item = u64> {
    let mut rng = Rng::new(17);
    // The host cannot address 10 % of the 32,768 pages.
    let pages = 29_000;
    (0..count).map(move |_| if rng.below(5) > 0 { rng.below(pages / 10) } else { rng.below(pages) })
}

#[test]
fn random_writes_cost_page_mapped_layers_least_and_block_associative_ones_most() {
    let erases = |kind: &str| after(kind, 1, local(60_000)).erases;
    let (page, fast, bast, block) = (erases("page"), erases("fast"), erases("bast"), erases("block"));
    // Kim 2009, section 3.5.1: FAST erases several times as much as the baseline. Section 2.4: log blocks of BAST
    // thrash, which shared log blocks avoid.
    assert!(2 * page < fast, "page {page}, FAST {fast}");
    assert!(3 * fast < bast, "FAST {fast}, BAST {bast}");
    // Nearly every write erases a data block and a log block.
    assert!(bast > 60_000 && block > 50_000, "BAST {bast}, block {block}");
}

#[test]
fn locality_helps_those_who_look_for_it() {
    let [bast, fast, last, superblock] =
        ["bast", "fast", "last", "superblock"].map(|kind| after(kind, 1, local(60_000)));
    // Hot pages fill log blocks whose pages are all superseded soon, so these need no merge.
    assert!(last.dead_log_blocks > fast.dead_log_blocks, "{last:?} {fast:?}");
    let degree = |flash: &FlashReport| {
        let blocks: u64 = flash.full_merge_data_blocks.iter().map(|(blocks, count)| u64::from(*blocks) * count).sum();
        blocks as f64 / flash.merges.full as f64
    };
    // Kim 2009, figure 3.10: full merges of many data blocks.
    assert!(degree(&fast) > 10.0, "{}", degree(&fast));
    // Eight data blocks share log blocks. In BAST, a log block belongs to a single data block.
    assert!(2 * superblock.erases < bast.erases, "{superblock:?} {bast:?}");
    // Only superblocks read their map from spare areas.
    assert!(superblock.reads.mapping > 0 && fast.reads.mapping + last.reads.mapping == 0);
}

#[test]
fn sequential_writes_cost_all_layers_the_same() {
    // 64 KiB each, three times over the drive.
    let requests = 3 * 1800;
    let least = requests * 16 / 64;
    let sequential = |kind: &str| after(kind, 16, (0..requests).map(|index| index % 1800 * 16));
    for layer in FTLS {
        let flash = sequential(layer.name);
        assert!(flash.erases + 64 >= least && flash.erases <= least + 64, "{}: {} erases", layer.name, flash.erases);
        assert!(flash.write_amplification.unwrap() < 1.02, "{}: {:?}", layer.name, flash.write_amplification);
        assert_eq!(flash.merges.full, 0, "{}", layer.name);
    }
}

#[test]
fn small_sequential_writes_escape_a_detector_that_goes_by_size() {
    // Kim 2009, section 2.4, reports this of LAST.
    let sequential = |kind: &str| after(kind, 1, (0..30_000).map(|index| index % 28_800));
    let (fast, last) = (sequential("fast"), sequential("last"));
    assert_eq!(fast.merges.full, 0);
    assert!(last.merges.full > 300 && last.write_amplification > fast.write_amplification, "{last:?}");
}

#[test]
fn block_maps_take_a_fraction_of_the_controllers_memory() {
    let bytes = |kind: &str| Ssd::new("flash", &settings(kind), 1).map(|ssd| report(&ssd).map_bytes).unwrap();
    let page = bytes("page");
    // Kim 2009, section 2.3.2: one entry per block instead of one for each of its 64 pages.
    assert!(60 * bytes("block") < page);
    // These layers also have a page map of 3 % of the blocks.
    for kind in ["bast", "fast", "last"] {
        assert!(20 * bytes(kind) < page && bytes(kind) > 2 * bytes("block"), "{kind}: {} of {page}", bytes(kind));
    }
}
