//! Writes the settings of a disk as a preset: TOML that people can read and change.

use toml::Value;

use crate::DiskSettings;

/// Longest line of a list.
const WIDTH: usize = 110;

/// What follows the drive's name on the first line of a preset, for drives imported from parameter files and for drives
/// that were measured.
pub(crate) const IMPORTED: &str = ", imported from parameter files in DiskSim's format:";
pub(crate) const MEASURED: &str = ", measured by reads:";

/// Returns true if `text` is the start of a preset that was imported or measured.
pub fn is_made(text: &str) -> bool {
    let first = text.lines().next().unwrap_or("");
    first.starts_with("# ") && [IMPORTED, MEASURED].iter().any(|made| first.ends_with(made))
}

/// Returns `settings` as text, with their `kind`.
pub(crate) fn settings(settings: &DiskSettings) -> String {
    let mut text = String::from("\nkind = \"hdd\"\n");
    let table = Value::try_from(settings).expect("settings are plain data");
    let Value::Table(table) = table else { unreachable!("settings are a table") };
    for (key, value) in table {
        match value {
            Value::Table(inner) if key == "firmware" => {
                // Last in the file, since everything after a heading belongs to it.
                let _ = inner;
            }
            Value::Array(items) if key == "zones" => {
                text += "zones = [\n";
                items.iter().for_each(|zone| text += &format!("    {},\n", inline(zone)));
                text += "]\n";
            }
            value => text += &wrapped(&format!("{key} = {}", inline(&value))),
        }
    }
    if let Some(firmware) = &settings.firmware {
        text += "\n[firmware]\n";
        let Ok(Value::Table(table)) = Value::try_from(firmware) else { unreachable!("settings are a table") };
        table.iter().for_each(|(key, value)| text += &format!("{key} = {}\n", inline(value)));
    }
    text
}

/// Returns a value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let fields: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Breaks a list of lists into several lines, if it is long.
fn wrapped(line: &str) -> String {
    if line.len() <= WIDTH || !line.contains("[[") {
        return format!("{line}\n");
    }
    let (head, items) = line.split_once('[').expect("it contains a list");
    let items = items.strip_suffix(']').unwrap_or(items);
    let (mut text, mut current) = (format!("{head}[\n"), String::from("   "));
    for item in items.split_inclusive("], ") {
        let item = item.trim_end();
        let item = if item.ends_with(',') { item.to_string() } else { format!("{item},") };
        if current.len() + item.len() > WIDTH {
            text += &format!("{current}\n");
            current = String::from("   ");
        }
        current += &format!(" {item}");
    }
    text + &format!("{current}\n]\n")
}
