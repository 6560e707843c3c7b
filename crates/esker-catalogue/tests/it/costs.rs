//! Costs by closed form, to the cent.

use esker_catalogue::{Catalogue, CloudVolume, Figure, Money, PriceChange, Running, cloud_cost, owned_cost};
use esker_core::{Bytes, Ratio};
use proptest::prelude::*;

fn current() -> Catalogue {
    Catalogue::builtin("current").unwrap()
}

fn month(name: &str, gib: u64, operations: Option<u64>, mib_per_s: Option<u64>) -> String {
    let volume = CloudVolume {
        size: Bytes::gib(gib),
        operations_per_s: operations,
        bytes_per_s: mib_per_s.map(|mib| mib << 20),
    };
    let cost = cloud_cost(current().product(name).unwrap(), &volume, 1, 1.0);
    assert_eq!(cost.total, Money(cost.per_month.0 * 12));
    cost.per_month.to_string()
}

#[test]
fn volumes_of_amazon() {
    // 500 x 0.08 + 3,000 x 0.005 + 125 x 0.04.
    assert_eq!(month("aws-ebs-gp3", 500, Some(6_000), Some(250)), "60.00");
    assert_eq!(month("aws-ebs-gp3", 500, None, None), "40.00");
    assert_eq!(month("aws-ebs-gp3", 500, Some(2_000), Some(100)), "40.00");
    // 100 x 0.125 + 32,000 x 0.065 + 32,000 x 0.046 + 36,000 x 0.032.
    assert_eq!(month("aws-ebs-io2", 100, Some(100_000), None), "4716.50");
    assert_eq!(month("aws-ebs-io2", 100, Some(32_000), None), "2092.50");
    assert_eq!(month("aws-ebs-io2", 100, Some(32_001), None), "2092.546");
    assert_eq!(month("aws-ebs-io2", 100, Some(64_001), None), "3564.532");
    assert_eq!(month("aws-ebs-gp2", 334, None, None), "33.40");
    assert_eq!(month("aws-ebs-st1", 500, None, None), "22.50");
    assert_eq!(month("aws-ebs-sc1", 500, None, None), "7.50");
}

#[test]
fn volumes_of_azure_are_billed_by_their_class() {
    for gib in [17, 31, 32] {
        assert_eq!(month("azure-premium-ssd", gib, None, None), "5.28");
    }
    assert_eq!(month("azure-premium-ssd", 33, None, None), "10.21");
    assert_eq!(month("azure-standard-ssd", 513, None, None), "76.80");
    assert_eq!(month("azure-standard-ssd", 1_024, None, None), "76.80");
    assert_eq!(month("azure-standard-ssd", 1_025, None, None), "153.60");
    // 100 x 0.081 + 1,000 x 0.0052 + 10 x 0.041.
    assert_eq!(month("azure-premium-ssd-v2", 100, Some(4_000), Some(135)), "13.71");
}

#[test]
fn volumes_of_google() {
    assert_eq!(month("gcp-pd-balanced", 100, None, None), "10.00");
    assert_eq!(month("gcp-pd-ssd", 100, None, None), "17.00");
    // 100 x 0.08 + 1,000 x 0.005 + 60 x 0.04.
    assert_eq!(month("gcp-hyperdisk-balanced", 100, Some(4_000), Some(200)), "15.40");
}

/// Kim 2009, section 4.5.4.2: 340 and 12.4 dollars with the drive (2.8 W x 43,800 h x 0.10 are 12.26), 450 and 114.7
/// dollars with the disk.
#[test]
fn the_devices_of_kim_cost_what_was_published() {
    let catalogue = Catalogue::builtin("kim-2009").unwrap();
    let cost = |name: &str, gigabytes: u64, busy| {
        let product = catalogue.product(name).unwrap();
        let cost = owned_cost(product, Bytes(gigabytes * 1_000_000_000), 1, busy, &catalogue.running);
        (cost.purchase.to_string(), cost.power.to_string())
    };
    assert_eq!(cost("high-end-hdd", 300, 0.3), ("450.00".into(), "114.7122".into()));
    assert_eq!(cost("ssd", 80, 1.0), ("340.00".into(), "12.264".into()));
    assert_eq!(cost("low-end-hdd", 1_000, 0.0), ("120.00".into(), "72.27".into()));
}

/// The first tier of io2 and the class E30 have a source, and the rest of them has none.
#[test]
fn a_cost_is_assumed_if_what_it_is_billed_by_is() {
    let assumed = |name: &str, gib: u64, operations| {
        let volume = CloudVolume { size: Bytes::gib(gib), operations_per_s: operations, bytes_per_s: None };
        cloud_cost(current().product(name).unwrap(), &volume, 1, 1.0).assumed
    };
    assert!(!assumed("aws-ebs-io2", 100, Some(32_000)) && assumed("aws-ebs-io2", 100, Some(32_001)));
    assert!(!assumed("azure-standard-ssd", 1_024, None) && assumed("azure-standard-ssd", 512, None));
    assert!(assumed("azure-standard-ssd", 1_025, None) && !assumed("azure-premium-ssd", 20, None));
    assert!(assumed("azure-premium-ssd-v2", 20, None) && !assumed("aws-ebs-gp3", 20, Some(9_000)));
}

#[test]
fn owned_devices() {
    let figure = |value| Figure { value, source: Some("a bill".to_string()) };
    let running = Running {
        years: 5.0,
        electricity_per_kwh: figure(Money(100_000)),
        power_usage_effectiveness: Figure { value: 1.5, source: Some("a bill".to_string()) },
    };
    let catalogue = current();
    let disk = catalogue.product("toshiba-mg10").unwrap();
    let cost = owned_cost(disk, Bytes(20_000_000_000_000), 3, 0.5, &running);
    // 3 x 20 x 22; 3 x (4.4 + 4.9 / 2) W x 43,800 h x 0.10 x 1.5.
    assert_eq!(cost.purchase, Money::units(1_320));
    assert_eq!(cost.power.to_string(), "135.01350".trim_end_matches('0'));
    assert_eq!(cost.total, cost.purchase + cost.power);
    assert_eq!(cost.per_month, Money((cost.total.0 as f64 / 60.0).round() as i64));
    assert_eq!((cost.currency.as_str(), cost.as_of.as_str(), cost.assumed), ("USD", "2026-03-31", false));
    let assumed = Running { electricity_per_kwh: Figure { value: Money(100_000), source: None }, ..running };
    assert!(owned_cost(disk, Bytes(20_000_000_000_000), 3, 0.5, &assumed).assumed);
    // Nothing of a device is rented, and nothing of a volume is bought.
    let volume = CloudVolume { size: Bytes::gib(1), operations_per_s: None, bytes_per_s: None };
    assert_eq!(cloud_cost(disk, &volume, 1, 1.0).total, Money::ZERO);
    let rented = catalogue.product("aws-ebs-gp3").unwrap();
    assert_eq!(owned_cost(rented, Bytes::gib(1), 1, 1.0, &assumed).total, Money::ZERO);
}

#[test]
fn prices_of_ones_own() {
    let change = |text: &str| text.parse::<PriceChange>().unwrap();
    let catalogue = current().with_price(&change("micron-7450-pro=0.08USD/GB")).unwrap();
    let drive = catalogue.product("micron-7450-pro").unwrap();
    assert_eq!(drive.purchase(Bytes(3_840_000_000_000)).to_string(), "307.20");
    assert!(!drive.is_assumed("price"));
    let catalogue = catalogue.with_price(&change("aws-ebs-gp3=0.07 USD/GiB-month")).unwrap();
    let volume = CloudVolume { size: Bytes::gib(100), operations_per_s: None, bytes_per_s: None };
    assert_eq!(cloud_cost(catalogue.product("aws-ebs-gp3").unwrap(), &volume, 2, 1.0).per_month, Money::units(14));
    let refused = |text: &str| current().with_price(&change(text)).unwrap_err().to_string();
    assert_eq!(refused("micron-7540-pro=1USD/GB"), "`micron-7540-pro` is no product; did you mean `micron-7450-pro`?");
    assert!(refused("micron-7450-pro=1EUR/GB").contains("in EUR, and the catalogue in USD"));
    assert!(refused("micron-7450-pro=1USD/GiB-month").contains("a device, which costs so much /GB"));
    assert!(refused("aws-ebs-gp3=1USD/TB").contains("a volume, which costs so much /GiB-month"));
    for text in ["", "a", "a=1", "a=1USD", "a=USD/GB", "a=1USD/MB", "a=-1USD/GB", "a=1Dollars/GB", "a=1e9USD/GB"] {
        assert!(text.parse::<PriceChange>().is_err(), "{text}");
    }
}

#[test]
fn currencies_and_discounts() {
    let half = current().with_discount(Ratio::percent(50));
    assert_eq!(half.product("toshiba-mg10").unwrap().purchase(Bytes(20_000_000_000_000)), Money::units(220));
    let euros = current().in_currency("EUR", 0.5);
    let cost = owned_cost(euros.product("toshiba-mg10").unwrap(), Bytes(20_000_000_000_000), 1, 0.0, &euros.running);
    assert_eq!((cost.purchase, cost.currency.as_str()), (Money::units(220), "EUR"));
    assert_eq!(euros.running.electricity_per_kwh.value, Money(62_450));
    // Two catalogues of two currencies are not one.
    let error = euros.extended(Catalogue::builtin("kim-2009").unwrap()).unwrap_err();
    assert!(error.to_string().contains("its prices are in USD, those of `current` in EUR"), "{error}");
}

#[test]
fn some_of_the_products() {
    let few = current().only(&["toshiba-mg10", "aws-ebs-gp3"]).unwrap();
    assert_eq!(few.names().collect::<Vec<_>>(), ["toshiba-mg10", "aws-ebs-gp3"]);
    let all = current().products.len();
    assert_eq!(current().without(&["toshiba-mg10"]).unwrap().products.len(), all - 1);
    assert!(current().only(&["toshiba"]).is_err() && current().without(&["toshiba"]).is_err());
    let other = Catalogue::builtin("kim-2009").unwrap();
    assert_eq!(current().extended(other.clone()).unwrap().products.len(), all + 3);
    assert_eq!(current().extended(other.clone()).unwrap().extended(other).unwrap().products.len(), all + 3);
}

/// A file that says what electricity costs is heard, and one that does not changes nothing.
#[test]
fn a_file_says_what_running_costs() {
    let disk = r#"
        [product.a]
        title = "A"
        year = 2024
        class = "nearline"
        interface = "SATA"
        preset = "nearline-7200-20t"
        capacities = ["20TB"]
        price = { per_TB = "20 USD", as_of = "2026-05-08" }
        source = "a list"
    "#;
    let file = |running: &str| Catalogue::read("mine.toml", &format!("{disk}{running}")).unwrap();
    let usual = current().running;
    let dear = file("[running]\nelectricity_per_kwh = \"0.40 USD\"\nsource = \"a bill\"\n");
    assert_eq!(current().extended(dear).unwrap().running.electricity_per_kwh.value, Money(400_000));
    assert_eq!(current().extended(file("")).unwrap().running, usual);
}

proptest! {
    /// io2 by the operation: each costs what the tier does in which it lies.
    #[test]
    fn tiers_cost_the_sum_of_their_operations(operations in 0u64..200_000) {
        let micros = |operation: u64| match operation { 0..32_000 => 65_000, 32_000..64_000 => 46_000, _ => 32_000 };
        let sum: i64 = (0..operations).map(micros).sum();
        let volume = CloudVolume { size: Bytes::gib(8), operations_per_s: Some(operations), bytes_per_s: None };
        let cost = cloud_cost(current().product("aws-ebs-io2").unwrap(), &volume, 1, 1.0);
        prop_assert_eq!(cost.per_month, Money::units(1) + Money(sum));
    }
}

/// 42.50 USD a drive and 363.58 a terabyte: eight small drives cost more than a large one of as much. A price of one's
/// own is all of it.
#[test]
fn a_device_costs_something_whatever_its_capacity() {
    let catalogue = Catalogue::builtin("current").unwrap();
    let change = "samsung-pm9a3=100USD/TB".parse().unwrap();
    let [drive, own] = [catalogue.clone(), catalogue.with_price(&change).unwrap()]
        .map(|catalogue| catalogue.product("samsung-pm9a3").unwrap().clone());
    let price = |gigabytes: u64| drive.purchase(Bytes(gigabytes * 1_000_000_000)).as_f64();
    assert!((price(960) - (42.5 + 0.96 * 363.58)).abs() < 0.01, "{}", price(960));
    assert!((8.0 * price(960) - price(7_680) - 7.0 * 42.5).abs() < 0.01);
    assert_eq!(own.purchase(Bytes(960_000_000_000)).as_f64(), 96.0);
}
