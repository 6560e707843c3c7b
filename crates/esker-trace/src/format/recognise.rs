//! Recognises the format of an input, or what it is instead.

use std::cmp::Reverse;

use esker_core::registry::{self, NotFound};

use super::{FORMATS, FormatCapability, FormatEntry, Sample};
use crate::error::TraceError;
use crate::input::MARK;

/// An input with at least this confidence is taken to have the format. A lower value tells how much of its first lines
/// reads as if it had.
pub(super) const FITS: u8 = 50;
/// The highest confidence for an input that does not have the format.
pub(super) const NEAR: u8 = 20;
/// If the confidence of two formats differs by less than this, the user is asked.
const CLEAR: u8 = 10;

/// The format called `name`.
pub(crate) fn entry(name: &str) -> Result<&'static FormatEntry, TraceError> {
    let found = FORMATS.iter().find(|format| format.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| TraceError::NoSuchFormat(NotFound::new("trace format", name, registry::names(FORMATS))))
}

/// The format that the ending of a file name tells, ignoring what compression and libCacheSim append.
fn by_ending(name: &str) -> Option<&'static FormatEntry> {
    let mut name = name.to_ascii_lowercase();
    while let Some(rest) = [".zst", ".gz", ".xz", ".bin"].iter().find_map(|ending| name.strip_suffix(ending)) {
        name = rest.to_string();
    }
    let (_, ending) = name.rsplit_once('.')?;
    FORMATS.iter().find(|entry| entry.can(FormatCapability::KnownByEnding) && entry.build.endings.contains(&ending))
}

/// The format of the input called `name` that begins with `sample`.
pub(crate) fn recognise(name: &str, sample: &Sample<'_>) -> Result<&'static FormatEntry, TraceError> {
    if let Some(format) = by_ending(name) {
        return Ok(format);
    }
    let found = recognise_bytes(name, sample);
    match sample.bytes.strip_prefix(MARK) {
        // Only text begins with a byte-order mark.
        Some(bytes) if found.is_err() => match recognise_bytes(name, &Sample { bytes, ..*sample }) {
            Ok(format) if format.build.binary => found,
            unmarked => unmarked,
        },
        _ => found,
    }
}

fn recognise_bytes(name: &str, sample: &Sample<'_>) -> Result<&'static FormatEntry, TraceError> {
    let fits: Vec<u8> = FORMATS.iter().map(|format| (format.build.detect)(sample)).collect();
    match choose(&fits)[..] {
        [best] if fits[best] >= FITS => Ok(&FORMATS[best]),
        [best, ..] if fits[best] >= FITS => {
            let candidates = choose(&fits).into_iter().map(|index| FORMATS[index].name).collect();
            Err(TraceError::Ambiguous { name: name.to_string(), candidates })
        }
        ref all => {
            let nearest = all.first().filter(|best| fits[**best] >= NEAR / 2).map(|best| FORMATS[*best].name);
            Err(TraceError::Unrecognised { name: name.to_string(), found: describe(sample.bytes), nearest })
        }
    }
}

/// Indices of the largest confidence and of those that are not clearly smaller, largest first.
fn choose(fits: &[u8]) -> Vec<usize> {
    let best = fits.iter().copied().max().unwrap_or(0);
    let mut near: Vec<usize> = (0..fits.len()).filter(|index| fits[*index] + CLEAR > best).collect();
    near.sort_by_key(|index| Reverse(fits[*index]));
    near
}

/// Files that come with traces, or look like traces, but are none: how to recognise them, and what they are.
type LookAlike = (fn(&[u8]) -> bool, &'static str);
const LOOK_ALIKES: &[LookAlike] = &[
    (
        is_disksim_validation,
        "service times measured on a drive (DiskSim's validation files), which have no arrival times",
    ),
    (is_mobibench, "a log of file operations (Mobibench), which has no block addresses"),
    (
        |text| text.starts_with(b"op_time,block_id,"),
        "chunks of a distributed store (Meta Tectonic), without disk addresses",
    ),
    (|bytes| bytes.starts_with(&0x1234_5678_9abc_def0u64.to_le_bytes()), "a cache trace in libCacheSim's LCS format"),
    (|text| starts_with_any(text, &[b"<!doctype", b"<html", b"<?xml"]), "a web page; the download may need a login"),
    (is_toml, "TOML, such as an experiment or a catalogue"),
    (|text| starts_with_any(text, &[b"{", b"["]), "JSON, such as results of esker"),
    (|bytes| bytes.starts_with(b"SQLite format 3\0"), "an SQLite database"),
    (|bytes| bytes.starts_with(b"version https://git-lfs"), "a Git LFS pointer; the data have not been fetched"),
];

fn starts_with_any(bytes: &[u8], starts: &[&[u8]]) -> bool {
    let bytes = bytes.trim_ascii_start();
    starts.iter().any(|start| bytes.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)))
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether `bytes` begin one of DiskSim's validation files.
pub(crate) fn is_disksim_validation(bytes: &[u8]) -> bool {
    let mut words = first_line(bytes).split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    matches!(words.next(), Some(b"R" | b"W")) && matches!(words.next(), Some(b"Hit" | b"Miss" | b"Doub" | b"Trip"))
}

fn is_mobibench(bytes: &[u8]) -> bool {
    let words: Vec<&[u8]> =
        first_line(bytes).split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(3).collect();
    matches!(words[..], [_, time, b"READ" | b"WRITE" | b"OPEN" | b"CLOSE" | b"FSYNC"] if time.contains(&b'.'))
}

/// Whether the first line that is no comment is a head such as `[workload]`, or sets a key: `name = ...`.
fn is_toml(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_key = |key: &str| {
        let key = key.trim();
        let of_key = |c: char| c.is_ascii_alphanumeric() || "_-.\"".contains(c);
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"') && key.chars().all(of_key)
    };
    lines.next().is_some_and(|line| {
        let bare = line.split('#').next().unwrap_or(line).trim();
        match bare.strip_prefix('[') {
            Some(rest) => {
                let rest = rest.strip_prefix('[').unwrap_or(rest);
                rest.strip_suffix("]]").or(rest.strip_suffix(']')).is_some_and(is_key)
            }
            None => line.split_once('=').is_some_and(|(key, _)| is_key(key)),
        }
    })
}

/// What an input that is not a trace looks like.
fn describe(bytes: &[u8]) -> String {
    if let Some((_, what)) = LOOK_ALIKES.iter().find(|(is, _)| is(bytes)) {
        return (*what).to_string();
    }
    let begin = super::lines::quote(first_line(bytes));
    let head = &bytes[..bytes.len().min(4096)];
    let odd = head.iter().filter(|byte| !matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..)).count();
    if odd * 50 > head.len() {
        return format!("binary data beginning with {}", super::lines::quote(&head[..head.len().min(16)]));
    }
    let line = first_line(bytes);
    let commas = line.iter().filter(|byte| **byte == b',').count();
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    match (commas, words) {
        (0, 0) => "text that begins with a blank line".to_string(),
        (0, _) => format!("text with {words} words in its first line, {begin}"),
        _ => format!("text with {} columns between commas, beginning {begin}", commas + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bytes: &[u8]) -> Result<&'static str, TraceError> {
        recognise("test", &Sample { bytes, whole: true }).map(|format| format.name)
    }

    #[test]
    fn five_numbers_are_told_apart_by_their_values() {
        assert_eq!(sample(b"0.5 0 100 8 1\n1.5 0 100 8 0\n").unwrap(), "disksim");
        assert_eq!(sample(b"5 0 100 8 1\n1000 0 100 8 0\n").unwrap(), "ssdsim");
        assert_eq!(sample(b"5 0 100 8 1a\n1000 0 100 8 3\n").unwrap(), "disksim");
    }

    #[test]
    fn formats_that_fit_equally_well_are_a_question() {
        assert_eq!(choose(&[0, 80, 100, 20]), [2]);
        assert_eq!(choose(&[95, 0, 100, 90]), [2, 0]);
        assert_eq!(sample(&[b"5 0 100 8 1\n".repeat(19), b"6 0 100 8 a\n".to_vec()].concat()).unwrap(), "disksim");
        assert_eq!(sample(&[b"5 0 100 8 1\n".repeat(19), b"rubbish\n".to_vec()].concat()).unwrap(), "ssdsim");
    }

    #[test]
    fn some_bad_lines_do_not_hide_the_format() {
        let text = b"0,1,512,R,0.0\nrubbish\n0,1,512,R,0.5\n0,1,512,R,0.7\n";
        assert_eq!(sample(text).unwrap(), "spc");
    }

    #[test]
    fn what_is_no_trace_is_called_what_it_is() {
        let message = |bytes: &[u8]| sample(bytes).unwrap_err().to_string();
        assert!(message(b"W Hit    4583176   4    663.00000  45422.00000\n").contains("service times measured"));
        assert!(message(b"<!DOCTYPE html><html>").contains("a web page"));
        for toml in ["# mine\n\n[workload]\ntrace = 1\n", "[device.\"a\"] # one\n", "[[events]]\n", "name = \"a\"\n"] {
            assert!(message(toml.as_bytes()).contains("found TOML, such as an experiment"), "{toml}");
        }
        assert!(message(b"[workload]\n").contains("TOML") && message(b"[1, 2]\n").contains("JSON"));
        let hint = |bytes: &[u8]| esker_core::Hint::hint(&sample(bytes).unwrap_err()).unwrap();
        assert!(hint(b"[workload]\n").starts_with("`esker sim test` runs an experiment"));
        assert!(hint(b"{}").starts_with("`esker report test` draws"));
        assert!(message(b"\0\0\0\0\0\0\0\0\0\0\0\0").contains("binary data beginning with `\\x00\\x00"));
        assert!(message(b"name,age\nx,1\n").contains("text with 2 columns between commas, beginning `name,age`"));
        assert!(message(b"\n\n").contains("blank line"));
        assert!(message("\u{e9}t\u{e9} en mer\n".as_bytes()).contains("text with 3 words"));
        let error = sample(b"0,303567,3584,x,0.000000\n").unwrap_err();
        assert!(matches!(error, TraceError::Unrecognised { nearest: Some("spc"), .. }), "{error:?}");
    }
}
