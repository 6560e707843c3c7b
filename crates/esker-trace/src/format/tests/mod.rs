//! What every format has to satisfy: those of the registry, and the worked example, which these tests add to it.

#[path = "../../../tests/common/mod.rs"]
mod common;
mod losses;
#[path = "../../../tests/common/mutate.rs"]
mod mutate;
mod mutated;
mod roundtrip;

use esker_core::registry;

use super::*;

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(FORMATS), Vec::<String>::new());
    assert!(FORMATS.iter().any(|format| format.name == worked_example::ENTRY.name));
    for format in FORMATS {
        let (name, Format { endings, layout, remarks, write, .. }) = (format.name, format.build);
        assert_eq!(endings[0], name, "a format's own name is an ending of its files");
        assert!(!layout.is_empty() && !remarks.is_empty(), "{name}");
        assert_eq!(write.is_some(), format.can(FormatCapability::Write), "{name}");
        assert_eq!(format_to_write(name).is_ok(), format.can(FormatCapability::Write), "{name}");
    }
}

#[test]
fn endings_decide_where_the_content_says_too_little() {
    let nothing = Sample { bytes: &[0; 48], whole: false };
    for format in FORMATS {
        for ending in format.build.endings {
            let found = recognise(&format!("trace.{ending}.zst"), &nothing).ok().map(|found| found.name);
            assert_eq!(found == Some(format.name), format.can(FormatCapability::KnownByEnding), "{}", format.name);
        }
    }
}

#[test]
fn a_name_that_is_no_format_gets_the_nearest_one() {
    let error = entry("blktrac").unwrap_err();
    assert_eq!(error.to_string(), "`blktrac` is no trace format; did you mean `blktrace`?");
    assert_eq!(entry("MSR").unwrap().name, "msr");
}
