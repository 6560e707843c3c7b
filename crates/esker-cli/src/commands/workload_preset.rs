//! Presets of made-up requests.

use esker_trace::WORKLOADS;

use crate::failure::Failure;

/// Lays `table` over the preset that it names, if any.
pub(super) fn over_preset(mut table: toml::Table) -> Result<toml::Table, Failure> {
    let Some(name) = table.remove("preset") else { return Ok(table) };
    let name = name.as_str().ok_or_else(|| Failure::input("`preset` is not a name"))?.to_string();
    let Some(preset) = WORKLOADS.iter().find(|preset| preset.name == name) else {
        let known: Vec<&str> = WORKLOADS.iter().map(|preset| preset.name).collect();
        let hint = format!("the presets are {}", known.join(", "));
        return Err(Failure::input(format!("there is no preset `{name}`")).with_hint(hint));
    };
    let mut whole: toml::Table = preset.toml.parse().expect("presets are TOML");
    whole.extend(table);
    Ok(whole)
}
