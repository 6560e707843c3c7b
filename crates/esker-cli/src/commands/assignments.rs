//! The values of `--set KEY=VALUE`.

use crate::failure::Failure;

/// A table of these assignments; the later one of two counts. `example` is a valid one.
pub(super) fn assignments(all: &[String], example: &str) -> Result<toml::Table, Failure> {
    let mut table = toml::Table::new();
    for assignment in all {
        let (key, value) = assignment.split_once('=').ok_or_else(|| {
            Failure::input(format!("--set {assignment}: expected KEY=VALUE"))
                .with_hint(format!("such as --set {example}"))
        })?;
        // A value that is not valid TOML, such as 4KiB, is taken as text.
        let value = format!("value = {value}")
            .parse::<toml::Table>()
            .map_or_else(|_| value.into(), |mut table| table.remove("value").expect("it was just written"));
        table.insert(key.trim().to_string(), value);
    }
    Ok(table)
}
