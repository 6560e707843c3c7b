//! The catalogues that come with the program.

use esker_core::Bytes;
use esker_core::registry;
use esker_plan::{BUILTIN, Catalogue};

#[test]
fn every_built_in_catalogue_is_valid() {
    assert_eq!(registry::check(BUILTIN), Vec::<String>::new());
    for entry in BUILTIN {
        let catalogue = Catalogue::builtin(entry.name).unwrap();
        assert_eq!(catalogue.name, entry.name);
        assert!(catalogue.products.len() >= 3, "{}", entry.name);
    }
    let error = Catalogue::builtin("curent").unwrap_err();
    assert_eq!(error.to_string(), "`curent` is no catalogue; did you mean `current`?");
}

#[test]
fn a_disk_of_another_capacity_holds_it() {
    let catalogue = Catalogue::builtin("kim-2009").unwrap();
    let disk = catalogue.product("low-end-hdd").unwrap();
    let settings = disk.disk_settings(Bytes(1_000_000_000_000)).unwrap();
    assert_eq!(settings.surfaces, 1);
}
