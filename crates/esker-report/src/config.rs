//! Writes configurations as in experiment files.

use serde_json::{Value, json};

/// `config` as TOML that `esker sim` reads, or as JSON if TOML cannot represent it. A device alone goes into
/// `[device.<name>]`. Empty if there is no configuration.
pub(crate) fn as_toml(name: &str, config: &Value) -> String {
    if config.is_null() {
        return String::new();
    }
    let config = without_nulls(config);
    let experiment = if config.get("device").is_some() { config } else { json!({ "device": { name: config } }) };
    toml::to_string(&experiment)
        .unwrap_or_else(|_| serde_json::to_string_pretty(&experiment).unwrap_or_else(|_| experiment.to_string()))
}

/// Removes nulls: TOML has none, and an absent key means the same.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, field)| !field.is_null());
            Value::Object(kept.map(|(key, field)| (key.clone(), without_nulls(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().filter(|item| !item.is_null()).map(without_nulls).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_reads_as_an_experiment_file() {
        let config = json!({ "geometry": { "channels": 8 }, "kind": "ssd", "preset": null });
        let text = as_toml("tlc-op-15", &config);
        assert_eq!(text, "[device.tlc-op-15]\nkind = \"ssd\"\n\n[device.tlc-op-15.geometry]\nchannels = 8\n");
    }

    #[test]
    fn an_experiment_stays_one() {
        let config = json!({ "device": { "disk": { "kind": "hdd" } }, "run": { "target": "disk" } });
        assert_eq!(as_toml("x", &config), "[device.disk]\nkind = \"hdd\"\n\n[run]\ntarget = \"disk\"\n");
    }
}
