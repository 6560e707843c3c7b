//! The bounds that the schemas of devices and of placement policies state are those that they hold to: whatever is just
//! beyond one is refused, with its key.

use esker_core::registry::{LEAST, MOST, ParameterSource};
use esker_sim::{DEVICE_KINDS, Experiment, HYBRID_POLICIES};
use esker_tier::PolicySettings;
use serde_json::{Map, Value, json};

/// Tables that no example has, and what they need beside the key that is tried.
fn tables() -> Map<String, Value> {
    let tables = json!({
        "link": { "rate": "1GB/s", "overhead": "1us" },
        "write_buffer": { "size": "1MiB", "latency": "1us" },
        "cleaning": { "background": "30%" },
    });
    tables.as_object().expect("it is a table").clone()
}

/// A key with values just beyond its bounds.
struct Beyond {
    key: Vec<String>,
    values: Vec<Value>,
}

/// All bounds that `table` of the schema `root` states.
fn bounds(root: &Value, table: &Value, prefix: &[String], into: &mut Vec<Beyond>) {
    for (key, property) in table["properties"].as_object().into_iter().flatten() {
        let key: Vec<String> = prefix.iter().cloned().chain([key.clone()]).collect();
        let number = |bound: &str| property.get(bound).and_then(Value::as_u64);
        let mut values = Vec::new();
        values.extend(number("minimum").filter(|least| *least > 0).map(|least| json!(least - 1)));
        values.extend(number("maximum").map(|most| json!(most + 1)));
        values.extend(property.get(LEAST).map(|least| json!(stepped(least, -1))));
        values.extend(property.get(MOST).map(|most| json!(stepped(most, 1))));
        if !values.is_empty() {
            into.push(Beyond { key: key.clone(), values });
        }
        for target in [Some(property), property["anyOf"].get(0)].into_iter().flatten() {
            if let Some(path) = target["$ref"].as_str() {
                bounds(root, root.pointer(path.trim_start_matches('#')).expect("it is defined"), &key, into);
            }
        }
    }
}

/// A quantity one larger or smaller: "60s" becomes "61s" or "59s".
fn stepped(quantity: &Value, by: i64) -> String {
    let quantity = quantity.as_str().expect("quantities are text");
    let unit = quantity.find(|c: char| !c.is_ascii_digit()).expect("quantities have a unit");
    let number: i64 = quantity[..unit].parse().expect("bounds are whole numbers");
    format!("{}{}", number + by, &quantity[unit..])
}

/// The error for the example of a kind in which `key` is `value`; `None` where it is taken.
fn refusal(resolved: &Value, key: &[String], value: &Value) -> Option<String> {
    let mut resolved = resolved.clone();
    let device = &mut resolved["device"]["example"];
    if let [table, _, ..] = key
        && let (None, Some(needed)) = (device.get(table), tables().get(table))
    {
        device[table] = needed.clone();
    }
    // A latency is not stated by halves.
    if key.starts_with(&["latency".to_string(), "merged".to_string()]) && device["latency"].get("merged").is_none() {
        device["latency"]["merged"] = device["latency"]["read"].clone();
    }
    let at = key.iter().fold(device, |at, step| &mut at[step.as_str()]);
    *at = value.clone();
    let built = Experiment::from_resolved(&resolved, "bounds").map_err(|error| error.to_string());
    built.and_then(|experiment| experiment.assemble().map(|_| ()).map_err(|error| error.to_string())).err()
}

#[test]
fn whatever_is_beyond_a_stated_bound_is_refused_with_its_key() {
    let mut tried = 0;
    for kind in DEVICE_KINDS {
        let ParameterSource::Schema(schema) = kind.parameters else { continue };
        let schema = schema().to_value();
        let mut all = Vec::new();
        bounds(&schema, &schema, &[], &mut all);
        let text = format!(
            "[workload]\nsynthetic = {{ requests = 1 }}\n{}\n[run]\ntarget = \"example\"\n",
            kind.build.example
        );
        let resolved = Experiment::from_str(&text, kind.name).unwrap().resolved();
        // Flash within another device has the settings of a drive, which are tried there.
        for Beyond { key, values } in all.into_iter().filter(|beyond| beyond.key.len() == 1 || beyond.key[0] != "flash")
        {
            for value in values {
                let last = key.last().expect("a key has a name");
                match refusal(&resolved, &key, &value) {
                    Some(error) => assert!(error.contains(last.as_str()), "{} {key:?} = {value}: {error}", kind.name),
                    None => panic!("{} takes {key:?} = {value}, beyond what its schema states", kind.name),
                }
                tried += 1;
            }
        }
    }
    assert!(tried >= 25, "{tried} bounds");
}

#[test]
fn whatever_is_beyond_a_stated_bound_of_a_policy_is_refused_with_its_key() {
    let mut tried = 0;
    for policy in HYBRID_POLICIES.iter() {
        let ParameterSource::Schema(schema) = policy.parameters else { continue };
        let schema = schema().to_value();
        let mut all = Vec::new();
        bounds(&schema, &schema, &[], &mut all);
        for (key, value) in all.iter().flat_map(|beyond| beyond.values.iter().map(|value| (&beyond.key, value))) {
            let options = key.iter().rev().fold(value.clone(), |value, step| json!({ step.as_str(): value }));
            let options = options.as_object().expect("a key is in a table").clone();
            let built = PolicySettings::new(policy.name, options).build(&HYBRID_POLICIES, 2);
            let error = built.expect_err(&format!("{} takes {key:?} = {value}", policy.name)).to_string();
            assert!(error.starts_with(&key.join(".")), "{} {key:?} = {value}: {error}", policy.name);
            tried += 1;
        }
    }
    assert!(tried >= 20, "{tried} bounds");
}
