//! An imported drive as a preset: a TOML file that can be read by hand.

use std::fmt::Write;

use toml::Value;

use super::ImportedDrive;

/// Longest line of a list.
const WIDTH: usize = 110;

/// How the first line of a preset goes on behind the drive's name.
const MADE: &str = ", imported from parameter files in DiskSim's format:";

/// Whether `text` begins an imported preset.
pub fn is_imported(text: &str) -> bool {
    text.starts_with("# ") && text.lines().next().is_some_and(|line| line.ends_with(MADE))
}

impl ImportedDrive {
    /// The preset's text: sources and remarks as comments, then the settings, with their `kind`.
    pub fn to_toml(&self) -> String {
        let mut text = format!("# {}{MADE}\n", self.name);
        for file in &self.files {
            // Only names: folders mean nothing elsewhere.
            let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let _ = writeln!(text, "#   {}", name.replace(char::is_control, "?"));
        }
        if !self.remarks.is_empty() {
            text += "# Read, but not modelled or not exactly:\n";
            for remark in &self.remarks {
                let _ = writeln!(text, "#   {}", without_folder(remark).replace(char::is_control, "?"));
            }
        }
        text += "\nkind = \"hdd\"\n";
        let settings = Value::try_from(&self.settings).expect("settings are plain data");
        let Value::Table(table) = settings else { unreachable!("settings are a table") };
        for (key, value) in table {
            match value {
                Value::Table(inner) if key == "firmware" => {
                    // Last in the file: everything behind a heading belongs to it.
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
        if let Some(firmware) = &self.settings.firmware {
            text += "\n[firmware]\n";
            let Ok(Value::Table(table)) = Value::try_from(firmware) else { unreachable!("settings are a table") };
            table.iter().for_each(|(key, value)| text += &format!("{key} = {}\n", inline(value)));
        }
        text
    }
}

/// A remark without the folder of the file that it begins with.
fn without_folder(remark: &str) -> &str {
    let path = remark.split(": ").next().unwrap_or("");
    &remark[path.rfind(['/', '\\']).map_or(0, |slash| slash + 1)..]
}

/// A value on one line.
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

/// A list of lists over several lines, if it is long.
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
