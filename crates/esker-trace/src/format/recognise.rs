//! Which format an input has.

use super::{FORMATS, FormatEntry, Sample};
use crate::error::TraceError;

/// Two formats whose confidence differs by less than this are a question for the user.
const CLEAR: u8 = 10;

/// The format called `name`.
pub(crate) fn entry(name: &str) -> Result<&'static FormatEntry, TraceError> {
    FORMATS
        .iter()
        .find(|format| format.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| TraceError::NoSuchFormat { found: name.to_string() })
}

/// The format that fits the beginning of the input called `name`.
pub(crate) fn recognise(name: &str, sample: &Sample<'_>) -> Result<&'static FormatEntry, TraceError> {
    let mut fits: Vec<(u8, &'static FormatEntry)> = FORMATS
        .iter()
        .map(|format| ((format.detect)(sample), format))
        .filter(|(confidence, _)| *confidence > 0)
        .collect();
    fits.sort_by_key(|(confidence, _)| std::cmp::Reverse(*confidence));
    let Some(&(best, format)) = fits.first() else {
        return Err(TraceError::Unrecognised { name: name.to_string(), found: describe(sample.bytes), nearest: None });
    };
    let candidates: Vec<&str> =
        fits.iter().filter(|(confidence, _)| confidence + CLEAR > best).map(|(_, format)| format.name).collect();
    if candidates.len() > 1 {
        return Err(TraceError::Ambiguous { name: name.to_string(), candidates });
    }
    Ok(format)
}

fn describe(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    super::lines::quote(line)
}
