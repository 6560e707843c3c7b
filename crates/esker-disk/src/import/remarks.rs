//! Parameters that were read but are not modelled.

use super::block::{Block, Value};
use super::lexer::shortened;
use super::parts::Drive;

/// Remarks for the user, one per line.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub(super) lines: Vec<String>,
}

/// Keys that change nothing in a drive, whatever their value is.
const HARMLESS: &[&str] = &[
    "Print stats",
    "Avg sectors per cylinder",
    "Calc sector by sector",
    "Scheduler",
    "Number of cylinders",
    "Single cylinder seek time",
    "Average seek time",
    "Full strobe seek time",
    "HPL seek equation values",
    "First ten seek times",
    "Rangesize for sparing",
    "Hold bus entire write xfer",
];

/// Keys that change nothing at one particular value, with that value.
const NEUTRAL: &[(&str, &str)] = &[
    ("Stop prefetch in sector", "0"),
    ("Combine seq writes", "1"),
    ("Write hit stop prefetch", "1"),
    ("Read directly to buffer", "1"),
    ("Immed transfer partial hit", "1"),
    ("Read-ahead over requested", "1"),
    ("Set watermark by reqsize", "1"),
];

impl Remarks {
    /// Adds a remark about `line` of the file of `block`.
    pub(super) fn add(&mut self, block: &Block, line: usize, text: impl AsRef<str>) {
        self.lines.push(format!("{}:{line}: {}", block.file.display(), text.as_ref()));
    }

    /// Adds the keys that were not used and that are not neutral.
    pub(super) fn unused(&mut self, drive: &Drive<'_>) {
        for block in [drive.controller, drive.model, drive.mechanics, drive.layout] {
            for entry in block.entries.iter().filter(|entry| !entry.is_used()) {
                let (key, line) = (shortened(&entry.key), entry.line);
                match &entry.value {
                    _ if HARMLESS.contains(&key.as_str()) => {}
                    Value::Words(value) if is_neutral(&key, value) => {}
                    Value::Words(value) => {
                        self.add(block, line, format!("`{key} = {}` is not modelled", shortened(value)));
                    }
                    _ => self.add(block, line, format!("`{key}` is not modelled")),
                }
            }
        }
    }
}

fn is_neutral(key: &str, value: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    match NEUTRAL.iter().find(|(name, _)| *name == key) {
        Some((_, neutral)) => number(value) == number(neutral),
        None => number(value) == Some(0.0),
    }
}
