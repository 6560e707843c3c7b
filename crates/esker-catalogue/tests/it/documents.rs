//! The examples of docs/catalogue.md are catalogues.

use esker_catalogue::{Catalogue, Class, Market};
use esker_core::Bytes;

const PAGE: &str = include_str!("../../../../docs/catalogue.md");

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(begin.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_examples_are_read() {
    let catalogues: Vec<Catalogue> =
        blocks("toml").into_iter().map(|text| Catalogue::read("docs/catalogue.md", text).unwrap()).collect();
    assert_eq!(catalogues.len(), 2);
    let drive = catalogues[0].product("acme-drive").unwrap();
    assert_eq!(drive.purchase(Bytes(960_000_000_000)).to_string(), "115.20");
    let [table] = blocks("csv")[..] else { panic!("one table") };
    let catalogue = Catalogue::read_csv("docs/catalogue.md", table).unwrap();
    assert_eq!(catalogue.products[0].capacities.len(), 2);
}

#[test]
fn every_class_and_market_is_named() {
    let names = Class::ALL.iter().map(|class| class.name()).chain(Market::ALL.iter().map(|market| market.name()));
    for name in names {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}
