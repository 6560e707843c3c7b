//! Builds every kind and every preset of the registry.

use esker_core::registry::ParameterSource;
use esker_sim::{DEVICE_KINDS, DeviceKind, Experiment};

#[test]
fn names_are_unique_and_presets_belong_to_their_kind() {
    let mut names: Vec<&str> = Vec::new();
    for kind in DEVICE_KINDS {
        for preset in (kind.build.presets)() {
            assert_eq!(preset.kind, kind.name);
            assert!(!names.contains(&preset.name), "{}", preset.name);
            names.push(preset.name);
        }
    }
}

fn schema_of(kind: &DeviceKind) -> serde_json::Value {
    let ParameterSource::Schema(schema) = kind.parameters else { panic!("{} is read from a table", kind.name) };
    schema().to_value()
}

/// A preset alone makes a device; written out in full it makes the same device; and the kind's schema has every key of
/// it.
#[test]
fn a_preset_spelt_out_is_the_same_device() {
    for kind in DEVICE_KINDS {
        let validator = jsonschema::validator_for(&schema_of(kind)).unwrap();
        for preset in (kind.build.presets)() {
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
