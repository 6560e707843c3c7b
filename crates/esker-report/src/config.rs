//! Configurations as an experiment file has them.

use serde_json::Value;

/// `config` as TOML under `[device.<name>]`; as JSON where TOML cannot hold it.
pub(crate) fn as_toml(name: &str, config: &Value) -> String {
    let device = serde_json::json!({ "device": { name: without_nulls(config) } });
    toml::to_string_pretty(&device)
        .unwrap_or_else(|_| serde_json::to_string_pretty(config).unwrap_or_else(|_| config.to_string()))
}

/// TOML has no null: an absent key means the same.
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
    fn a_configuration_reads_as_an_experiment_file() {
        let config = serde_json::json!({ "geometry": { "channels": 8 }, "kind": "ssd", "preset": null });
        let text = as_toml("tlc-op-15", &config);
        assert_eq!(text, "[device.tlc-op-15]\nkind = \"ssd\"\n\n[device.tlc-op-15.geometry]\nchannels = 8\n");
    }
}
