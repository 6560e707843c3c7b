//! What was simulated is what is created: options of volumes are keys of experiments, with the same defaults.

use esker_sim::{ArraySettings, CacheSettings, ClusterSettings, DEVICE_KINDS, HybridSettings};
use esker_volume::{VOLUME_KINDS, VolumeSettings};
use serde_json::{Value, json};

/// What creating a volume writes down by itself.
const WRITTEN_DOWN: [&str; 1] = ["founders"];

/// A device of this kind in an experiment, with defaults.
fn in_an_experiment(kind: &str) -> Value {
    let settings = match kind {
        "hybrid" => {
            let smallest = json!({ "children": ["a"], "policy": { "kind": "wardrop" } });
            serde_json::to_value(serde_json::from_value::<HybridSettings>(smallest).unwrap())
        }
        "cache" => serde_json::to_value(CacheSettings::new("a", "b")),
        "cluster" => serde_json::to_value(serde_json::from_value::<ClusterSettings>(json!({})).unwrap()),
        "array" => serde_json::to_value(ArraySettings::alike("a", 2)),
        kind => panic!("add `{kind}` to this test"),
    };
    settings.unwrap()
}

#[test]
fn options_are_keys_of_experiments_with_the_same_defaults() {
    for kind in VOLUME_KINDS {
        let device = DEVICE_KINDS.iter().find(|device| device.name == kind.name).expect("a kind of device");
        let keys: Vec<String> = device.parameters.described().into_iter().map(|key| key.name.to_string()).collect();
        for option in kind.parameters.described() {
            if WRITTEN_DOWN.contains(&&*option.name) {
                continue;
            }
            assert!(keys.contains(&option.name.to_string()), "{}: {} is no key of {keys:?}", kind.name, option.name);
        }
        let experiment = in_an_experiment(kind.name);
        let compared = VolumeSettings::new(kind.name, json!({})).resolved().unwrap().options.into_iter();
        let compared = compared.filter_map(|(key, value)| Some((experiment.get(&key)?.clone(), value, key)));
        let compared = compared.map(|(expected, found, key)| assert_eq!(found, expected, "{}: {key}", kind.name));
        assert!(compared.count() > 0, "{}", kind.name);
    }
}
