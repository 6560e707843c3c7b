//! Mistakes in catalogues: each gives one error, with its place, its key and what would do.

use esker_catalogue::Catalogue;
use esker_core::Hint;

const GOOD: &str = r#"currency = "USD"

[source]
sheet = "data sheet, p. 3"

[price_class.consumer]
per_TB = "100 USD"
as_of = "2026-02-28"
source = "a list"

[product.drive]
title = "A drive"
year = 2024
class = "tlc-read-intensive"
interface = "NVMe"
preset = "tlc-data-centre-4t"
device = { link = { rate = "6GB/s" } }
capacities = ["960GB", "1.92TB"]
endurance = { rating = "1 DWPD", source = "[sheet]" }
warranty = "5y"
power = { active = "17W", idle = "5W", assumed = true }
annual_failure_rate = "0.44%"
price = { per_GB = "0.12 USD", as_of = "2026-05-08", source = "a list" }
source = "[sheet], and more"

[product.volume]
title = "A volume"
year = 2024
market = "aws"
class = "cloud-volume"
interface = "network"
kind = "cloud-volume"
preset = "aws-ebs-gp3"
size = { min = "1GiB", max = "16TiB" }
price = { per_GiB_month = "0.08 USD", as_of = "2026-05-08" }
source = "a list"
"#;

#[test]
fn the_catalogue_without_mistakes_is_read() {
    let catalogue = Catalogue::read("good.toml", GOOD).unwrap();
    let drive = catalogue.product("drive").unwrap();
    assert_eq!(drive.source.as_deref(), Some("data sheet, p. 3, and more"));
    assert_eq!(drive.endurance.as_ref().unwrap().source.as_deref(), Some("data sheet, p. 3"));
    assert_eq!(drive.own_settings, ["link"]);
    assert_eq!((drive.kind.as_str(), catalogue.product("volume").unwrap().kind.as_str()), ("ssd", "cloud-volume"));
    assert!(drive.is_assumed("power") && drive.is_assumed("die") && !drive.is_assumed("price"));
}

/// Reads the catalogue with `from` replaced by `to`. The error has the place of the line that contains `at`, and these
/// words; its hint has these.
#[track_caller]
fn refused(from: &str, to: &str, at: &str, words: &str, hint: &str) {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    let text = GOOD.replace(from, to);
    let error = Catalogue::read("bad.toml", &text).expect_err("it is refused");
    let line = text.lines().position(|line| line.contains(at)).expect("the line is there") + 1;
    let said = error.to_string();
    assert!(said.starts_with(&format!("bad.toml:{line}:")), "not in line {line}: {said}");
    assert!(said.contains(words), "{words} is not in: {said}");
    let hinted = error.hint().unwrap_or_default();
    assert!(hinted.contains(hint), "{hint} is not in the hint: {hinted}");
}

#[test]
fn wrong_units() {
    refused("\"960GB\", ", "\"960Gb\", ", "960Gb", "unknown unit `Gb`", "");
    refused("\"17W\"", "\"17Watt\"", "17Watt", "product.drive.power.active: `17Watt` has the unknown unit", "");
    refused("\"1 DWPD\"", "\"1 DPWD\"", "DPWD", "product.drive.endurance.rating: `1 DPWD` is no endurance", "");
    refused("\"1 DWPD\"", "\"1000TBW\"", "TBW", "bytes written are the rating of one capacity", "give one for each");
    refused("\"0.12 USD\"", "\"0.12\"", "0.12", "product.drive.price.per_GB: `0.12` is no price", "");
    refused("\"5y\"", "5", "warranty = 5", "product.drive.warranty", "");
}

#[test]
fn prices() {
    refused("\"0.12 USD\"", "\"-0.12 USD\"", "-0.12", "`-0.12 USD` is negative; a price is zero or more", "");
    refused("\"0.12 USD\"", "\"0.12 EUR\"", "0.12", "in EUR, and the catalogue in USD", "one currency");
    let two = "per_GB = \"0.12 USD\", per_TB = \"120 USD\"";
    refused("per_GB = \"0.12 USD\"", two, "per_TB = \"120", "more than one price", "give one of");
    refused("per_GB = \"0.12 USD\", ", "", "price = { as_of", "this has no price", "`per_GB`, `per_TB` and `each`");
    let monthly = "per_GiB_month = \"0.12 USD\"";
    refused("per_GB = \"0.12 USD\"", monthly, "0.12", "a device is bought, not rented by the month", "per_GB");
    refused("per_GiB_month", "per_GB", "0.08", "a volume is rented by the month", "per_GiB_month");
    let line = "price = { per_GB = \"0.12 USD\", as_of = \"2026-05-08\", source = \"a list\" }\n";
    refused(line, "", "[product.drive]", "product.drive: `price` is missing", "[price_class.tlc-read-intensive]");
    refused("\"100 USD\"", "\"100 USD/TB\"", "100 USD", "price_class.consumer.per_TB: `100 USD/TB` is no price", "");
    let unit = "per_unit = \"40 USD\", each = { \"960GB\" = \"120 USD\" }";
    refused("per_GB = \"0.12 USD\"", unit, "per_unit", "this price is not by the byte", "added to `per_GB`");
    refused("[price_class.consumer]", "[price_class.consumers]", "consumers", "`consumers`", "consumer");
}

#[test]
fn capacities() {
    refused(
        "capacities = [\"960GB\", \"1.92TB\"]\n",
        "",
        "[product.drive]",
        "`capacities` is missing",
        "what is on sale",
    );
    refused("[\"960GB\", \"1.92TB\"]", "[]", "capacities = []", "expected at least one capacity", "");
    refused("\"1.92TB\"", "\"960GB\"", "capacities", "960GB is there twice", "");
    refused("size = { min = \"1GiB\", max = \"16TiB\" }\n", "", "[product.volume]", "`size` is missing", "bounds");
    refused("max = \"16TiB\"", "max = \"1MiB\"", "1MiB", "`max` of at least `min`", "");
    let few = "warranty = \"5y\"\ndies = { \"960GB\" = 8 }\ndie = \"64GiB\"";
    refused("warranty = \"5y\"", few, "dies = ", "8 dies of 64GiB do not hold 960GB", "");
    let stranger = "warranty = \"5y\"\ndies = { \"2TB\" = 8 }";
    refused("warranty = \"5y\"", stranger, "dies = ", "2TB is none of the capacities", "");
}

#[test]
fn the_same_name_twice() {
    let text = format!("{GOOD}\n[product.drive]\ntitle = \"Another\"\n");
    let error = Catalogue::read("bad.toml", &text).unwrap_err().to_string();
    assert!(error.starts_with("bad.toml:38:10: ") && error.contains("duplicate key"), "{error}");
}

#[test]
fn names_that_there_are_not() {
    refused("endurance = {", "enduranse = {", "enduranse", "unknown key; did you mean `endurance`?", "capacities");
    refused("\"tlc-read-intensive\"", "\"tlc\"", "\"tlc\"", "`tlc` is not one of the choices", "tlc-read-intensive");
    refused("\"aws\"", "\"amazon\"", "amazon", "`amazon` is not one of the choices", "aws");
    refused("kind = \"cloud-volume\"", "kind = \"cloud\"", "\"cloud\"", "`cloud` is no kind of device", "cloud-volume");
    refused("\"[sheet]\"", "\"[sheat]\"", "sheat", "`sheat` is no key of [source]; did you mean `sheet`?", "sheet");
    refused("[product.drive]", "[product.Drive]", "Drive", "small letters, digits and `-`", "micron-7450-pro");
}

#[test]
fn no_source_and_not_assumed() {
    let no_source = "[product.volume]\ntitle = \"A volume\"";
    let text = GOOD.replace("source = \"[sheet], and more\"\n", "");
    let error = Catalogue::read("bad.toml", &text).unwrap_err();
    assert!(text.contains(no_source));
    assert!(error.to_string().contains("this has no source, and is not marked as assumed"), "{error}");
    assert!(error.hint().unwrap().contains("`assumed = true`"));
    let both = "assumed = true, source = \"a list\"";
    refused("assumed = true", both, "17W", "it has a `source` and is `assumed`", "leave one out");
    refused(
        "as_of = \"2026-02-28\"\nsource = \"a list\"",
        "as_of = \"2026-02-28\"",
        "price_class",
        "no source",
        "source",
    );
}

#[test]
fn figures_that_make_no_sense() {
    refused("year = 2024\nclass = \"tlc", "year = 24\nclass = \"tlc", "year = 24", "24 is no year of a product", "");
    refused("idle = \"5W\"", "idle = \"50W\"", "50W", "it idles at 50W, and works at only 17W", "");
    refused("\"0.44%\"", "\"440%\"", "440%", "at most 100%", "");
    refused("warranty = \"5y\"\n", "", "[product.drive]", "`warranty` is missing", "over the warranty");
    refused("currency = \"USD\"", "currency = \"dollar\"", "dollar", "`dollar` is no currency", "");
}

#[test]
fn dates() {
    for date in ["2026-02-29", "2026-13-01", "2026-00-10", "08.05.2026", "2026-5-8", "May 2026", "", "9999-01-01"] {
        let text = GOOD.replacen("2026-02-28", date, 1);
        let error = Catalogue::read("bad.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with("bad.toml:8:"), "{error}");
        assert!(error.contains("is no date") || error.contains("is no day of the calendar"), "{error}");
    }
    let leap = GOOD.replacen("2026-02-28", "2024-02-29", 1);
    assert!(Catalogue::read("good.toml", &leap).is_ok());
}

#[test]
fn no_catalogue_at_all() {
    let refused = |text: &str| Catalogue::read("bad.toml", text).unwrap_err();
    assert!(refused("").to_string().contains("it has no product"));
    assert!(refused("product = 1").to_string().contains("bad.toml:1:"));
    assert!(refused("= =").to_string().starts_with("bad.toml:1:3: this is not TOML"));
    assert!(refused("[workload]\n").to_string().contains("this is an experiment, not a catalogue"));
    assert!(refused("[shelf]\n").to_string().contains("unknown key"));
}

#[test]
fn limits_are_shared_by_volumes_alone_and_by_somebodys_word() {
    let size = r#"size = { min = "1GiB", max = "16TiB" }"#;
    let with = |said: &str| GOOD.replace(size, &format!("{size}\nshared_limits = \"{said}\""));
    let volume = Catalogue::read("good.toml", &with("[sheet]")).unwrap().product("volume").unwrap().clone();
    assert_eq!(volume.shared_limits.as_deref(), Some("data sheet, p. 3"));
    let fault = |text: &str| Catalogue::read("bad.toml", text).unwrap_err().to_string();
    assert!(fault(&with(" ")).contains("product.volume.shared_limits: this is empty"), "{}", fault(&with(" ")));
    let warranty = r#"warranty = "5y""#;
    let of_drive = fault(&GOOD.replace(warranty, &format!("{warranty}\nshared_limits = \"[sheet]\"")));
    assert!(of_drive.contains("product.drive.shared_limits: only cloud volumes have it"), "{of_drive}");
}
