//! Numbers of things to choose among, in documents written by hand. `ESKER_UPDATE_DOCS=1` corrects them.

use std::path::Path;

use esker_cache::{ADMISSIONS, NO_ADMISSION, REPLACEMENTS, ReplacementCapability};
use esker_catalogue::Catalogue;
use esker_disk::SCHEDULERS;
use esker_flash::{FTLS, VICTIM_POLICIES};
use esker_sim::HYBRID_POLICIES;
use esker_trace::FORMATS;

/// A number in a document: the document, the number, and the words that follow it there and nowhere else in it.
type Count = (&'static str, usize, &'static str);

fn counts() -> Vec<Count> {
    let products = Catalogue::builtin("current").unwrap().products;
    let clouds = products.iter().filter(|product| product.kind == "cloud-volume").count();
    let devices = products.len() - clouds;
    let of_devices = REPLACEMENTS.iter().filter(|entry| !entry.can(ReplacementCapability::Future)).count();
    let admissions = ADMISSIONS.iter().filter(|entry| entry.name != NO_ADMISSION).count();
    vec![
        ("README.md", FORMATS.len(), "formats"),
        ("README.md", FTLS.len(), "translation layers"),
        ("README.md", VICTIM_POLICIES.len(), "victim policies"),
        ("README.md", SCHEDULERS.len(), "schedulers"),
        ("README.md", HYBRID_POLICIES.len(), "policies places"),
        ("README.md", of_devices, "replacement and"),
        ("README.md", admissions, "admission policies"),
        ("README.md", clouds, "types: limits"),
        ("README.md", devices, "drives and disks"),
        ("README.md", clouds, "kinds of cloud"),
        ("docs/catalogue.md", devices, "drives and disks"),
        ("docs/catalogue.md", clouds, "kinds of"),
    ]
}

/// A number as documents write it: in words up to ten.
fn written(number: usize) -> String {
    const WORDS: [&str; 11] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    WORDS.get(number).map_or_else(|| number.to_string(), ToString::to_string)
}

/// Returns the text with `number` before `following`.
fn corrected(text: &str, number: usize, following: &str) -> String {
    let after = format!(" {following}");
    let [before, rest] = text.split(&after).collect::<Vec<_>>()[..] else {
        panic!("`{following}` is not exactly once in the document");
    };
    let begin = before.rfind(|c: char| c.is_whitespace() || c == '(').map_or(0, |at| at + 1);
    format!("{}{}{after}{rest}", &before[..begin], written(number))
}

#[test]
fn the_counts_of_documents_are_current() {
    for (document, number, following) in counts() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let text = std::fs::read_to_string(&path).unwrap();
        let current = corrected(&text, number, following);
        if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &current).unwrap();
        } else {
            assert!(text == current, "{document}: there are {} {following}; run `make docs`", written(number));
        }
    }
}

#[test]
fn a_wrong_count_is_corrected() {
    let text = "With five layers (seven victim\npolicies), 30 drives.";
    assert_eq!(corrected(text, 6, "layers"), "With six layers (seven victim\npolicies), 30 drives.");
    assert_eq!(corrected(text, 13, "victim"), "With five layers (13 victim\npolicies), 30 drives.");
    assert_eq!(corrected(text, 31, "drives"), "With five layers (seven victim\npolicies), 31 drives.");
}
