//! Catalogues as tables.

use esker_catalogue::Catalogue;
use esker_core::{Bytes, Hint};

const GOOD: &str = "\
name,title,year,class,interface,preset,capacity,dies,endurance,warranty,active_power,idle_power,price,as_of,\
source,assumed
# A drive of two capacities.
drive,\"Maker, model\",2024,tlc-read-intensive,NVMe,tlc-data-centre-4t,960GB,16,1 DWPD,5y,17W,5W,\
150 USD,2026-05-08,a list,power
drive,\"Maker, model\",2024,tlc-read-intensive,NVMe,tlc-data-centre-4t,1.92TB,32,1 DWPD,5y,17W,5W,\
280 USD,2026-05-08,a list,power

disk,Disk,2023,nearline,SATA,nearline-7200-20t,20TB,,,,9.3W,4.4W,440 USD,2026-05-08,a list,
";

#[test]
fn a_row_is_a_capacity() {
    let catalogue = Catalogue::read_file("good.CSV", GOOD).unwrap();
    assert_eq!(catalogue.names().collect::<Vec<_>>(), ["drive", "disk"]);
    let drive = catalogue.product("drive").unwrap();
    assert_eq!(drive.title, "Maker, model");
    assert_eq!(drive.capacities.iter().map(|c| c.dies).collect::<Vec<_>>(), [Some(16), Some(32)]);
    assert_eq!(drive.purchase(Bytes(1_920_000_000_000)).to_string(), "280.00");
    assert_eq!(drive.drive_writes_per_day_sold(Bytes(960_000_000_000)), Some(1.0));
    assert!(drive.is_assumed("power") && !drive.is_assumed("price"));
    let disk = catalogue.product("disk").unwrap();
    assert!(disk.endurance.is_none() && disk.power.as_ref().unwrap().source.is_some());
}

#[track_caller]
fn refused(from: &str, to: &str, place: &str, words: &str) {
    assert!(GOOD.contains(from), "{from}");
    let error = Catalogue::read_csv("bad.csv", &GOOD.replacen(from, to, 1)).expect_err("it is refused");
    let said = format!("{error}; {}", error.hint().unwrap_or_default());
    assert!(said.starts_with(place), "not at {place}: {said}");
    assert!(said.contains(words), "{words} is not in: {said}");
}

#[test]
fn mistakes_have_the_place_of_their_cell() {
    refused(
        "year,class",
        "yeer,class",
        "bad.csv:1:12: yeer: ",
        "`yeer` is no column of a catalogue; did you mean `year`?",
    );
    refused("interface,preset", "interface,class", "bad.csv:1:", "this column is there twice");
    refused(",as_of,", ",price_source,", "bad.csv:1:1: ", "the column `as_of` is missing");
    refused("960GB,16", "960Gb,16", "bad.csv:3:70: capacity: ", "unknown unit `Gb`");
    refused("960GB,16", ",16", "bad.csv:3:70: capacity: ", "this has no value");
    refused("150 USD", "-150 USD", "bad.csv:3:", "`-150 USD` is negative");
    refused("280 USD", "280 EUR", "bad.csv:3:", "in EUR, and the catalogue in USD");
    refused("1.92TB", "960GB", "bad.csv:4:70: capacity: ", "`drive` of 960GB is there twice");
    refused("2026-05-08,a list,power\ndrive", "2026-05,a list,power\ndrive", "bad.csv:4:", "this is `2026-05`");
    refused("440 USD,2026-05-08", "440 USD,2026-05-32", "bad.csv:6:", "is no day of the calendar");
    refused("a list,\n", ",\n", "bad.csv:6:", "this has no source, and is not marked as assumed");
    refused("a list,\n", "a list,powr\n", "bad.csv:6:", "did you mean `power`?");
    refused("9.3W,4.4W", "9.3W,", "bad.csv:6:", "idle_power: this has no value, and `active_power` has");
    refused("Disk,2023", "Disk", "bad.csv:", "this row has 15 cells, and the head 16");
    refused("2023,nearline,", "2023,nearlin,", "bad.csv:6:16: class: ", "did you mean `nearline`?");
}

#[test]
fn no_table_at_all() {
    for text in ["", "\n\n", "# only\n", "name\n", "\"", "\u{feff}"] {
        assert!(Catalogue::read_csv("bad.csv", text).is_err(), "{text:?}");
    }
    let head = GOOD.lines().next().unwrap();
    let error = Catalogue::read_csv("bad.csv", head).unwrap_err();
    assert_eq!(error.to_string(), "bad.csv: it has no product");
}
