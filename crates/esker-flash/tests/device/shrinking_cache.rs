//! Read caches whose flash wears out. They hold fewer and fewer pages, and keep working.

use esker_cache::{FLASH_POLICIES, Found};
use esker_core::{Bytes, LogicalPage, Nanos, Ratio, Rng, registry};
use esker_flash::{CacheCleaning, Choice, EndOfLife, HostManagedCache, SsdSettings, WearSettings};
use esker_results::HostManagedCacheReport;
use proptest::prelude::*;

/// One block in two hundred fails at each erase; the others fail after 40 erases.
fn flash(blocks: u32, over_provisioning: u64) -> SsdSettings {
    let toml = format!(
        "over_provisioning = \"{over_provisioning}%\"\nendurance_cycles = 40\npool = \"device\"\nqueue_depth = 64\n\
         cleaning = {{ victim = \"greedy\", threshold = \"5%\" }}\n\
         geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1, \
         blocks_per_plane = {blocks}, pages_per_block = 8, page_size = \"4KiB\", spare_size = \"0B\" }}\n\
         timing = {{ page_read = \"25us\", page_program = \"200us\", block_erase = \"1.5ms\", \
         bus_rate = \"40MB/s\" }}\n"
    );
    let wear = WearSettings {
        end_of_life: EndOfLife::Retire,
        erase_failures: Ratio::parts_per_billion(5_000_000),
        ..WearSettings::default()
    };
    SsdSettings { wear: Some(wear), ..toml::from_str(&toml).unwrap() }
}

fn cache(flash: &SsdSettings, policy: &str, cleaning: CacheCleaning, pages: u32) -> HostManagedCache {
    let volume = Bytes::kib(4 * u64::from(pages));
    HostManagedCache::new(flash, &Choice::named(policy), &Choice::named("none"), cleaning, volume, 1).unwrap()
}

fn read(cache: &mut HostManagedCache, page: u32) -> Found {
    let found = cache.access(Nanos::ZERO, LogicalPage(page));
    match found {
        Found::Miss => cache.fill_untimed(LogicalPage(page)),
        _ => assert!(cache.has_data(LogicalPage(page)), "page {page} was {found:?}"),
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The cache shrinks block by block. At the end it is empty, and every read misses. When several blocks fail in a
    /// row, cleaning may find no room for one page, but it then does for the next.
    #[test]
    fn a_cache_shrinks_with_its_flash(seed: u64, blocks in 12u32..24, over_provisioning in 30u64..60) {
        let (flash, volume) = (flash(blocks, over_provisioning), 400);
        for policy in registry::names(FLASH_POLICIES) {
            for cleaning in [CacheCleaning::Migrate, CacheCleaning::ZeroMigration, CacheCleaning::Conditional] {
                let (mut cache, mut rng) = (cache(&flash, policy, cleaning, volume), Rng::new(seed));
                let mut before = cache.report();
                for number in 0.. {
                    read(&mut cache, (rng.below(400) * rng.below(400) / 400) as u32);
                    let now = cache.report();
                    prop_assert!(now.user_pages <= before.user_pages);
                    prop_assert!(now.held_pages <= now.user_pages);
                    if now.retired_blocks > before.retired_blocks || number % 500 == 0 {
                        cache.check();
                    }
                    before = now;
                    if now.user_pages == 0 {
                        break;
                    }
                    prop_assert!(now.refused_pages <= now.retired_blocks, "{} with {:?}: {:?}", policy, cleaning, now);
                    prop_assert!(number < 2_000_000, "{} with {:?} does not wear out: {:?}", policy, cleaning, now);
                }
                let HostManagedCacheReport { filled_pages: filled, refused_pages, .. } = cache.report();
                prop_assert!(100 * refused_pages < filled, "{} with {:?}: {}", policy, cleaning, refused_pages);
                prop_assert!((0..400).all(|page| read(&mut cache, page) == Found::Miss));
                prop_assert_eq!(cache.report().filled_pages, filled);
                prop_assert!(before.retired_blocks > u64::from(blocks));
                cache.check();
            }
        }
    }
}

/// The remaining flash is divided in the same way as the whole flash was: 1 - OP of it holds pages. With fewer than
/// half of the blocks left, cleaning's free blocks exceed the spare space, and the cache holds less than that.
#[test]
fn over_provisioning_stays_what_it_was() {
    let mut cache = cache(&flash(20, 30), "flru", CacheCleaning::ZeroMigration, 1_000);
    assert_eq!((cache.report().flash_pages, cache.report().user_pages), (320, 224));
    let mut rng = Rng::new(3);
    while cache.report().retired_blocks < 10 {
        read(&mut cache, rng.below(1_000) as u32);
    }
    let report = cache.report();
    assert_eq!((report.retired_blocks, report.user_pages), (10, 224 * 30 / 40));
}

/// Prints what a cache of 30 MiB does for its reads until its flash is worn out.
#[test]
#[ignore = "it prints a table of the documentation"]
#[expect(clippy::print_stdout, reason = "it prints a table")]
fn lives_of_caches() {
    println!("| policy | cleaning | pages read | hits | held at half of them | erases |\n|---|---|---|---|---|---|");
    for (policy, cleaning) in [
        ("lru", CacheCleaning::Migrate),
        ("flru", CacheCleaning::Migrate),
        ("lru", CacheCleaning::ZeroMigration),
        ("flru", CacheCleaning::ZeroMigration),
        ("farc", CacheCleaning::ZeroMigration),
    ] {
        let mut flash = flash(480, 15);
        flash.endurance_cycles = 200;
        let (mut cache, mut rng) = (cache(&flash, policy, cleaning, 20_000), Rng::new(1));
        let mut held = Vec::new();
        while cache.report().user_pages > 0 {
            for _ in 0..1_000 {
                read(&mut cache, (rng.below(20_000) * rng.below(20_000) / 20_000) as u32);
            }
            held.push(cache.report().user_pages);
        }
        let report = cache.report();
        let cleaning = if cleaning == CacheCleaning::Migrate { "migrate" } else { "zero-migration" };
        println!(
            "| `{policy}` | `{cleaning}` | {:.1} million | {:.1} % | {} of {} pages | {} |",
            held.len() as f64 / 1_000.0,
            100.0 * report.hit_ratio,
            held[held.len() / 2],
            held[0],
            report.erases
        );
    }
}
