//! The products of the catalogues can be simulated, and those that cannot are refused at the place of the mistake.

use esker_catalogue::{BUILTIN, Catalogue, Product};
use esker_core::{ByteRate, Bytes, Device, Hint};
use esker_disk::{Disk, DiskSettings};
use esker_flash::Ssd;

use super::{WholeDrive, builtin_catalogue, disk_settings, read_catalogue};

/// Every drive at every capacity, with few blocks: memory goes with them, and whether it can be built does not.
fn build(product: &Product, capacity: Bytes) -> Option<f64> {
    if let Some(whole) = WholeDrive::of(product, capacity) {
        let mut settings = whole.settings().clone();
        let geometry = &mut settings.geometry;
        let units = geometry.units_per_page;
        let (blocks, pages) = (geometry.blocks_per_plane, geometry.pages_per_block);
        geometry.blocks_per_plane = blocks.min(128);
        geometry.pages_per_block = pages.min(units * 8);
        let part = f64::from(geometry.blocks_per_plane) * f64::from(geometry.pages_per_block)
            / (f64::from(blocks) * f64::from(pages));
        let drive =
            Ssd::new(&product.name, &settings, 1).unwrap_or_else(|e| panic!("{} {capacity}: {e}", product.name));
        return Some(drive.capacity().0 as f64 / part / capacity.0 as f64);
    }
    let settings = disk_settings(product, capacity)?;
    let disk = Disk::new(&product.name, &settings).unwrap_or_else(|e| panic!("{} {capacity}: {e}", product.name));
    Some(disk.capacity().0 as f64 / capacity.0 as f64)
}

#[test]
fn every_device_of_every_capacity_is_built_and_holds_what_is_sold() {
    let mut built = 0;
    for catalogue in BUILTIN.iter().map(|entry| builtin_catalogue(entry.name).unwrap()) {
        for product in catalogue.products.iter().filter(|product| !product.is_cloud_volume()) {
            for capacity in &product.capacities {
                let share = build(product, capacity.bytes).expect("a drive or a disk");
                // Blocks that cleaning keeps free are more of few blocks than of all.
                assert!((0.97..1.01).contains(&share), "{} {}: {share}", product.name, capacity.bytes);
                built += 1;
            }
        }
    }
    assert!(built > 80, "{built}");
}

#[test]
fn over_provisioning_and_dies_follow_from_the_raw_flash() {
    let catalogue = builtin_catalogue("current").unwrap();
    let of = |name: &str, capacity: u64| {
        let product = catalogue.product(name).unwrap();
        let whole = WholeDrive::of(product, Bytes(capacity)).unwrap();
        let geometry = whole.settings().geometry;
        let dies = geometry.channels * geometry.packages_per_channel * geometry.dies_per_package;
        assert_eq!(whole.settings().factory_over_provisioning, Some(whole.over_provisioning()));
        (dies, whole.over_provisioning().as_f64())
    };
    // 1 - 3.84e12 / 2^42, and 1 - 3.2e12 / 2^42.
    let (dies, spare) = of("micron-7450-pro", 3_840_000_000_000);
    assert!(dies == 64 && (spare - 0.126_888).abs() < 1e-5, "{dies} {spare}");
    let (dies, spare) = of("micron-7450-max", 3_200_000_000_000);
    assert!(dies == 64 && (spare - 0.272_40).abs() < 1e-4, "{dies} {spare}");
    assert_eq!(of("samsung-bm1743", 61_440_000_000_000).0, 512);
    assert_eq!(of("samsung-pm893", 240_000_000_000).0, 4);
}

/// The flash of a whole drive is that of its dies: twice the dies are twice the flash, whatever memory it takes to
/// simulate them.
#[test]
fn the_flash_of_a_whole_drive_is_its_dies() {
    let mut drives = 0;
    for product in BUILTIN.iter().flat_map(|entry| builtin_catalogue(entry.name).unwrap().products) {
        for on_sale in &product.capacities {
            let Some(whole) = WholeDrive::of(&product, on_sale.bytes) else { continue };
            let (dies, die) = (on_sale.dies.unwrap(), product.die.unwrap());
            assert_eq!(whole.raw().0, u64::from(dies) * die.0, "{} {}", product.name, on_sale.bytes);
            let left = 1.0 - on_sale.bytes.0 as f64 / whole.raw().0 as f64;
            let spare = whole.over_provisioning().as_f64();
            assert!((spare - left).abs() < 1e-6, "{} {}: {spare} for {left}", product.name, on_sale.bytes);
            let geometry = whole.settings().geometry;
            let block = u64::from(geometry.pages_per_block) * geometry.page_size.0;
            let blocks = whole.planes() * u64::from(geometry.blocks_per_plane) * block;
            // Of each plane, less than a block is left over.
            assert!(blocks <= whole.raw().0 && whole.raw().0 - blocks < whole.planes() * block, "{}", product.name);
            drives += 1;
        }
    }
    assert!(drives > 60, "{drives}");
}

#[test]
fn disks_have_the_surfaces_that_their_capacity_needs() {
    let catalogue = builtin_catalogue("current").unwrap();
    let at = |name: &str, gigabytes: u64| {
        disk_settings(catalogue.product(name).unwrap(), Bytes(gigabytes * 1_000_000_000)).unwrap()
    };
    assert_eq!(at("seagate-exos-x20", 16_000).surfaces, 16);
    assert_eq!(at("seagate-exos-x20", 20_000).surfaces, 20);
    assert_eq!([600, 1_200, 1_800, 2_400].map(|size| at("seagate-exos-10e2400", size).surfaces), [2, 4, 6, 8]);
    // More terabytes than the preset has: more tracks, over which an arm takes as long as before.
    let (small, large) = (at("seagate-exos-x24", 20_000), at("seagate-exos-x24", 24_000));
    assert_eq!(large.surfaces, 20);
    let mean = |settings: &DiskSettings| {
        let disk = Disk::new("disk", settings).unwrap();
        disk.mechanics().seek_curve().mean(disk.mechanics().geometry().cylinders()).as_secs_f64()
    };
    assert!((mean(&large) / mean(&small) - 1.0).abs() < 0.01);
}

/// Kim 2009, table 4.4.
#[test]
fn settings_of_its_own_are_laid_over_those_of_the_preset() {
    let catalogue = builtin_catalogue("kim-2009").unwrap();
    let rpm = |name: &str| catalogue.product(name).unwrap().settings.as_ref().unwrap()["rotation_speed"].clone();
    assert_eq!((rpm("low-end-hdd"), rpm("high-end-hdd")), ("5400rpm".into(), "15020rpm".into()));
    let catalogue = read_catalogue("good.toml", GOOD).unwrap();
    let settings = catalogue.product("drive").unwrap().settings.as_ref().unwrap();
    assert_eq!(settings["link"]["rate"].as_str().unwrap().parse(), Ok(ByteRate(6_000_000_000)));
    assert_eq!(settings["geometry"]["channels"], 8, "the preset's");
}

const GOOD: &str = r#"
[product.drive]
title = "A drive"
year = 2024
class = "tlc-read-intensive"
interface = "NVMe"
preset = "tlc-data-centre-4t"
device = { link = { rate = "6GB/s" } }
capacities = ["960GB", "1.92TB"]
price = { per_GB = "0.12 USD", as_of = "2026-05-08" }
source = "a list"
"#;

/// Reads the catalogue with `from` replaced by `to`. The error has the place of the line that contains `at`, and these
/// words; its hint has these.
#[track_caller]
fn refused(from: &str, to: &str, at: &str, words: &str, hint: &str) {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    let text = GOOD.replace(from, to);
    let error = read_catalogue("bad.toml", &text).expect_err("it is refused");
    let line = text.lines().position(|line| line.contains(at)).expect("the line is there") + 1;
    let said = error.to_string();
    assert!(said.starts_with(&format!("bad.toml:{line}:")), "not in line {line}: {said}");
    assert!(said.contains(words), "{words} is not in: {said}");
    let hinted = error.hint().unwrap_or_default();
    assert!(hinted.contains(hint), "{hint} is not in the hint: {hinted}");
}

#[test]
fn mistakes_in_the_settings_of_a_device() {
    let misspelt = "tlc-data-center-4t";
    refused("tlc-data-centre-4t", misspelt, "center", "product.drive.preset: `tlc-data-center-4t` is no preset", "tlc");
    refused("tlc-data-centre-4t", misspelt, "center", "did you mean `tlc-data-centre-4t`?", "");
    refused(
        "tlc-data-centre-4t",
        "nearline-7200-20t",
        "7200",
        "a preset of the kind `hdd`, not of `ssd`",
        "kind = \"hdd\"",
    );
    refused("{ link = {", "{ lnik = {", "lnik", "product.drive.device.lnik: unknown key; did you mean `link`?", "link");
    refused("{ link = {", "{ lnik = {", "lnik", "unknown key", "source, assumed");
    refused("rate = \"6GB/s\"", "rate = \"6GB\"", "6GB", "product.drive.device.link.rate", "");
    let fault = "{ geometry = { page_size = \"3KiB\" } }";
    let words = "product.drive.device.geometry.page_size: of 960GB it cannot be built";
    refused("{ link = { rate = \"6GB/s\" } }", fault, "3KiB", words, "");
}

/// An error points to the value, not to the key of the table around it.
#[test]
fn a_wrong_setting_has_the_column_of_its_value() {
    let error = read_catalogue("bad.toml", &GOOD.replace("6GB/s", "6GB")).unwrap_err().to_string();
    let column = GOOD.lines().find_map(|line| line.find("\"6GB/s\"")).unwrap() + 1;
    assert!(error.starts_with(&format!("bad.toml:8:{column}: ")), "{error}");
}

#[test]
fn a_preset_in_a_table_has_the_place_of_its_cell() {
    let table = "name,title,year,class,interface,preset,capacity,price,as_of,source\n\
                 # A disk.\n\
                 disk,Disk,2023,nearline,SATA,nearline-7200-20t,20TB,440 USD,2026-05-08,a list\n";
    assert_eq!(read_catalogue("good.csv", table).unwrap().products[0].settings.as_ref().unwrap()["surfaces"], 20);
    let error = read_catalogue("bad.csv", &table.replace("7200-20t", "")).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("bad.csv:3:30: preset: `nearline-` is no preset"), "{said}");
}

#[test]
fn a_catalogue_alone_says_nothing_of_settings() {
    let catalogue = Catalogue::read("good.toml", GOOD).unwrap();
    let drive = catalogue.product("drive").unwrap();
    assert!(drive.settings.is_none() && WholeDrive::of(drive, Bytes(960_000_000_000)).is_none());
}

/// The examples of docs/catalogue.md.
#[test]
fn the_examples_of_the_page_can_be_simulated() {
    let page = include_str!("../../../../docs/catalogue.md");
    for (begin, name) in [("```toml\n", "page.toml"), ("```csv\n", "page.csv")] {
        for block in page.split(begin).skip(1) {
            let text = block.split("```").next().unwrap();
            read_catalogue(name, text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
