//! The catalogues that come with the program: they are valid, and what they have can be built.

use std::collections::BTreeSet;

use esker_catalogue::{BUILTIN, Catalogue, Class, DrivePart, Market, PriceRate, Product};
use esker_core::{Bytes, Device, registry};
use esker_disk::{Disk, DiskSettings};
use esker_flash::Ssd;

fn current() -> Catalogue {
    Catalogue::builtin("current").unwrap()
}

#[test]
fn every_built_in_catalogue_is_valid() {
    assert_eq!(registry::check(BUILTIN), Vec::<String>::new());
    for entry in BUILTIN {
        let catalogue = Catalogue::builtin(entry.name).unwrap();
        assert_eq!(catalogue.name, entry.name);
        for product in &catalogue.products {
            let known = product.source.is_some() || !product.assumed.is_empty();
            assert!(known, "{} is of nowhere", product.name);
        }
    }
    let error = Catalogue::builtin("curent").unwrap_err();
    assert_eq!(error.to_string(), "`curent` is no catalogue; did you mean `current`?");
}

#[test]
fn current_has_something_of_every_class_on_sale() {
    let catalogue = current();
    assert!(catalogue.products.len() >= 24, "{}", catalogue.products.len());
    let classes: BTreeSet<Class> = catalogue.products.iter().map(|product| product.class).collect();
    for class in [
        Class::TlcReadIntensive,
        Class::TlcMixedUse,
        Class::SataTlc,
        Class::Qlc,
        Class::LowLatency,
        Class::Consumer,
        Class::Nearline,
        Class::Disk10k,
        Class::CloudVolume,
    ] {
        assert!(classes.contains(&class), "{class}");
    }
    let markets: BTreeSet<Market> = catalogue.products.iter().map(|product| product.market).collect();
    assert_eq!(markets.into_iter().collect::<Vec<_>>(), Market::ALL);
}

/// Every drive at every capacity, with few blocks: memory goes with them, and whether it can be built does not.
fn build(product: &Product, capacity: Bytes) -> Option<f64> {
    if let Some(whole) = product.whole_drive(capacity) {
        let DrivePart { mut settings, share } = whole.part();
        let geometry = &mut settings.geometry;
        let units = geometry.units_per_page;
        let (blocks, pages) = (geometry.blocks_per_plane, geometry.pages_per_block);
        geometry.blocks_per_plane = blocks.min(128);
        geometry.pages_per_block = pages.min(units * 8);
        let part = f64::from(geometry.blocks_per_plane) * f64::from(geometry.pages_per_block)
            / (f64::from(blocks) * f64::from(pages));
        let drive =
            Ssd::new(&product.name, &settings, 1).unwrap_or_else(|e| panic!("{} {capacity}: {e}", product.name));
        return Some(drive.capacity().0 as f64 / part / share / capacity.0 as f64);
    }
    let settings = product.disk_settings(capacity)?;
    let disk = Disk::new(&product.name, &settings).unwrap_or_else(|e| panic!("{} {capacity}: {e}", product.name));
    Some(disk.capacity().0 as f64 / capacity.0 as f64)
}

#[test]
fn every_device_of_every_capacity_is_built_and_holds_what_is_sold() {
    let mut built = 0;
    for catalogue in BUILTIN.iter().map(|entry| Catalogue::builtin(entry.name).unwrap()) {
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
    let catalogue = current();
    let of = |name: &str, capacity: u64| {
        let product = catalogue.product(name).unwrap();
        let whole = product.whole_drive(Bytes(capacity)).unwrap();
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

/// The flash of a whole drive is that of its dies, not of the part that is simulated: twice the dies are twice the
/// flash, whatever memory it takes to simulate them, and the share of the part is stated.
#[test]
fn the_flash_of_a_whole_drive_is_its_dies() {
    let (mut drives, mut larger_than_a_part) = (0, 0);
    for product in BUILTIN.iter().flat_map(|entry| Catalogue::builtin(entry.name).unwrap().products) {
        for on_sale in &product.capacities {
            let Some(whole) = product.whole_drive(on_sale.bytes) else { continue };
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
            let DrivePart { settings, share } = whole.part();
            let simulated = f64::from(settings.geometry.blocks_per_plane) / f64::from(geometry.blocks_per_plane);
            assert!(share == simulated && 0.0 < share && share <= 1.0, "{}: {share}", product.name);
            (drives, larger_than_a_part) = (drives + 1, larger_than_a_part + u32::from(share < 1.0));
        }
    }
    assert!(drives > 60 && larger_than_a_part > 40, "{drives} {larger_than_a_part}");
}

#[test]
fn disks_have_the_surfaces_that_their_capacity_needs() {
    let catalogue = current();
    let at = |name: &str, gigabytes: u64| {
        catalogue.product(name).unwrap().disk_settings(Bytes(gigabytes * 1_000_000_000)).unwrap()
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
fn the_devices_of_kim_are_as_published() {
    let catalogue = Catalogue::builtin("kim-2009").unwrap();
    assert_eq!(catalogue.names().collect::<Vec<_>>(), ["ssd", "high-end-hdd", "low-end-hdd"]);
    let published = [
        ("ssd", 80, 4.25, 220_000_000, 160_000_000, 1.0, 1.8),
        ("high-end-hdd", 300, 1.50, 128_000_000, 128_000_000, 9.19, 17.0),
        ("low-end-hdd", 1_000, 0.12, 42_660_000, 42_660_000, 5.8, 10.7),
    ];
    for (name, gigabytes, price, read, write, device, supplement) in published {
        let product = catalogue.product(name).unwrap();
        assert_eq!(product.capacities.iter().map(|c| c.bytes.0).collect::<Vec<_>>(), [gigabytes * 1_000_000_000]);
        let PriceRate::PerTerabyte(per_terabyte) = product.price.value.rate else { panic!("{name}") };
        assert_eq!(per_terabyte.as_f64(), price * 1_000.0, "{name}");
        let performance = product.performance.as_ref().unwrap().value;
        assert_eq!(performance.sequential_read.unwrap().0, read, "{name}");
        assert_eq!(performance.sequential_write.unwrap().0, write, "{name}");
        let power = product.power.as_ref().unwrap().value;
        let watts = [power.active, power.idle, power.supplement].map(|power| power.0 as f64 / 1e6);
        assert_eq!(watts, [device, device, supplement], "{name}");
    }
    let rpm = |name: &str| catalogue.product(name).unwrap().settings["rotation_speed"].clone();
    assert_eq!((rpm("low-end-hdd"), rpm("high-end-hdd")), ("5400rpm".into(), "15020rpm".into()));
    let drive = catalogue.product("ssd").unwrap();
    // 10,000 erases of 80 GB.
    assert_eq!(drive.endurance_bytes(Bytes(80_000_000_000)), Some(800_000_000_000_000));
    assert_eq!(catalogue.running.electricity_per_kwh.value.to_string(), "0.10");
}

#[test]
fn endurance_is_what_data_sheets_say() {
    let catalogue = current();
    let drive = catalogue.product("micron-7450-max").unwrap();
    // 3 x 3.2 TB x 1,825 days.
    assert_eq!(drive.endurance_bytes(Bytes(3_200_000_000_000)), Some(17_520_000_000_000_000));
    assert_eq!(drive.drive_writes_per_day_sold(Bytes(3_200_000_000_000)), Some(3.0));
    let consumer = catalogue.product("samsung-990-pro").unwrap();
    assert_eq!(consumer.endurance_bytes(Bytes(2_000_000_000_000)), Some(1_200_000_000_000_000));
    let dwpd = consumer.drive_writes_per_day_sold(Bytes(2_000_000_000_000)).unwrap();
    assert!((dwpd - 600.0 / 1_825.0).abs() < 1e-9);
    assert_eq!(catalogue.product("toshiba-mg10").unwrap().endurance_bytes(Bytes(1)), None);
}

#[test]
fn what_is_assumed_is_said_in_words() {
    let catalogue = current();
    let drive = catalogue.product("kioxia-cd6-r").unwrap();
    let said = drive.assumptions();
    assert!(said.contains(&"`power` of kioxia-cd6-r is assumed: no source found".to_string()), "{said:?}");
    let disk = catalogue.product("seagate-exos-10e2400").unwrap();
    assert!(disk.is_assumed("price") && disk.price.source.is_none() && disk.price.value.of_class);
    // References are spelt out.
    assert!(drive.source.as_ref().unwrap().starts_with("heise.de"));
}
