//! Catalogues with random faults are read or refused, and never end the program.

use esker_catalogue::{BUILTIN, Catalogue, CloudVolume, Running, cloud_cost, owned_cost};
use esker_core::Bytes;
use proptest::prelude::*;

const TEXTS: [&str; 3] = [
    include_str!("../../catalogues/kim-2009.toml"),
    include_str!("../../catalogues/current-cloud.toml"),
    "name,title,year,class,interface,preset,capacity,dies,endurance,price,as_of,source,assumed,warranty\n\
     a,A,2024,qlc,NVMe,qlc-data-centre-2t,7.68TB,64,1 DWPD,9 USD,2026-01-01,b,die,5y\n",
];

/// What replaces a part of the text.
const SPLINTERS: [&str; 14] =
    ["", "0", "-1", "18446744073709551615", "1e400", "\"", "[", "]", "=", "\n", "GiB", "{ }", "true", "\u{3bc}"];

/// Asks a catalogue everything.
fn use_up(catalogue: &Catalogue) {
    for product in &catalogue.products {
        for capacity in product.capacities.iter().map(|c| c.bytes).chain([Bytes(0), Bytes(1), Bytes(u64::MAX)]) {
            let _ = (product.endurance_bytes(capacity), product.drive_writes_per_day_sold(capacity));
            let _ = product.assumptions();
            let _ = owned_cost(product, capacity, u32::MAX, 2.0, &Running::usual(100.0));
            let volume = CloudVolume { size: capacity, operations_per_s: Some(u64::MAX), bytes_per_s: Some(u64::MAX) };
            let _ = cloud_cost(product, &volume, u32::MAX, 100.0);
        }
    }
}

#[test]
fn catalogues_without_faults_bear_any_question() {
    BUILTIN.iter().for_each(|entry| use_up(&Catalogue::builtin(entry.name).unwrap()));
}

proptest! {
    #[test]
    fn a_fault_is_no_panic(
        which in 0..TEXTS.len(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0..SPLINTERS.len()), 1..4),
    ) {
        let mut text: Vec<char> = TEXTS[which].chars().collect();
        for (at, length, splinter) in faults {
            let at = at.index(text.len().max(1)).min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, SPLINTERS[splinter].chars());
        }
        let text: String = text.into_iter().collect();
        for read in [Catalogue::read("a.toml", &text), Catalogue::read_csv("a.csv", &text)] {
            match read {
                Ok(catalogue) => use_up(&catalogue),
                Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
            }
        }
    }
}
