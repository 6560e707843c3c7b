//! The catalogues that come with the program are valid. That their devices can be built is tested where they are built,
//! in esker-study.

use std::collections::BTreeSet;

use esker_catalogue::{BUILTIN, Catalogue, Class, Market, PriceRate};
use esker_core::{Bytes, registry};

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
