//! Compares the simulated parts of drives with the whole drives: all products, at all capacities.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::{BUILTIN, Capacity, Catalogue, Market, Product};
use esker_core::{Device, Rng};
use esker_flash::Ssd;
use esker_results::study::{Budgets, Candidate};

use super::*;
use crate::brute_force_tests::settings;
use crate::endurance::tests::{WearFigures, judge_worn};
use crate::prepare::PreparedWorkload;
use crate::search::Search;
use crate::{Hooks, load};

const FULL: Ratio = Ratio::percent(85);

/// Calls `each` with every flash drive of every catalogue, at every capacity.
fn drives(each: impl FnMut((&Product, Capacity))) {
    let catalogues: Vec<Catalogue> =
        BUILTIN.iter().map(|entry| crate::builtin_catalogue(entry.name).unwrap()).collect();
    let products = catalogues.iter().flat_map(|catalogue| &catalogue.products).filter(|product| product.kind == "ssd");
    products.flat_map(|product| product.capacities.iter().map(move |&on_sale| (product, on_sale))).for_each(each);
}

fn flash_of(product: &Product, on_sale: Capacity, count: u32) -> FlashOnSale {
    let data = TouchedData { active: Bytes::gib(1), utilisation: FULL, least: PartMinimum::ALONE };
    drive(&Part::bought(product, on_sale, count), data).unwrap().1
}

#[test]
fn every_part_has_the_spare_share_of_its_drive_and_can_be_built() {
    let mut built = 0;
    drives(|(product, on_sale)| {
        let whole = WholeDrive::of(product, on_sale.bytes).unwrap();
        let one = PartMinimum::ALONE;
        for (active, least) in [
            (Bytes::gib(1), one),
            (Bytes::mib(1), PartMinimum::for_looks(8)),
            (Bytes::gib(2), PartMinimum::of_each(4)),
            (Bytes::gib(20), one),
        ] {
            let settings = part(&whole, active, (FULL, least));
            let name = format!("{} {} for {active}", product.name, on_sale.bytes);
            assert_eq!(settings.over_provisioning, whole.settings().over_provisioning, "{name}");
            assert_eq!(settings.factory_over_provisioning, whole.settings().factory_over_provisioning, "{name}");
            let drive = Ssd::new("part", &settings, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
            let geometry = &settings.geometry;
            let block = u64::from(geometry.pages_per_block) * geometry.page_size.0;
            let raw = whole.planes() * u64::from(geometry.blocks_per_plane) * block;
            let spare = 1.0 - drive.capacity().0 as f64 / raw as f64;
            let sold = whole.over_provisioning().as_f64();
            assert!((spare - sold).abs() < 0.002, "{name}: {spare:.4} of the part is spare, {sold:.4} of the drive");
            assert!(drive.capacity().0 as f64 * FULL.as_f64() >= active.0 as f64 * 0.999, "{name}");
        }
        built += 1;
    });
    assert!(built > 60, "{built}");
}

/// Drives of one product with the same spare share: small drives have as much flash together as a large one, the same
/// warranty and the same life. Twice the flash lasts twice as long.
#[test]
fn life_goes_with_the_flash_whatever_the_drives_that_have_it() {
    let mut compared = 0;
    drives(|(product, small)| {
        let spare = |on_sale: Capacity| WholeDrive::of(product, on_sale.bytes).unwrap().over_provisioning().as_f64();
        let larger = product.capacities.iter().filter(|large| large.bytes.0 > small.bytes.0);
        for &large in larger.filter(|large| (spare(**large) - spare(small)).abs() < 1e-9) {
            let count = u32::try_from(large.bytes.0 / small.bytes.0).unwrap();
            if !large.bytes.0.is_multiple_of(small.bytes.0) {
                continue;
            }
            let worn = WearFigures { bytes_per_day: small.bytes.0 as f64 * 0.9, ..WearFigures::default() };
            let years = |flash: &FlashOnSale| judge_worn(flash, &worn).lifetime_years.unwrap();
            let [one, many] = [flash_of(product, large, 1), flash_of(product, small, count)];
            let name = format!("{} x {} {} of {}", count, product.name, small.bytes, large.bytes);
            assert_eq!((one.raw, one.capacity), (many.raw, many.capacity), "{name}");
            let warranted = |flash: &FlashOnSale| flash.warranty.map_or(0.0, |warranty| warranty.bytes_per_day);
            // The warranty of a drive may depend on its capacity.
            if (warranted(&one) / warranted(&many) - 1.0).abs() < 1e-9 {
                assert!((years(&one) / years(&many) - 1.0).abs() < 1e-9, "{name}");
            }
            let [two, four] = [2, 4].map(|times| years(&flash_of(product, small, times)));
            assert!(four >= 100.0 || (four / two - 2.0).abs() < 1e-9, "{name}: {two} and {four} years");
            compared += 1;
        }
    });
    assert!(compared > 60, "{compared}");
}

/// A drive that is written as much as its warranty allows outlasts the warranty, whatever a write costs, or a sentence
/// says why not. Checked for every drive with a warranty.
#[test]
fn a_drive_that_is_written_as_warranted_outlives_its_warranty_or_says_why() {
    let (mut kept, mut explained) = (0, 0);
    drives(|(product, on_sale)| {
        let flash = flash_of(product, on_sale, 1);
        let Some(warranty) = flash.warranty else { return };
        for random in [1.0, 1.4, 2.2, 4.0] {
            for (amplification, page_bytes_per_byte) in [(None, 1.0), (Some(1.0), 1.0), (Some(random), 1.0)]
                .into_iter()
                .chain([(Some(random * 2.0), 1.0), (Some(random), 4.0), (None, 16.0)])
            {
                let bytes_per_day = warranty.bytes_per_day;
                let endurance =
                    judge_worn(&flash, &WearFigures { bytes_per_day, random, amplification, page_bytes_per_byte });
                let years = endurance.lifetime_years.unwrap();
                let name = format!("{} {}: {years} years, {endurance:?}", product.name, on_sale.bytes);
                let lasts = years >= warranty.years * (1.0 - 1e-5);
                assert_eq!(lasts, endurance.below_warranty.is_none(), "{name}");
                // The warranty is meant for random overwriting.
                let ordinary = amplification.is_none_or(|is| is <= random) && page_bytes_per_byte == 1.0;
                assert!(lasts || !ordinary, "{name}");
                // A drive that is written a little more than its warranty need not say anything.
                let more =
                    WearFigures { bytes_per_day: bytes_per_day * 1.01, random, amplification, page_bytes_per_byte };
                assert_eq!(judge_worn(&flash, &more).below_warranty, None, "{name}");
                (kept, explained) = (kept + u32::from(lasts), explained + u32::from(!lasts));
            }
        }
    });
    assert!(kept > 500 && explained > 100, "{kept} {explained}");
}

/// From a trace to the answer: writes of 1.25 MiB to random places in 2 GiB, for twelve minutes. One large drive and
/// several small ones with as much flash last equally long, because their parts have the same spare share. Under ten
/// times the load, which is nine tenths of the warranty, they would outlast their warranty.
#[test]
fn a_large_drive_lasts_as_long_as_small_ones_with_as_much_flash() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("written.spc");
    let (mut text, mut rng) = (String::new(), Rng::new(5));
    // 4 MB a second are 0.09 writes of a 3.84 TB drive a day.
    let (requests, bytes, seconds) = (2_200, 1_310_720_u64, 720.0);
    for n in 0..requests {
        let at = f64::from(n) / f64::from(requests) * seconds;
        writeln!(text, "0,{},{bytes},W,{at:.6}", rng.below((2 << 30) / 4096) * 8).unwrap();
    }
    std::fs::write(&trace, text).unwrap();
    let catalogue = crate::builtin_catalogue("current").unwrap().only(&["samsung-pm9a3"]).unwrap();
    let budgets = Budgets { years: 5.0, p99_us: Some(1e6), ..Budgets::default() };
    let settings = settings(&trace, catalogue, Market::OnPremises, budgets);
    let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
    let workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
    let prepared = PreparedWorkload::of(&workload, &settings).unwrap();
    let (all, bounds) = (prepared.offers(&workload, &settings, &hooks).unwrap(), prepared.bounds(&workload, &settings));
    let task = prepared.task(&workload, &settings, &hooks);
    let active = Bytes(workload.map().footprint());
    let mut search = Search::new(&task, bounds, prepared.demand, &settings.running, active);
    let wanted = ["samsung-pm9a3-3.84TB", "2x-samsung-pm9a3-1.92TB", "4x-samsung-pm9a3-960GB"];
    let offers = wanted.map(|name| all.iter().find(|offer| offer.name() == name).unwrap());
    let tried = search.try_all(&offers).unwrap();
    let lives = tried.iter().map(|tried| &tried.candidate).map(|candidate: &Candidate| {
        let endurance = candidate.endurance.as_ref().unwrap();
        let asked = endurance.drive_writes_per_day_asked.unwrap();
        let years = endurance.lifetime_years.unwrap();
        assert!((0.085..0.095).contains(&asked) && years < crate::LIFETIME_LIMIT_YEARS, "{asked} {years}");
        assert!(endurance.kept == Some(true) && years / 10.0 > 5.0, "{endurance:?}");
        years
    });
    let lives: Vec<f64> = lives.collect();
    let [shortest, longest] = [f64::min, f64::max].map(|of| lives.iter().copied().reduce(of).unwrap());
    // Parts may differ by as much as docs/studies.md shows between parts and whole drives.
    assert!(longest / shortest < 1.15, "{lives:?}");
}
