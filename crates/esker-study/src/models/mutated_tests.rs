//! Catalogues with random faults in the settings of their devices are read or refused, and never end the program.

use esker_core::Bytes;
use proptest::prelude::*;

use super::{WholeDrive, disk_settings, read_catalogue};

const TEXTS: [(&str, &str); 3] = [
    ("a.toml", include_str!("../../../esker-catalogue/catalogues/kim-2009.toml")),
    ("a.toml", include_str!("../../../esker-catalogue/catalogues/current-cloud.toml")),
    (
        "a.csv",
        "name,title,year,class,interface,preset,capacity,dies,endurance,price,as_of,source,assumed,warranty\n\
         a,A,2024,qlc,NVMe,qlc-data-centre-2t,7.68TB,64,1 DWPD,9 USD,2026-01-01,b,die,5y\n",
    ),
];

/// What replaces a part of the text.
const SPLINTERS: [&str; 14] =
    ["", "0", "-1", "18446744073709551615", "1e400", "\"", "[", "]", "=", "\n", "GiB", "{ }", "true", "\u{3bc}"];

proptest! {
    #[test]
    fn a_fault_is_no_panic(
        which in 0..TEXTS.len(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0..SPLINTERS.len()), 1..4),
    ) {
        let (name, text) = TEXTS[which];
        let mut text: Vec<char> = text.chars().collect();
        for (at, length, splinter) in faults {
            let at = at.index(text.len().max(1)).min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, SPLINTERS[splinter].chars());
        }
        let text: String = text.into_iter().collect();
        match read_catalogue(name, &text) {
            Ok(catalogue) => {
                for product in &catalogue.products {
                    let sizes = product.capacities.iter().map(|on_sale| on_sale.bytes);
                    for capacity in sizes.chain([Bytes(0), Bytes(1), Bytes(u64::MAX)]) {
                        let _ = (WholeDrive::of(product, capacity), disk_settings(product, capacity));
                    }
                }
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
        }
    }
}
