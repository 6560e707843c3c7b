//! Prints to standard output and standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use esker_files::FileTarget;
use serde::Serialize;
use serde_json::json;

use super::Output;
use crate::failure::Failure;
use crate::log_lines;

fn standard_output() -> Result<Output, Failure> {
    let path = Path::new("-");
    Ok(Output::new(path, FileTarget::find(path)?.prepare()?))
}

/// Prints `text` on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    standard_output()?.write_text(text)
}

/// Prints `value` as indented JSON on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    standard_output()?.write_json(value)
}

/// Prints `text` and a line break on standard error. Errors are ignored, because standard error may be closed.
pub(crate) fn remark(text: &str) {
    let line = log_lines::line(&"information", &json!({ "event": "remark", "message": text }));
    let _ = writeln!(io::stderr(), "{}", line.as_deref().unwrap_or(text));
}

/// Says on standard error that something has happened.
pub(crate) fn tell(level: &impl Serialize, event: &(impl Serialize + Display)) {
    let line = log_lines::line(level, &json!(event));
    let _ = writeln!(io::stderr(), "{}", line.unwrap_or_else(|| event.to_string()));
}
