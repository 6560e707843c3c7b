//! Writes an imported drive as a preset: a TOML file that people can read.

use std::fmt::Write;

use super::ImportedDrive;
use crate::preset_text::{self, IMPORTED};

impl ImportedDrive {
    /// Returns the preset's text: sources and remarks as comments, then the settings, with their `kind`.
    pub fn to_toml(&self) -> String {
        let mut text = format!("# {}{IMPORTED}\n", self.name);
        for file in &self.files {
            // Only file names: folders mean nothing on other computers.
            let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let _ = writeln!(text, "#   {}", name.replace(char::is_control, "?"));
        }
        if !self.remarks.is_empty() {
            text += "# Read, but not modelled or not exactly:\n";
            for remark in &self.remarks {
                let _ = writeln!(text, "#   {}", without_folder(remark).replace(char::is_control, "?"));
            }
        }
        text + &preset_text::settings(&self.settings)
    }
}

/// Returns a remark without the folder of the file that it begins with.
fn without_folder(remark: &str) -> &str {
    let path = remark.split(": ").next().unwrap_or("");
    &remark[path.rfind(['/', '\\']).map_or(0, |slash| slash + 1)..]
}
