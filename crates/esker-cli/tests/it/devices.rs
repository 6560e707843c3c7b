//! `esker devices`: products of catalogues, beside the presets.

use serde_json::Value;

use crate::support::{esker_ok, esker_refuses};

const SHOP: &str = r#"
[product.acme-disk]
title = "Acme Disk"
year = 2024
class = "nearline"
interface = "SATA"
preset = "nearline-7200-20t"
capacities = ["20TB"]
price = { per_TB = "20 USD", as_of = "2026-05-08" }
source = "a list"

[product.toshiba-mg10]
title = "A cheap one"
year = 2022
class = "nearline"
interface = "SATA"
preset = "nearline-7200-20t"
capacities = ["20TB"]
price = { per_TB = "10 USD", as_of = "2026-05-08" }
source = "a list"
"#;

fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.toml"), SHOP).unwrap();
    folder
}

/// What `esker devices` prints with these arguments.
fn devices(folder: &tempfile::TempDir, arguments: &str) -> String {
    let words: Vec<&str> = ["devices"].into_iter().chain(arguments.split_whitespace()).collect();
    esker_ok(folder.path(), &words).stdout
}

fn refused(folder: &tempfile::TempDir, arguments: &str, words: &str) {
    let all: Vec<&str> = ["devices"].into_iter().chain(arguments.split_whitespace()).collect();
    let stderr = esker_refuses(folder.path(), &all);
    assert!(stderr.contains(words), "{arguments}: {words} is not in: {stderr}");
}

#[test]
fn products_are_listed_before_presets() {
    let folder = shop();
    let list = devices(&folder, "");
    let (products, presets) = list.split_once("\nPresets, which model devices:\n").unwrap();
    assert!(products.lines().count() >= 24 + 5, "{products}");
    for line in products.lines() {
        assert!(line.chars().count() <= 120, "wider than a terminal: {line}");
    }
    let line = products.lines().find(|line| line.starts_with("micron-7450-max ")).unwrap();
    for cell in ["Micron 7450 MAX", "on-premises", "800GB to 12.8TB", "42.50+436.30/TB *"] {
        assert!(line.contains(cell), "{cell} is not in: {line}");
    }
    assert!(presets.contains("\ntlc-data-centre ") && !presets.contains("micron"));
}

#[test]
fn a_product_is_shown_with_the_source_of_every_figure() {
    let folder = shop();
    let shown = devices(&folder, "micron-7450-pro");
    for line in [
        "micron-7450-pro: Micron 7450 PRO (2022)\n",
        "\nmodel: the preset tlc-data-centre-4t (kind ssd)\n",
        "\ncapacities: 960GB, 1.92TB, 3.84TB, 7.68TB, 15.36TB\n    source: computerbase.de, 2023-10",
        "\npower: active 17 W, idle 5 W\n    assumed, see below\n",
        "\nprice: 42.50 USD each and 363.58 USD per TB as of 2026-03-31, that of its class\n    source: vdura.com",
        "\n  `power` of micron-7450-pro is assumed: no source found\n",
    ] {
        assert!(shown.contains(line), "{line} is not in:\n{shown}");
    }
    let json: Value = serde_json::from_str(&devices(&folder, "micron-7450-pro --json")).unwrap();
    assert_eq!(json["capacities"][0]["dies"], 16);
    assert!(devices(&folder, "azure-premium-ssd").contains("P4 (32GiB) 5.28 USD, P6 (64GiB)"));
}

#[test]
fn catalogues_are_added_replaced_and_chosen_from() {
    let folder = shop();
    let list = devices(&folder, "--catalogue shop.toml");
    assert!(list.contains("A cheap one") && list.contains("Acme Disk") && !list.contains("Toshiba MG10"));
    let list = devices(&folder, "--catalogue kim-2009");
    assert!(list.contains("high-end-hdd") && !list.contains("micron"));
    let list = devices(&folder, "--catalogue kim-2009 --catalogue shop.toml --without ssd,low-end-hdd");
    assert!(list.contains("high-end-hdd") && list.contains("acme-disk") && !list.contains("low-end-hdd"));
    let list = devices(&folder, "--only toshiba-mg10,aws-ebs-gp3 --currency EUR=0.5 --discount 50%");
    assert!(list.contains("in EUR") && list.contains(" 10.00+5.00/TB") && list.contains("0.02/GiB-month"), "{list}");
    let list = devices(&folder, "--only toshiba-mg10 --price toshiba-mg10=0.03USD/GB --discount 50%");
    assert!(list.contains(" 30.00/TB"), "{list}");
}

#[test]
fn json_has_products_and_presets() {
    let folder = shop();
    let list: Vec<Value> = serde_json::from_str(&devices(&folder, "--catalogue shop.toml --json")).unwrap();
    let named = |name: &str| list.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(named("acme-disk")["product"]["price"]["value"]["rate"]["per-terabyte"], 20_000_000);
    assert_eq!(named("nearline-7200-20t")["kind"], "hdd");
    assert!(named("nearline-7200-20t").get("product").is_none());
    assert!(list.iter().all(|item| item["summary"].is_string()));
}

#[test]
fn catalogues_are_checked() {
    let folder = shop();
    assert_eq!(devices(&folder, "check shop.toml"), "shop.toml: 2 products, all valid\n");
    std::fs::write(folder.path().join("bad.toml"), SHOP.replace("20TB", "20Tb")).unwrap();
    refused(&folder, "check bad.toml", "error: bad.toml:8:15: product.acme-disk.capacities[0]: `20Tb` has the unknown");
    std::fs::write(folder.path().join("bad.csv"), "name\n").unwrap();
    refused(&folder, "check bad.csv", "error: bad.csv:1:1: the column `title` is missing");
    refused(&folder, "check none.toml", "none.toml: cannot be read");
}

#[test]
fn mistakes() {
    let folder = shop();
    refused(&folder, "--only toshiba-mg1", "`toshiba-mg1` is no product; did you mean `toshiba-mg10`?");
    refused(&folder, "--without nothing-of-the-kind", "is no product");
    refused(&folder, "--price toshiba-mg10=20", "write NAME=PRICE, such as");
    refused(&folder, "--price toshiba-mg10=20EUR/TB", "is in EUR, and the catalogue in USD");
    refused(&folder, "--currency EUR", "write EUR=0.92");
    refused(&folder, "--currency EUR=0", "write EUR=0.92");
    refused(&folder, "--discount 120%", "at most 100 %");
    refused(&folder, "--catalogue curent", "name a file, or a catalogue that comes with esker: current, kim-2009");
    refused(&folder, "--only aws-ebs-gp3 micron-5400-pro", "--only leaves out the product micron-5400-pro");
    refused(&folder, "--only aws-ebs-gp3 micron-5400-pro-960GB", "--only leaves out the product micron-5400-pro");
    refused(&folder, "--without micron-5400-pro micron-5400-pro", "take it out of --without");
    refused(&folder, "micron-7450", "these contain it: micron-7450-pro, micron-7450-max");
    std::fs::write(folder.path().join("euro.toml"), format!("currency = \"EUR\"\n{}", SHOP.replace("USD", "EUR")))
        .unwrap();
    refused(&folder, "--catalogue euro.toml", "its prices are in EUR, those of `current` in USD");
    assert!(devices(&folder, "--catalogue euro.toml --currency EUR=0.9").contains("in EUR"));
    refused(&folder, "--catalogue shop.toml --json=shop.toml", "would replace the input shop.toml");
}
