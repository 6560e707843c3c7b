//! Every kind and every preset of the registry.

use esker_sim::{DEVICE_KINDS, Experiment};

#[test]
fn names_are_unique_and_presets_belong_to_their_kind() {
    let mut names: Vec<&str> = Vec::new();
    for kind in DEVICE_KINDS {
        assert_eq!(DEVICE_KINDS.iter().filter(|other| other.name == kind.name).count(), 1);
        for preset in (kind.presets)() {
            assert_eq!(preset.kind, kind.name);
            assert!(!names.contains(&preset.name), "{}", preset.name);
            names.push(preset.name);
        }
    }
}

/// A preset alone makes a device; spelt out, it is the same one; and the kind's schema knows every key of it.
#[test]
fn a_preset_spelt_out_is_the_same_device() {
    for kind in DEVICE_KINDS {
        let validator = jsonschema::validator_for(&(kind.schema)().to_value()).unwrap();
        for preset in (kind.presets)() {
            let text = format!(
                "[workload]\nsynthetic = {{ requests = 1 }}\n[device.d]\npreset = \"{}\"\n[run]\ntarget = \"d\"\n",
                preset.name
            );
            let first = Experiment::from_str(&text, preset.name).unwrap_or_else(|error| panic!("{error}")).resolved();
            let again = Experiment::from_resolved(&first, preset.name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again.resolved(), first, "{}", preset.name);
            let mut settings = first["device"]["d"].clone();
            settings.as_object_mut().unwrap().remove("kind");
            let problems: Vec<String> = validator.iter_errors(&settings).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {problems:#?}", preset.name);
        }
    }
}
