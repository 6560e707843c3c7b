//! Prints to standard output and standard error.

use std::io::{self, Write};
use std::path::Path;

use esker_files::FileTarget;
use serde::Serialize;

use super::Output;
use crate::failure::Failure;

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
    let _ = writeln!(io::stderr(), "{text}");
}
